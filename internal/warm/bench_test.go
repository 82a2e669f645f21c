//go:build unix

package warm

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tofu/internal/cliconfig"
)

// manyBlocks returns a configuration with n instances in n/10 blocks; half of the blocks refer to another.
func manyBlocks(n int) map[string]string {
	files := map[string]string{}
	for f := range 10 {
		var b strings.Builder
		for i := range n / 200 {
			fmt.Fprintf(&b, "resource \"terraform_data\" \"one_%d_%d\" {\n  input = \"v%d\"\n}\n", f, i, i)
			fmt.Fprintf(&b, "resource \"terraform_data\" \"many_%d_%d\" {\n  count = 19\n  input = \"${terraform_data.one_%d_%d.input}-${count.index}\"\n}\n", f, i, f, i)
		}
		files[fmt.Sprintf("f%d.tf", f)] = b.String()
	}
	files["edit.tf"] = "resource \"terraform_data\" \"edited\" {\n  input = \"first\"\n}\noutput \"edited\" { value = terraform_data.edited.input }\n"
	return files
}

// BenchmarkEdit measures opening 10,000 instances, and a plan after each edit of one attribute. CPU-ms is
// the CPU time of an edit, which doesn't depend on the load of the machine.
func BenchmarkEdit(b *testing.B) {
	c, _ := open(b, manyBlocks(10_000))
	m, err := c.Open(".", Options{})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	p, err := m.Propose(b.Context(), PlanOptions{})
	if err != nil || p.Digest == "" {
		b.Fatal(err, p.Diagnostics)
	}
	opening := time.Since(start)
	proposals := &Proposals{Dir: ".terraform"}
	if err := proposals.Approve(&Approval{Digest: p.Digest, Expires: time.Now().Add(time.Hour)}); err != nil {
		b.Fatal(err)
	}
	if applied, err := m.Apply(b.Context(), p.Digest, nil, nil); err != nil || applied.Diagnostics.HasErrors() {
		b.Fatal(err, applied.Diagnostics)
	}
	if _, err := m.Plan(b.Context(), PlanOptions{}); err != nil {
		b.Fatal(err)
	}
	before := cpuTime()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		c.SetText("edit.tf", fmt.Appendf(nil, "resource \"terraform_data\" \"edited\" {\n  input = \"edit %d\"\n}\noutput \"edited\" { value = terraform_data.edited.input }\n", i))
		p, err := m.Plan(b.Context(), PlanOptions{})
		if err != nil || p.View == nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(opening.Milliseconds()), "opening-ms")
	b.ReportMetric(float64((cpuTime()-before).Milliseconds())/float64(b.N), "CPU-ms/op")
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	b.ReportMetric(float64(mem.Sys)/1e6, "MB")
}

// BenchmarkEstate measures a plan of the last of 50 root modules, each of which needs the one before it, after
// each edit of the first.
func BenchmarkEstate(b *testing.B) {
	files := chain(50)
	open(b, files)
	age(b, ".")
	c := newCore(b, &cliconfig.Config{CacheDir: b.TempDir()})
	if _, err := c.OpenEstate(b.Context(), ".", Options{}); err != nil {
		b.Fatal(err)
	}
	plan := func() {
		if p, err := c.Module("r49").Plan(b.Context(), PlanOptions{}); err != nil || p.Diagnostics.HasErrors() {
			b.Fatal(err, p.Diagnostics)
		}
	}
	plan()
	before := cpuTime()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		c.SetText("r00/main.tf", fmt.Appendf(nil, "# %d\n%s", i, files["r00/main.tf"]))
		plan()
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-before).Milliseconds())/float64(b.N), "CPU-ms/op")
}

func cpuTime() time.Duration {
	var of syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &of) // can't fail with these arguments
	return time.Duration(of.Utime.Nano() + of.Stime.Nano())
}
