package plugin

import (
	"bytes"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// TestLines checks that the output of a plugin is logged line by line, regardless of how it is
// split into writes, and that the memory for an incomplete line is limited.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", longestLine)
	for name, c := range map[string]struct{ written, logged []string }{
		"lines in one":      {[]string{"a\nb\n\nc"}, []string{"a", "b"}},
		"a line in parts":   {[]string{"a", "b", "c\nd\n"}, []string{"abc", "d"}},
		"the longest":       {[]string{long, "\n", "a\n"}, []string{long, "a"}},
		"longer":            {[]string{long[1:], "yz\n"}, []string{long[1:] + "y", "z"}},
		"longer in one":     {[]string{long + long + "y\nz\n"}, []string{long, long, "y", "z"}},
		"no end, in pieces": {[]string{long, long, long}, []string{long, long}},
	} {
		var text bytes.Buffer
		to := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key != slog.MessageKey {
					return slog.Attr{}
				}
				return a
			}}))
		w := newLogger(to, "provider", "test").writer("stdout")
		for _, part := range c.written {
			if n, err := io.WriteString(w, part); n != len(part) || err != nil {
				t.Fatalf("%s: %d, %v", name, n, err)
			}
		}
		var logged []string
		for line := range strings.Lines(text.String()) {
			logged = append(logged, strings.TrimSpace(strings.TrimPrefix(line, "msg=")))
		}
		if !slices.Equal(logged, c.logged) {
			t.Errorf("%s: logged %.40q", name, logged)
		}
	}
}
