package terminal

import (
	"errors"
	"io"
	"os"
	"testing"
)

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestLossyWriter checks that a reader that has gone away is not a failure, whatever error the
// system returns, and that a full disk is a failure.
func TestLossyWriter(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in.Close()
	full := errors.New("no space left")
	for want, to := range map[error]io.Writer{nil: out, full: failingWriter{full}} {
		l := &LossyWriter{W: to}
		for range 2 {
			if n, err := l.Write([]byte("text")); n != 4 || err != nil {
				t.Errorf("Write returned %d, %v", n, err)
			}
		}
		if l.Failure() != want {
			t.Errorf("Failure() = %v, want %v", l.Failure(), want)
		}
	}
}

func TestGreen(t *testing.T) {
	const on, off = "\x1b[32m\x1b[1m", "\x1b[0m"
	for text, want := range map[string]string{
		"Success! The configuration is valid.": on + "Success!" + off + " The configuration is valid.",
		"\nImport successful!":                 "\n" + on + "Import successful!" + off,
		"\nThe state was repaired.":            "\n" + on + "The state was repaired." + off,
	} {
		if got := green(text); got != want {
			t.Errorf("%q", got)
		}
	}
}
