package moduletest

import (
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Status is the result of a run or a file. A larger status overrides a smaller one.
type Status uint8

const (
	Pending Status = iota
	Skip
	Pass
	Fail  // an assertion failed
	Error // an operation failed
)

// String returns the name of the status as in JSON output.
func (s Status) String() string {
	return [...]string{"pending", "skip", "pass", "fail", "error"}[s]
}

// Event is an event of a runner: one of the types below.
type Event interface{ event() }

type (
	// Begun is sent before the first run, with the runs of every file.
	Begun struct{ Runs map[string][]string }
	// Started is sent before a run is executed.
	Started struct{ Path, Run string }
	// Finished is sent after a run was executed. The result follows in a RunDone event, after the
	// last run of the file.
	Finished struct{ Path, Run string }
	// FileDone is sent after all runs of a file, and before their RunDone events.
	FileDone struct {
		Path   string
		Status Status
	}
	// RunDone is the result of one run. If the run planned or applied, Config and either Plan or
	// State are set.
	RunDone struct {
		Path, Run   string
		Status      Status
		Diagnostics tfdiags.Diagnostics
		Plan        *plans.Plan
		State       *states.State
		Config      *configs.Config
		// Uninvoked names the actions that were planned, but are mocked.
		Uninvoked []string
	}
	// Cleaned is sent if not all objects of a state could be destroyed, or if their destruction had
	// problems. Run is the last run that changed the state.
	Cleaned struct {
		Path, Run   string
		Diagnostics tfdiags.Diagnostics
		Left        []Object
		// StateFile is the file with the remaining objects. It is empty if the file could not be
		// written. Diagnostics then contains the reason.
		StateFile string
	}
	// Skipped is sent if the objects of a state are kept, because its last run has skip_cleanup.
	Skipped struct {
		Path, Run   string
		Left        []Object
		StateFile   string // file with the objects; "" if a backend has them, or after an error
		Diagnostics tfdiags.Diagnostics
	}
	// Abandoned is sent if an interrupt stopped the destruction. It lists the remaining objects.
	Abandoned struct {
		Path, Run string
		Left      []Object
	}
	// Ended is the result of all files.
	Ended struct {
		Status                           Status
		Passed, Failed, Errored, Skipped int
	}
)

func (Begun) event()     {}
func (FileDone) event()  {}
func (RunDone) event()   {}
func (Cleaned) event()   {}
func (Abandoned) event() {}
func (Skipped) event()   {}
func (Started) event()   {}
func (Finished) event()  {}
func (Ended) event()     {}

// Object is an object that could not be destroyed.
type Object struct {
	Instance string
	Deposed  string // "" if the object is the current one
}

func (e *Ended) count(s Status) {
	e.Status = max(e.Status, s)
	switch s {
	case Pass:
		e.Passed++
	case Fail:
		e.Failed++
	case Error:
		e.Errored++
	case Skip:
		e.Skipped++
	}
}
