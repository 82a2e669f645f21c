package reads

import (
	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// Step is one change to one object.
type Step struct {
	Node     *Node // carries out the step in a walk
	Resource *Resource
	Change   *plans.InstanceChange
	Part     StepPart
	Forced   bool // whether a dependent's create_before_destroy also applies to this object
}

// StepPart is the part of a change that a Step carries out; a replacement has two.
type StepPart uint8

const (
	StepApply   StepPart = iota // create, update or read, or just evaluate conditions
	StepDelete                  // delete the current object
	StepDeposed                 // delete a deposed object, or the old object of a replacement
	StepForget                  // remove from the state
)

// Removes reports whether the step deletes or forgets an object.
func (s *Step) Removes() bool { return s.Part != StepApply }

// Deletes reports whether the step deletes an object.
func (s *Step) Deletes() bool { return s.Part == StepDelete || s.Part == StepDeposed }

// Writes reports whether the step creates, updates or reads an object.
func (s *Step) Writes() bool { return s.Part == StepApply && s.Change.Action != plans.NoOp }

// CallsProvider reports whether the step changes or reads an object.
func (s *Step) CallsProvider() bool {
	deletesData := s.Change.Action == plans.Delete && s.Change.Addr.Resource.Mode == addrs.Data
	return s.Change.Action != plans.NoOp && s.Part != StepForget && !deletesData
}

// Opens reports whether the step opens an ephemeral object.
func (s *Step) Opens() bool { return s.Resource.Addr.Resource.Mode == addrs.Ephemeral }

var stepVerbs = [...]string{
	StepApply:   "apply",
	StepDelete:  "destroy",
	StepDeposed: "destroy deposed",
	StepForget:  "forget",
}

// Verb returns what the step does, for the report of -timings.
func (s *Step) Verb() string {
	if s.Opens() {
		return "open"
	}
	return stepVerbs[s.Part]
}
