package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"

	"tofu/internal/tfdiags"
	"tofu/internal/ui/termtext"
	"tofu/internal/version"
)

// TestStatus is the result of a test file or a run.
type TestStatus string

const (
	TestPending TestStatus = "pending"
	TestSkip    TestStatus = "skip"
	TestPass    TestStatus = "pass"
	TestFail    TestStatus = "fail"
	TestError   TestStatus = "error" // shown to humans as a failure
)

type (
	// TestAbstract announces a test. Runs holds the names of the runs in each file.
	TestAbstract struct{ Runs map[string][]string }
	// TestFile is the result of a test file. The results of its runs are printed after it.
	TestFile struct {
		Path        string
		Status      TestStatus
		Diagnostics tfdiags.Diagnostics // diagnostics of the whole file
	}
	// TestRun is the result of one run. Plan and State are set if the run should show them.
	TestRun struct {
		Path, Run   string
		Status      TestStatus
		Diagnostics tfdiags.Diagnostics
		Plan        *PlanView
		State       *StateView
		Uninvoked   []string // actions that were planned but are mocked
	}
	// TestCleanup reports objects that could not be destroyed.
	TestCleanup struct {
		Path, Run   string
		Diagnostics tfdiags.Diagnostics
		Left        []TestLeft
		StateFile   string // file with the state of these objects
	}
	// TestKept reports objects that a test leaves on purpose.
	TestKept struct {
		Path, Run   string
		Left        []TestLeft
		StateFile   string // "" if a backend has their state
		Diagnostics tfdiags.Diagnostics
	}
	// TestInterrupt reports the objects that still exist after an interrupted test.
	TestInterrupt struct {
		Path, Run string
		Left      []TestLeft
	}
	// TestSummary is the result of all test files.
	TestSummary struct {
		Status                           TestStatus
		Passed, Failed, Errored, Skipped int
	}
	// TestLeft is an object that still exists after a test.
	TestLeft struct {
		Instance   string `json:"instance"`
		DeposedKey string `json:"deposed_key,omitempty"`
	}
)

func (TestAbstract) message()  {}
func (TestFile) message()      {}
func (TestRun) message()       {}
func (TestCleanup) message()   {}
func (TestKept) message()      {}
func (TestInterrupt) message() {}
func (TestSummary) message()   {}

// word returns the word for a status, in its color, for humans.
func (s TestStatus) word(st termtext.Style) string {
	switch s {
	case TestPass:
		return st.As(termtext.Green, "pass")
	case TestFail, TestError:
		return st.As(termtext.Red, "fail")
	case TestSkip:
		return st.As(termtext.Grey, "skip")
	}
	return st.As(termtext.Grey, "pending")
}

func (m TestAbstract) text() string {
	runs := 0
	for _, list := range m.Runs {
		runs += len(list)
	}
	return fmt.Sprintf("Found %s and %s", Count(len(m.Runs), "file"), Count(runs, "run block"))
}

func (m TestSummary) text() string {
	var b strings.Builder
	if m.Status == TestFail || m.Status == TestError {
		b.WriteString("Failure!")
	} else {
		b.WriteString("Success!")
	}
	fmt.Fprintf(&b, " %d passed, %d failed", m.Passed, m.Failed+m.Errored)
	if m.Skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", m.Skipped)
	}
	return b.String() + "."
}

// where returns the name of the run, or of the file if there is no run.
func where(path, run string) string {
	if run == "" {
		return path
	}
	return path + "/" + run
}

const uninvokedText = "Not invoked, because the action or its trigger is mocked"

func (m TestCleanup) text() string {
	recorded := ""
	if m.StateFile != "" {
		recorded = fmt.Sprintf("; %s has their state", m.StateFile)
	}
	return fmt.Sprintf("Objects of %s still exist and must be destroyed manually%s.", where(m.Path, m.Run), recorded)
}

func (m TestKept) text() string {
	where := where(m.Path, m.Run)
	switch {
	case m.StateFile != "":
		return fmt.Sprintf("Objects of %s are kept (skip_cleanup); %s has their state.", where, m.StateFile)
	case m.Diagnostics.HasErrors():
		return fmt.Sprintf("Objects of %s are kept (skip_cleanup), but their state could not be stored.", where)
	}
	return fmt.Sprintf("Objects of %s are kept (skip_cleanup), with their state in the run's backend.", where)
}

// testMessage prints a message about a test for humans.
func (h *human) testMessage(m Message) {
	st := h.style
	switch m := m.(type) {
	case TestAbstract:
	case TestFile:
		h.write(h.Out, fmt.Sprintf("%s... %s\n", m.Path, m.Status.word(st)))
		h.Diagnostics(m.Diagnostics)
	case TestRun:
		h.write(h.Out, fmt.Sprintf("  run %q... %s\n", m.Run, m.Status.word(st)))
		if m.Plan != nil {
			h.Plan(m.Plan)
		}
		if m.State != nil {
			h.State(m.State)
		}
		if len(m.Uninvoked) > 0 {
			h.write(h.Out, "\n"+uninvokedText+":\n  - "+strings.Join(m.Uninvoked, "\n  - ")+"\n")
		}
		h.Diagnostics(m.Diagnostics)
	case TestCleanup:
		h.testCleanup(m)
	case TestKept:
		h.write(h.Out, "\n"+termtext.Wrap(strings.TrimSuffix(m.text(), ".")+":", columns(h.ErrWidth)-1)+"\n"+leftText(m.Left))
		h.Diagnostics(m.Diagnostics)
	case TestInterrupt:
		h.write(h.Err, interruptText(m, columns(h.ErrWidth)))
	case TestSummary:
		c := termtext.Green
		if m.Status == TestFail || m.Status == TestError {
			c = termtext.Red
		}
		verdict, rest, _ := strings.Cut(m.text(), "!")
		h.write(h.Out, "\n"+st.As(c, verdict+"!")+st.As(termtext.Bold, rest)+"\n")
	}
}

func (h *human) testCleanup(m TestCleanup) {
	if m.Diagnostics.HasErrors() {
		h.write(h.Err, termtext.Wrap(fmt.Sprintf("Not everything that %s created could be destroyed.",
			where(m.Path, m.Run)), columns(h.ErrWidth)-1)+"\n")
	}
	h.Diagnostics(m.Diagnostics)
	if len(m.Left) == 0 {
		return
	}
	heading := termtext.Wrap(strings.TrimSuffix(m.text(), ".")+":", columns(h.ErrWidth)-1)
	h.write(h.Err, "\n"+heading+"\n"+leftText(m.Left))
	if m.StateFile != "" {
		how := fmt.Sprintf("To destroy them, solve the problem and run \"tofu destroy -state=%s\" in the "+
			"directory of the module under test, with the path of that file and the values that the run gave "+
			"to the module's variables.", m.StateFile)
		h.write(h.Err, "\n"+termtext.Wrap(how, columns(h.ErrWidth)-1)+"\n")
	}
}

func leftText(left []TestLeft) string {
	var b strings.Builder
	for _, l := range left {
		b.WriteString("  - " + l.Instance)
		if l.DeposedKey != "" {
			b.WriteString(" (" + l.DeposedKey + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func interruptText(m TestInterrupt, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"\n%s\n", termtext.Wrap(fmt.Sprintf("The test was interrupted in %s, so what it created may still exist.",
			where(m.Path, m.Run)), width-1))
	if len(m.Left) > 0 {
		b.WriteString("\n" + termtext.Wrap("These objects were created:", width-1) + "\n" + leftText(m.Left))
	}
	return b.String()
}

// testMessage prints a message about a test in the JSON form.
func (p *jsonPrinter) testMessage(m Message) {
	switch m := m.(type) {
	case TestAbstract:
		runs := make(map[string][]string, len(m.Runs)) // not nil, so that it is an object in JSON
		maps.Copy(runs, m.Runs)
		p.line("info", m.text(), "test_abstract", entry{"test_abstract": runs})
	case TestFile:
		p.line("info", m.Path+"... "+m.Status.word(termtext.Style{}), "test_file", entry{
			"@testfile": m.Path, "test_file": map[string]any{"path": m.Path, "status": m.Status},
		})
		p.diagnostics(m.Diagnostics, entry{"@testfile": m.Path})
	case TestRun:
		p.testRun(m)
	case TestCleanup:
		about := entry{"@testfile": m.Path, "@testrun": m.Run}
		if len(m.Left) > 0 {
			p.line("error", m.text(), "test_cleanup",
				about.with(entry{"test_cleanup": map[string]any{"failed_resources": m.Left}}))
		}
		p.diagnostics(m.Diagnostics, about)
	case TestKept:
		about := entry{"@testfile": m.Path, "@testrun": m.Run}
		p.line("info", m.text(), "test_cleanup",
			about.with(entry{"test_cleanup": map[string]any{"skipped_resources": m.Left}}))
		p.diagnostics(m.Diagnostics, about)
	case TestInterrupt:
		p.line("error", fmt.Sprintf("The test was interrupted in %s.", where(m.Path, m.Run)), "test_interrupt", entry{
			"@testfile": m.Path, "@testrun": m.Run, "test_interrupt": testInterrupt{m.Left},
		})
	case TestSummary:
		p.line("info", m.text(), "test_summary", entry{"test_summary": map[string]any{
			"status": m.Status, "passed": m.Passed, "failed": m.Failed, "errored": m.Errored, "skipped": m.Skipped,
		}})
	}
}

type testInterrupt struct {
	State []TestLeft `json:"state,omitempty"`
}

func (p *jsonPrinter) testRun(m TestRun) {
	about := entry{"@testfile": m.Path, "@testrun": m.Run}
	p.line("info", fmt.Sprintf("  %q... %s", m.Run, m.Status.word(termtext.Style{})), "test_run", about.with(entry{
		"test_run": map[string]any{"path": m.Path, "run": m.Run, "status": m.Status},
	}))
	switch {
	case m.Plan != nil:
		p.testDocument("plan", about, &m.Diagnostics,
			func(w io.Writer) error { return WritePlan(w, m.Plan, p.Version, version.Engine()) })
	case m.State != nil:
		p.testDocument("state", about, &m.Diagnostics,
			func(w io.Writer) error { return WriteState(w, m.State, p.Version) })
	}
	if len(m.Uninvoked) > 0 {
		p.line("info", uninvokedText, "test_actions", about.with(entry{"test_actions": map[string]any{"mocked": m.Uninvoked}}))
	}
	p.diagnostics(m.Diagnostics, about)
}

// testDocument prints the plan or state of a run. An error in printing does not fail the run.
func (p *jsonPrinter) testDocument(what string, about entry, diags *tfdiags.Diagnostics, write func(io.Writer) error) {
	var doc bytes.Buffer
	if err := write(&doc); err != nil {
		*diags = append(*diags, tfdiags.Warningf("The "+what+" can't be shown", "%s.", err))
		return
	}
	p.line("info", "-verbose flag enabled, printing "+what,
		"test_"+what, about.with(entry{"test_" + what: json.RawMessage(doc.Bytes())}))
}

// with returns an entry with the fields of e and more.
func (e entry) with(more entry) entry {
	out := make(entry, len(e)+len(more))
	maps.Copy(out, e)
	maps.Copy(out, more)
	return out
}
