package moduletest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tofu/internal/configs"
	"tofu/internal/engine/enginetest"
	"tofu/internal/states"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// TestGolden checks the events of the test files in each archive. The archive's comment holds
// options, one per line: "fail CALL HOW" makes calls to the cloud fail. The archive's last file
// holds the expected events.
func TestGolden(t *testing.T) {
	testenv.Golden(t, testenv.Glob(t, "testdata/*.txtar"), func(t *testing.T, archive *txtar.Archive) *txtar.Archive {
		last := &archive.Files[len(archive.Files)-1]
		if last.Name != "golden" {
			t.Fatal("the last section must be golden")
		}
		synctest.Test(t, func(t *testing.T) { last.Data = []byte(runArchive(t, archive)) })
		return archive
	})
}

func runArchive(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	session := enginetest.NewSession("")
	session.Cloud.Delay = time.Second // so that calls that start at the same time are listed together
	for line := range strings.Lines(string(archive.Comment)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "fail "); ok {
			call, how, _ := strings.Cut(rest, ": ")
			if session.Cloud.Fail == nil {
				session.Cloud.Fail = map[string]string{}
			}
			session.Cloud.Fail[call] = how
		}
	}
	var out strings.Builder
	var diags tfdiags.Diagnostics
	suite, err := loadSuite(t, archive, diags.Add)
	writeDiags(&out, "", diags.AppendError(err))
	if err != nil {
		return out.String()
	}
	kept := 0
	runner := &Runner{
		Suite: suite, Env: *session.Env(), Variables: map[string]configs.Given{"outside": {Text: "from outside"}},
		Observe: func(e Event) { writeEvent(&out, e) },
		Keep: func(st *states.State) (string, error) {
			kept++
			fmt.Fprintf(&out, "keep %d\n%s", kept, indent(enginetest.Describe(st)))
			return fmt.Sprintf("file %d", kept), nil
		},
	}
	fmt.Fprintf(&out, "passed: %t\n", runner.Run(context.Background()))
	fmt.Fprintf(&out, "calls:\n%s", indent(session.Cloud.Log()))
	if left := session.Cloud.Objects(); len(left) > 0 {
		fmt.Fprintf(&out, "still there: %s\n", strings.Join(left, " "))
	}
	return out.String()
}

func loadSuite(t *testing.T, archive *txtar.Archive, warn tfdiags.Sink) (*Suite, error) {
	t.Helper()
	files := &configs.Snapshot{Files: map[string][]byte{}}
	for _, f := range archive.Files {
		if f.Name != "golden" {
			files.Files[f.Name] = f.Data
		}
	}
	opts := &configs.LoadOptions{Parser: configs.NewParser(files.FS()),
		Resolve: func(_ context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
			return configs.ResolvedModule{Dir: req.LocalDir()}, nil
		}}
	root, err := configs.LoadRoot(t.Context(), ".", opts, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	return Load(t.Context(), root, configs.DefaultTestDirectory, opts, warn)
}

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("  " + line)
	}
	return out.String()
}

func writeDiags(out *strings.Builder, prefix string, diags tfdiags.Diagnostics) {
	for _, d := range diags {
		at := "-"
		if d.Subject != nil {
			at = fmt.Sprintf("%s:%d", filepath.Base(d.Subject.Filename), d.Subject.Start.Line)
		}
		text := d.Summary
		if d.Detail != "" {
			text += ": " + strings.ReplaceAll(d.Detail, "\n", " ")
		}
		fmt.Fprintf(out, "%s%s %s %s\n", prefix, d.Severity, at, text)
	}
}

func writeEvent(out *strings.Builder, e Event) {
	switch e := e.(type) {
	case Begun:
	case FileDone:
		fmt.Fprintf(out, "%s: %s\n", e.Path, e.Status)
	case RunDone:
		fmt.Fprintf(out, "  %s: %s\n", e.Run, e.Status)
		writeDiags(out, "    ", e.Diagnostics)
	case Cleaned:
		fmt.Fprintf(out, "  cleaned after %s: left %v in %q\n", e.Run, e.Left, e.StateFile)
		writeDiags(out, "    ", e.Diagnostics)
	case Skipped:
		fmt.Fprintf(out, "  kept after %s: %v in %q\n", e.Run, e.Left, e.StateFile)
		writeDiags(out, "    ", e.Diagnostics)
	case Abandoned:
		fmt.Fprintf(out, "  abandoned after %s: left %v\n", e.Run, e.Left)
	case Ended:
		fmt.Fprintf(out, "%s: %d passed, %d failed, %d errored, %d skipped\n", e.Status, e.Passed, e.Failed,
			e.Errored, e.Skipped)
	}
}

// TestInterrupt checks that after an interrupt in the middle of a run, the objects that the test
// created are destroyed, unless a second interrupt follows.
func TestInterrupt(t *testing.T) {
	archive := txtar.Parse([]byte(`
-- main.tf --
resource "fake_thing" "a" {
  name = "a"
}
resource "fake_thing" "b" {
  name = fake_thing.a.name == "a" ? "b" : fake_thing.a.id
}
-- t.tftest.hcl --
run "one" {
}
run "two" {
}
`))
	for _, twice := range []bool{false, true} {
		t.Run(fmt.Sprintf("twice %t", twice), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { interruptTest(t, archive, twice) })
		})
	}
}

func interruptTest(t *testing.T, archive *txtar.Archive, twice bool) {
	session := enginetest.NewSession("")
	session.Stop = make(chan struct{})
	ctx, abort := context.WithCancel(t.Context())
	defer abort()
	interrupt := func(how func()) func() {
		return func() {
			how()
			synctest.Wait() // wait until the engine has noticed the interrupt
		}
	}
	session.Cloud.On = map[string]func(){"create b": interrupt(func() { close(session.Stop) })}
	if twice {
		session.Cloud.On["delete b-1"] = interrupt(abort)
	}
	suite, err := loadSuite(t, archive, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	var kept *states.State
	runner := &Runner{Suite: suite, Env: *session.Env(), Observe: func(e Event) { writeEvent(&out, e) },
		Keep: func(st *states.State) (string, error) { kept = st; return "", errors.New("no place") }}
	if runner.Run(ctx) {
		t.Error("an interrupted test passed")
	}
	for _, part := range []string{"one: error", "two: skip"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in:\n%s", part, &out)
		}
	}
	if left := session.Cloud.Objects(); !twice && len(left) > 0 {
		t.Errorf("left: %s", left)
	}
	if twice {
		if kept == nil || len(objects(kept)) == 0 || !strings.Contains(out.String(), "abandoned after one") ||
			!strings.Contains(out.String(), "No place") {
			t.Errorf("what is left is not told:\n%s", &out)
		}
	}
}

func TestOnly(t *testing.T) {
	s := &Suite{Files: []*configs.TestFile{{Name: "a.tftest.hcl"}, {Name: "tests/b.tftest.hcl"},
		{Name: "tests/c.tftest.hcl"}}}
	unknown := s.Only([]string{"./tests/c.tftest.hcl", "a.tftest.hcl", "b.tftest.hcl", "a.tftest.hcl", ""})
	if diff := cmp.Diff([]string{"b.tftest.hcl", ""}, unknown); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, f := range s.Files {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"a.tftest.hcl", "tests/c.tftest.hcl"}, names); diff != "" {
		t.Error(diff)
	}
}
