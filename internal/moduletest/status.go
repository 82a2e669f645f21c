package moduletest

import (
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Status is how a run or a file came out; a larger one outweighs a smaller one.
type Status uint8

const (
	Pending Status = iota
	Skip
	Pass
	Fail  // an assertion doesn't hold
	Error // something could not be done at all
)

// String is the status's name in JSON output.
func (s Status) String() string {
	return [...]string{"pending", "skip", "pass", "fail", "error"}[s]
}

// Event is something that a runner tells: one of the types below.
type Event interface{ event() }

type (
	// Begun lists the runs of every file, before the first one.
	Begun struct{ Runs map[string][]string }
	// FileDone ends a file's runs, which are told after it.
	FileDone struct {
		Path   string
		Status Status
	}
	// RunDone is one run. Plan or State, with Config, are what it planned or made; nil where it came to nothing.
	RunDone struct {
		Path, Run   string
		Status      Status
		Diagnostics tfdiags.Diagnostics
		Plan        *plans.Plan
		State       *states.State
		Config      *configs.Config
	}
	// Cleaned tells how the destruction of one state's objects went, unless all went well. Run is the last one that worked on them.
	Cleaned struct {
		Path, Run   string
		Diagnostics tfdiags.Diagnostics
		Left        []Object
		// StateFile is where what is left is kept; empty when it could not be kept, which Diagnostics tell.
		StateFile string
	}
	// Abandoned tells what is left when not even the destruction was waited for.
	Abandoned struct {
		Path, Run string
		Left      []Object
	}
	// Ended is the whole.
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
func (Ended) event()     {}

// Object names an object that still exists.
type Object struct {
	Instance string
	Deposed  string // "" for a current object
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
