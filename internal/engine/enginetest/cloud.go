package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// Cloud is what all instances of the provider share: objects, and the log of calls.
type Cloud struct {
	// Delay is what every call takes whose object doesn't say otherwise. Within testing/synctest it costs nothing and shows which
	// calls run at the same time.
	Delay time.Duration
	// Fail says which calls fail, and how: see Provider. The key is the call as the log has it, but with the name instead of the ID
	// for creations and plans.
	Fail map[string]string
	// On is run when a call starts; keys are those of Fail.
	On map[string]func()
	// SchemaVersion is the version of all resource types.
	SchemaVersion int64
	// Applying turns the plan calls' keys from "plan NAME" into "final NAME".
	Applying bool

	mu      sync.Mutex
	objects map[string]cty.Value
	made    map[string]int
	calls   []Call
	clock   int
}

// Call is one call to the provider.
type Call struct {
	What       string
	Start, End int // positions in the order of all starts and ends; End is 0 while the call is under way
	at         time.Time
}

var errInterrupted = errors.New("interrupted")

// call does one call: it is logged, takes its time, and is told how to fail. do runs under the cloud's lock and gives the text for
// the log.
func (c *Cloud) call(ctx context.Context, key string, wait time.Duration, do func(fail string, asked bool) string) error {
	c.mu.Lock()
	c.clock++
	n := len(c.calls)
	c.calls = append(c.calls, Call{What: key, Start: c.clock, at: time.Now()})
	on := c.On[key]
	c.mu.Unlock()
	if on != nil {
		on()
	}
	var err error
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			err = errInterrupted
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	fail, asked := c.Fail[key]
	if err != nil {
		fail, asked = "interrupted", true
	}
	what := do(fail, asked)
	c.clock++
	if n < len(c.calls) {
		c.calls[n].What, c.calls[n].End = what, c.clock
	}
	return err
}

// Calls takes the calls made since it was last asked.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.calls
	c.calls = nil
	return out
}

// Log takes the calls made since it was last asked, as text: one line for those that started at the same moment. Only kinds of calls
// that are wanted are listed; creations, updates and deletions always are.
func (c *Cloud) Log(kinds ...string) string {
	var b strings.Builder
	var line []string
	var at time.Time
	end := func() {
		if len(line) > 0 {
			slices.Sort(line)
			b.WriteString(strings.Join(line, ", ") + "\n")
		}
		line = nil
	}
	kinds = append(kinds, "create", "update", "delete", "fail", "note", "configure")
	for _, call := range c.Calls() {
		kind, _, _ := strings.Cut(call.What, " ")
		if !slices.Contains(kinds, kind) || call.What == "configure " {
			continue
		}
		if !call.at.Equal(at) {
			end()
		}
		at = call.at
		line = append(line, call.What)
	}
	end()
	return b.String()
}

// Edit changes an attribute of an object behind the engine's back; an empty attribute deletes the object, "+" makes one.
func (c *Cloud) Edit(id, attr, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj, ok := c.objects[id]
	switch {
	case attr == "":
		delete(c.objects, id)
	case attr == "+":
		name, _, _ := strings.Cut(id, "-")
		attrs := thing.EmptyValue().AsValueMap()
		attrs["id"], attrs["name"], attrs["c"], attrs["v"] = cty.StringVal(id), cty.StringVal(name), cty.StringVal("1"), cty.StringVal(value)
		c.put(id, cty.ObjectVal(attrs))
		c.made[name]++
	case ok:
		attrs := obj.AsValueMap()
		attrs[attr] = cty.StringVal(value)
		c.objects[id] = cty.ObjectVal(attrs)
	}
}

func (c *Cloud) put(id string, v cty.Value) {
	if c.objects == nil {
		c.objects, c.made = map[string]cty.Value{}, map[string]int{}
	}
	c.objects[id] = v
}

// newID gives the ID of a new object of a name.
func (c *Cloud) newID(name string) string {
	if c.made == nil {
		c.objects, c.made = map[string]cty.Value{}, map[string]int{}
	}
	c.made[name]++
	return fmt.Sprintf("%s-%d", name, c.made[name])
}

// Objects lists the IDs of the objects that exist, sorted.
func (c *Cloud) Objects() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.objects))
}

// newest gives the object of a name that was made last.
func (c *Cloud) newest(name string) (cty.Value, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := c.made[name]; n > 0; n-- {
		if v, ok := c.objects[fmt.Sprintf("%s-%d", name, n)]; ok {
			return v, true
		}
	}
	return cty.NilVal, false
}
