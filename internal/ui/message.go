package ui

import (
	"fmt"
	"strings"
	"sync"

	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Message is something a command says: one of the types below.
type Message interface{ message() }

type (
	// Text is free text. For people it is printed as it is; programs get it without colours.
	Text struct{ Text string }
	// Rule is a line across the screen; programs don't get it.
	Rule struct{}
	// PlanSaved reports that a plan was saved and how to apply it. Programs don't get it.
	PlanSaved struct{ Path string }
	// Applied ends an apply that went through.
	Applied struct {
		Counts  Counts
		Destroy bool // it was the destroy command
	}
	// Outputs are the root outputs after an operation.
	Outputs struct{ Values map[string]*states.Output }
	// Addresses is a list of resource instances, a line each.
	Addresses struct{ Addrs []string }
	// Workspaces are the names of all workspaces.
	Workspaces struct {
		Current string
		Names   []string
	}
)

func (Text) message()       {}
func (Rule) message()       {}
func (PlanSaved) message()  {}
func (Applied) message()    {}
func (Outputs) message()    {}
func (Addresses) message()  {}
func (Workspaces) message() {}

// Counts are numbers of objects.
type Counts struct{ Import, Add, Change, Remove, Forget int }

// PlanCounts counts what a plan would do. A replacement is an addition and a removal.
func PlanCounts(p *plans.Plan) Counts {
	var c Counts
	for _, change := range listedChanges(p) {
		if change.Importing != nil {
			c.Import++
		}
		switch change.Action {
		case plans.Create:
			c.Add++
		case plans.Update:
			c.Change++
		case plans.DeleteThenCreate, plans.CreateThenDelete:
			c.Add++
			c.Remove++
		case plans.Delete:
			c.Remove++
		case plans.Forget:
			c.Forget++
		case plans.ForgetThenCreate:
			c.Add++
			c.Forget++
		}
	}
	return c
}

// planned is the summary of a plan.
func (c Counts) planned() string {
	var b strings.Builder
	b.WriteString("Plan: ")
	if c.Import > 0 {
		fmt.Fprintf(&b, "%d to import, ", c.Import)
	}
	fmt.Fprintf(&b, "%d to add, %d to change, %d to destroy", c.Add, c.Change, c.Remove)
	if c.Forget > 0 {
		fmt.Fprintf(&b, ", %d to forget", c.Forget)
	}
	b.WriteByte('.')
	return b.String()
}

// done is the summary of what an apply did.
func (m Applied) done() string {
	var b strings.Builder
	c := m.Counts
	if m.Destroy {
		fmt.Fprintf(&b, "Destroy complete! Resources: %d destroyed", c.Remove)
	} else {
		b.WriteString("Apply complete! Resources: ")
		if c.Import > 0 {
			fmt.Fprintf(&b, "%d imported, ", c.Import)
		}
		fmt.Fprintf(&b, "%d added, %d changed, %d destroyed", c.Add, c.Change, c.Remove)
	}
	if c.Forget > 0 {
		fmt.Fprintf(&b, ", %d forgotten", c.Forget)
	}
	b.WriteByte('.')
	return b.String()
}

// Tally counts what an apply does. The zero value is ready; Observe may be called from many goroutines at once.
type Tally struct {
	mu     sync.Mutex
	counts Counts
}

// Expect counts what happens without a provider being called: imports and forgotten objects.
func (t *Tally) Expect(p *plans.Plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range p.Changes.Instances {
		if c.Importing != nil {
			t.counts.Import++
		}
		if c.Action == plans.Forget {
			t.counts.Forget++
		}
	}
}

// Observe counts a step that was done.
func (t *Tally) Observe(e engine.Event) {
	done, ok := e.(engine.ApplyDone)
	if !ok || done.Failed {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch done.Action {
	case plans.Create:
		t.counts.Add++
	case plans.Update:
		t.counts.Change++
	case plans.Delete:
		t.counts.Remove++
	}
}

// Counts gives what was counted so far.
func (t *Tally) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts
}
