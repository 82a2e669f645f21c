package ui

import (
	"fmt"
	"strings"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/ui/planview"
)

// Message is a message that a command prints: one of the types below.
type Message interface{ message() }

type (
	// Text is free text. The human form escapes control characters except this program's colors
	// and, on a terminal, wraps the text. The JSON form prints it without colors.
	Text struct{ Text string }
	// Note is like Text, but its line breaks are for pipes and files: a terminal shows paragraphs that
	// fill its width. A line that begins with a space keeps its place.
	Note struct{ Text string }
	// Hint is a Note that says what to do next. The JSON form omits it.
	Hint struct{ Text string }
	// Rule is a horizontal line. The JSON form omits it.
	Rule struct{}
	// PlanSaved reports that a plan was saved and how to apply it. The JSON form omits it.
	PlanSaved struct{ Path string }
	// Applied is the summary of a successful apply.
	Applied struct {
		Counts  planview.Counts
		Destroy bool // whether the command is destroy
	}
	// Outputs are the root outputs after an operation.
	Outputs struct{ Values map[string]*states.Output }
	// Addresses is a list of addresses of resource instances, printed one per line.
	Addresses struct{ Addrs []string }
	// Workspaces is the list of all workspaces. Current is one of Names.
	Workspaces struct {
		Current string
		Names   []string
	}
)

func (Estate) message()      {}
func (EstateRoot) message()  {}
func (EstateTable) message() {}
func (Text) message()        {}
func (Note) message()        {}
func (Hint) message()        {}
func (Rule) message()        {}
func (PlanSaved) message()   {}
func (Applied) message()     {}
func (Outputs) message()     {}
func (Addresses) message()   {}
func (Workspaces) message()  {}

// done returns the summary of an apply as text.
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
	if c.Invoke > 0 {
		fmt.Fprintf(&b, " Actions: %d invoked.", c.Invoke)
	}
	return b.String()
}

// Tally counts the changes of an apply. The zero value is ready to use. Observe may be called
// concurrently.
type Tally struct {
	mu      sync.Mutex
	counts  planview.Counts
	started map[objectKey]bool
	failed  map[objectKey]bool
	// replaced holds the objects that the plan replaces, with the first of their two steps that is done.
	replaced map[addrs.AbsInstance]plans.Action
	partial  map[addrs.AbsInstance]bool // objects in the state whose creation has not ended
}

// objectKey identifies an object of a plan.
type objectKey struct {
	addr    addrs.AbsInstance
	deposed addrs.DeposedKey
}

// Expect counts the changes that need no provider calls: imports and forgotten objects.
func (t *Tally) Expect(p *plans.Plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range p.Changes.Instances {
		if c.Importing != nil {
			t.counts.Import++
		}
		switch c.Action {
		case plans.Forget:
			t.counts.Forget++
		case plans.DeleteThenCreate, plans.CreateThenDelete:
			if t.replaced == nil {
				t.replaced = make(map[addrs.AbsInstance]plans.Action)
			}
			t.replaced[c.Addr] = plans.NoOp
		}
	}
}

// Observe counts a completed step.
func (t *Tally) Observe(e engine.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := e.(type) {
	case engine.ApplyStart:
		t.begun(e.Object)
	case engine.ApplyUnneeded:
		t.begun(e.Object)
	case engine.ObjectStored:
		if e.Deposed == addrs.NotDeposed && t.started[objectKey{e.Addr, e.Deposed}] {
			t.partial[e.Addr] = e.New != nil
		}
	case engine.ApplyDone:
		if e.Failed && t.failed != nil {
			t.failed[objectKey{e.Addr, e.Deposed}] = true
		}
		t.done(e)
	}
}

func (t *Tally) begun(o engine.Object) {
	if t.started == nil {
		t.started, t.failed = make(map[objectKey]bool), make(map[objectKey]bool)
		t.partial = make(map[addrs.AbsInstance]bool)
	}
	t.started[objectKey{o.Addr, o.Deposed}] = true
}

// done counts a step that has ended. An object that exists although its creation failed counts as added.
func (t *Tally) done(e engine.ApplyDone) {
	exists := e.Action == plans.Create && t.partial[e.Addr]
	delete(t.partial, e.Addr)
	if e.Failed && !exists {
		return
	}
	switch e.Action {
	case plans.Create:
		t.counts.Add++
		if e.Failed {
			t.counts.Tainted++
		}
	case plans.Update:
		t.counts.Change++
	case plans.Delete:
		t.counts.Remove++
	case plans.Invoke:
		t.counts.Invoke++
	}
	if half, ok := t.replaced[e.Addr]; ok && half != e.Action && e.Action != plans.Update {
		t.replaced[e.Addr] = e.Action
		if half != plans.NoOp {
			t.counts.Replace++
			delete(t.replaced, e.Addr)
		}
	}
}

// Counts returns the counts so far.
func (t *Tally) Counts() planview.Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts
}
