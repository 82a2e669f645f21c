package page

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"tofu/internal/testenv/plantest"
)

// scriptLimit is the size in bytes that the script must not exceed.
const scriptLimit = 100 << 10

func TestScriptIsSmall(t *testing.T) {
	if len(script) >= scriptLimit {
		t.Errorf("the script has %d bytes, want less than %d", len(script), scriptLimit)
	}
	for _, bad := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import(",
		"localStorage", "cookie"} {
		if strings.Contains(script, bad) {
			t.Errorf("the script uses %s", bad)
		}
	}
}

// TestNothingEndsAnElement checks that the page contains only its own elements, whatever text a
// plan contains.
func TestNothingEndsAnElement(t *testing.T) {
	elements := func(text string) int {
		view, graph := plantest.Plan(t, 20, text)
		var out strings.Builder
		err := Write(&out, &Content{Title: text, Graph: graph, View: view, Program: text})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(out.String(), "<")
	}
	want := elements("calm")
	for _, text := range []string{"</script><script>x()</script>", "<!--<script>", "]]>", "</title><b>", "\x00\u2028\xff"} {
		if got := elements(text); got != want {
			t.Errorf("with %q the page has %d times <, want %d", text, got, want)
		}
	}
}

// pageLimit is the maximum time to write a page of a hundred thousand changes.
const pageLimit = 5 * time.Second

// BenchmarkWrite shows that the time per change doesn't depend on the number of changes.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			view, graph := plantest.Plan(b, n, "text")
			for b.Loop() {
				if err := Write(io.Discard, &Content{Title: "p", Graph: graph, View: view}); err != nil {
					b.Fatal(err)
				}
			}
			took := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(took.Nanoseconds())/float64(n), "ns/change")
			if n == 100_000 && took > pageLimit {
				b.Errorf("it takes %s", took)
			}
		})
	}
}
