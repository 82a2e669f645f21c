package transfer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

const text = "0123456789"

// server serves parts of a text. It ends some responses early.
type server struct {
	breaks []int // number of bytes that each attempt receives; later attempts receive everything
	ranges bool  // whether attempts can continue where the previous one ended
	size   int64 // size that the server announces
	asked  []int64
}

func (s *server) open(_ context.Context, from int64) (*Part, error) {
	s.asked = append(s.asked, from)
	if !s.ranges {
		from = 0
	}
	rest := text[from:]
	var body io.Reader = strings.NewReader(rest)
	if n := len(s.asked) - 1; n < len(s.breaks) {
		body = io.MultiReader(strings.NewReader(rest[:s.breaks[n]]), iotest.ErrReader(io.ErrUnexpectedEOF))
	}
	return &Part{Body: io.NopCloser(body), Start: from, Size: s.size}, nil
}

func TestAttempts(t *testing.T) {
	for name, test := range map[string]struct {
		server server
		limit  int64
		want   string // part of the last attempt's error; "" for success
	}{
		"whole":              {server{size: 10}, 10, ""},
		"unknown size":       {server{size: -1}, 10, ""},
		"continued":          {server{size: 10, ranges: true, breaks: []int{4, 0, 3}}, 10, ""},
		"continued, no size": {server{size: -1, ranges: true, breaks: []int{4}}, 10, ""},
		"again":              {server{size: 10, breaks: []int{4, 9}}, 10, ""},
		"announced too much": {server{size: 11}, 10, "the file has 11 bytes, more than the limit of 10"},
		"sent too much":      {server{size: -1}, 9, "the file has more than the limit of 9 bytes"},
		"more than it said":  {server{size: 9}, 10, "the server announced 9 bytes but sent more"},
		"less than it said":  {server{size: 20}, 30, "the transfer was interrupted after 10 of 20 bytes: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			dst, err := os.Create(filepath.Join(t.TempDir(), "x"))
			if err != nil {
				t.Fatal(err)
			}
			defer dst.Close()
			last := int64(0)
			f := &File{Open: test.server.open, Dst: dst, Limit: test.limit, Progress: func(done, total int64) {
				if total != max(test.server.size, 0) {
					t.Errorf("progress of %d bytes in total", total)
				}
				last = done
			}}
			for range test.server.breaks {
				if err := f.Attempt(t.Context()); !errors.Is(err, ErrInterrupted) {
					t.Fatalf("broken attempt: %v", err)
				}
			}
			err = f.Attempt(t.Context())
			if test.want != "" {
				if err == nil || err.Error() != test.want {
					t.Errorf("error %v, want %s", err, test.want)
				}
				return
			}
			data, _ := os.ReadFile(dst.Name())
			if err != nil || string(data) != text || f.Written() != 10 || last != 10 {
				t.Errorf("wrote %q, %d bytes, progress %d: %v", data, f.Written(), last, err)
			}
			if sent := test.server.breaks; test.server.ranges && len(sent) > 1 &&
				test.server.asked[1] != int64(sent[0]) {
				t.Errorf("asked for %v", test.server.asked)
			}
		})
	}
}

// TestCanceled checks that the error of a canceled attempt is the cause of the cancellation, not
// the incomplete response.
func TestCanceled(t *testing.T) {
	dst, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	cause := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	f := &File{Dst: dst, Limit: 10, Open: func(context.Context, int64) (*Part, error) {
		cancel(cause)
		return &Part{Body: io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), Size: 10}, nil
	}}
	if err := f.Attempt(ctx); !errors.Is(err, cause) || errors.Is(err, ErrInterrupted) {
		t.Error(err)
	}
}
