package limits

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadAll(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int64
		want  string // expected error
	}{
		{"", 0, ""},
		{"abc", 3, ""},
		{"abcd", 3, "the text is larger than 3 bytes"},
		{strings.Repeat("x", 1<<20+1), 1 << 20, "the text is larger than 1 MiB"},
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		fromFile, fileErr := ReadAll(f, test.limit, "the text")
		f.Close()
		fromReader, err := ReadAll(strings.NewReader(test.text), test.limit, "the text")
		for _, got := range []struct {
			data []byte
			err  error
		}{{fromFile, fileErr}, {fromReader, err}} {
			switch {
			case test.want == "" && (got.err != nil || string(got.data) != test.text):
				t.Errorf("%d bytes of %d: %v", len(got.data), len(test.text), got.err)
			case test.want != "" && (got.err == nil || got.err.Error() != test.want):
				t.Errorf("error %v, want %s", got.err, test.want)
			}
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestEndless(t *testing.T) {
	if _, err := ReadAll(endless{}, 8<<20, "the state"); err == nil || err.Error() != "the state is larger than 8 MiB" {
		t.Error(err)
	}
}
