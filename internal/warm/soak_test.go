package warm

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"tofu/internal/cliconfig"
)

// TestSoak makes many edits and plans, and checks that neither memory nor goroutines, files and processes
// become more. SOAK=14400 is a working day with an edit every two seconds. Half of the objects are those of a
// plugin.
func TestSoak(t *testing.T) {
	edits := fromEnv(t, "SOAK", 150)
	t.Chdir(t.TempDir())
	installed(t, "files")
	c := newCore(t, &cliconfig.Config{CacheDir: t.TempDir()})
	write(t, "main.tf", "")
	m, err := c.Open(".", Options{})
	if err != nil {
		t.Fatal(err)
	}
	const files = "terraform {\n  required_providers {\n    files = { source = \"example.com/tofu/files\" }\n  }\n}\n" +
		"resource \"files_file\" \"f\" {\n  count   = 20\n  path    = \"f${count.index}\"\n  content = \"%d\"\n}\n"
	var early usage
	for i := range edits {
		text := fmt.Sprintf("resource \"terraform_data\" \"r%d\" {\n  count = 20\n  input = \"%d-${count.index}\"\n}\n", i%7, i)
		c.SetText("main.tf", fmt.Appendf([]byte(text), files, i))
		if i%5 == 4 {
			c.SetText("main.tf", []byte("broken {"))
		}
		if p, err := m.Plan(t.Context(), PlanOptions{}); err != nil || (p.View == nil) != (i%5 == 4) {
			t.Fatal(i, err, p.Diagnostics)
		}
		if _, err := m.Diagnose(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i == edits/3 {
			early = used()
		}
	}
	late := used()
	t.Logf("%d edits: %+v, then %+v", edits, early, late)
	if late.heap > early.heap+early.heap/4+4<<20 || late.goroutines > early.goroutines+5 || late.files > early.files+5 ||
		late.processes > early.processes {
		t.Errorf("after a third %+v, at the end %+v", early, late)
	}
}

type usage struct {
	heap                         uint64
	goroutines, files, processes int
}

func used() usage {
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	files, _ := os.ReadDir("/proc/self/fd") // 0 on other systems
	children := children()
	return usage{mem.HeapAlloc, runtime.NumGoroutine(), len(files), len(children)}
}
