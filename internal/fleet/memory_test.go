package fleet_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tofu/internal/cliconfig"
	"tofu/internal/engine"
	"tofu/internal/fleet"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/ui"
)

// estate is a set of root modules below the working directory.
type estate struct {
	testing.TB
	session *session.Session
}

// newEstate writes n root modules, each with the given number of objects, and makes their parent
// the working directory.
func newEstate(t testing.TB, n, objects int) *estate {
	top := t.TempDir()
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "output \"id\" {\n  value = terraform_data.object_0.id\n}\n")
		for k := range objects {
			fmt.Fprintf(&b, "resource \"terraform_data\" \"object_%d\" {\n  input = { name = \"n-%d\", text = %q }\n}\n", k, k,
				strings.Repeat("x", 200))
		}
		if i > 0 {
			fmt.Fprintf(&b, "data \"terraform_remote_state\" \"before\" {\n  backend = \"local\"\n  config = { path = "+
				"\"../r%04d/terraform.tfstate\" }\n}\noutput \"before\" {\n  value = "+
				"data.terraform_remote_state.before.outputs.id\n}\n", i-1)
		}
		dir := filepath.Join(top, fmt.Sprintf("r%04d", i))
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "main.tf"), []byte(b.String()), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(top)
	process := session.NewProcess([]string{"TF_IN_AUTOMATION=1"}, &cliconfig.Config{}, io.Discard)
	s := session.New(process, "", quiet(io.Discard))
	return &estate{t, s}
}

func quiet(out io.Writer) *terminal.Terminal {
	term := terminal.New(&terminal.Streams{In: strings.NewReader(""), Out: out, Err: out})
	term.Printer = ui.NewHuman(ui.Options{Out: out, Err: out})
	return term
}

func (e *estate) load() *roots.Estate {
	found, err := roots.Load(e.Context(), []string{"."}, func(m session.RootModule) *session.Session {
		return e.session.At(m, quiet(io.Discard))
	})
	if err != nil {
		e.Fatal(err)
	}
	return found
}

// run plans all root modules and then applies the plans. At the end of each of these two steps, it
// calls the function after.
func (e *estate) run(after func(what string)) {
	found := e.load()
	run := &fleet.Run{
		Session: e.session, Estate: found, Selected: found.Roots, Options: session.OperationOptions{},
		Printer: func(_ *roots.Root, out io.Writer) ui.Printer { return ui.NewHuman(ui.Options{Out: out, Err: out}) },
		Show: func(r *roots.Root, result *fleet.Result, _ []byte) {
			if result.Err != nil {
				e.Error(r.Name, result.Err)
			}
		},
	}
	archive, err := fleet.Create("all.plan", plans.Normal)
	if err != nil {
		e.Fatal(err)
	}
	planned := run.Plan(e.Context(), engine.PlanOptions{Defer: true}, archive)
	if err := archive.Close(run, planned); err != nil {
		e.Fatal(err)
	}
	after("plan")
	saved, err := fleet.Open("all.plan")
	if err != nil {
		e.Fatal(err)
	}
	defer saved.Close()
	applied := run.Apply(e.Context(), engine.ApplyOptions{}, saved, fleet.NoRecord(), nil)
	after("apply")
	runtime.KeepAlive(planned)
	runtime.KeepAlive(applied)
	runtime.KeepAlive(run)
}

// TestMemory checks that a run frees most of the memory of a finished root module: its parsed
// files, plan and state. In this test, these take more than 200 kB per root module.
func TestMemory(t *testing.T) {
	const few, many, objects = 5, 25, 80
	live := func(n int) map[string]float64 {
		e := newEstate(t, n, objects)
		before := heap()
		used := make(map[string]float64)
		e.run(func(what string) { used[what] = heap() - before })
		return used
	}
	live(few) // fills caches whose size doesn't depend on the number of root modules
	first, second := live(few), live(many)
	for what := range first {
		each := (second[what] - first[what]) / (many - few)
		t.Logf("%s keeps %.1f kB for each root module", what, each/1000)
		if each > 20_000 {
			t.Errorf("%s keeps %.1f kB for each root module", what, each/1000)
		}
	}
}

// heap returns the size of all reachable objects.
func heap() float64 {
	for range 3 { // finalizers run after a collection, so repeat it
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
