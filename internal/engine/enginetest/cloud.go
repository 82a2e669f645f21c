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

// Cloud holds the objects and the log of calls, which all instances of the provider share.
type Cloud struct {
	// Delay is the duration of each call, unless the object's wait argument specifies another.
	// Within testing/synctest, the delay takes no real time and shows which calls run at the same
	// time.
	Delay time.Duration
	// Fail says which calls fail and how; see Provider. The keys name calls as in the log, except
	// that creations and plans have the name of the object instead of its ID.
	Fail map[string]string
	// On holds functions that run when a call starts. The keys are like those of Fail.
	On map[string]func()
	// SchemaVersion is the version of all resource types and identities.
	SchemaVersion int64
	// Applying changes the keys of plan calls from "plan NAME" to "final NAME". It is set during an
	// apply.
	Applying bool

	mu      sync.Mutex
	objects map[string]cty.Value
	made    map[string]int
	order   map[string]int // counter values at which the objects were created, by ID; larger is newer
	open    map[string]int // number of open uses of each token
	faults  []string
	calls   []Call
	clock   int
}

// Call is one call to the provider.
type Call struct {
	What       string
	Start, End int // positions in the sequence of starts and ends of all calls; End is 0 during the call
	at         time.Time
}

var errInterrupted = errors.New("interrupted")

// call performs a call: it logs the call, waits for the given time, and calls do with the
// configured failure of the call. do runs with c.mu locked and returns the text for the log. call
// returns an error if ctx is canceled during the wait.
func (c *Cloud) call(
	ctx context.Context, key string, wait time.Duration, do func(fail string, asked bool) string,
) error {
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

// note logs a call that takes no time and can't fail.
func (c *Cloud) note(ctx context.Context, what string) {
	_ = c.call(ctx, what, 0, func(string, bool) string { return what })
}

// Calls returns the calls since the last use of Calls or Log.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.calls
	c.calls = nil
	return out
}

// Log returns the calls since the last use of Calls or Log as text. Calls that started at the same
// time are on one line. It lists creations, updates, deletions, invocations, failed calls, notes, and provider
// configurations that set a label or a host. It also lists calls of the given kinds.
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
	kinds = append(kinds, "create", "update", "delete", "fail", "note", "configure", "invoke")
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

// Edit changes an attribute of an object outside of the engine. An empty attribute deletes the
// object, and "+" creates one.
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
		attrs["id"], attrs["name"], attrs["c"], attrs["v"] = cty.StringVal(id), cty.StringVal(name),
			cty.StringVal("1"), cty.StringVal(value)
		c.put(id, cty.ObjectVal(attrs))
		c.newID(name)
	case ok:
		attrs := obj.AsValueMap()
		attrs[attr] = cty.StringVal(value)
		c.objects[id] = cty.ObjectVal(attrs)
	}
}

func (c *Cloud) put(id string, v cty.Value) {
	if c.objects == nil {
		c.objects, c.order = map[string]cty.Value{}, map[string]int{}
	}
	if _, there := c.objects[id]; !there {
		c.clock++
		c.order[id] = c.clock
	}
	c.objects[id] = v
}

// newID returns the ID of a new object with the given name.
func (c *Cloud) newID(name string) string {
	if c.made == nil {
		c.made = map[string]int{}
	}
	c.made[name]++
	return fmt.Sprintf("%s-%d", name, c.made[name])
}

// Objects returns the IDs of the existing objects, sorted.
func (c *Cloud) Objects() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.objects))
}

// Remember records the existing objects. The returned function restores them.
func (c *Cloud) Remember() (restore func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects := maps.Clone(c.objects)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.objects = objects
	}
}

// newest returns the most recently created object with the given name.
func (c *Cloud) newest(name string) (cty.Value, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, last := cty.NilVal, 0
	for id, v := range c.objects {
		if textOf(v, "name") == name && c.order[id] > last {
			found, last = v, c.order[id]
		}
	}
	return found, last > 0
}

// Faults returns descriptions of the engine's violations of the provider protocol. The callers of
// fault show which violations are detected.
func (c *Cloud) Faults() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults)
}

func (c *Cloud) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// needToken records a fault if text is a token that is not open.
func (c *Cloud) needToken(text, what string) {
	name, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok {
		return
	}
	c.mu.Lock()
	open := c.open[name] > 0
	c.mu.Unlock()
	if !open {
		c.fault("%s uses the token of %s, which is not open", what, name)
	}
}

// turnToken changes the number of open uses of a token: it opens the token if by is 1, and closes
// it if by is -1.
func (c *Cloud) turnToken(name string, by int) {
	c.mu.Lock()
	if c.open == nil {
		c.open = map[string]int{}
	}
	c.open[name] += by
	wrong := c.open[name] < 0
	c.mu.Unlock()
	if wrong {
		c.fault("the token of %s is closed more often than it was opened", name)
	}
}

// OpenTokens returns the open tokens.
func (c *Cloud) OpenTokens() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for name, n := range c.open {
		if n > 0 {
			out = append(out, name)
		}
	}
	return out
}
