package refresh

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Ages holds when the objects of a state were last read or written, and what the last apply has changed.
// It is safe for concurrent use. A nil Ages knows nothing.
type Ages struct {
	mu      sync.Mutex
	at      map[string]time.Time // by the name of the object
	applied map[string]*applied  // by the name of the object
	done    map[string]bool      // whether the operation on an object has succeeded, in the current apply

	// What has changed since Load, by the name of the object. Encode changes nothing else, because
	// other runs may have written in the meantime.
	aged, reapplied map[string]bool
	loaded          map[string]bool
}

// Changed reports whether objects were read or written.
func (a *Ages) Changed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.aged)+len(a.reapplied) > 0
}

// At returns when an object was last read, if that is known.
func (a *Ages) At(name string) (time.Time, bool) {
	if a == nil {
		return time.Time{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at, known := a.at[name]
	return at, known
}

// Set records that an object was read.
func (a *Ages) Set(name string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at.After(a.at[name]) {
		put(&a.at, name, at)
		put(&a.aged, name, true)
	}
}

func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

// read is a group of objects that were read at the same time. A file has few of them.
type read struct {
	At      time.Time `json:"at"`
	Objects []string  `json:"objects"`
}

// file is the content of a file of ages.
type file struct {
	Version    int                  `json:"version"`
	Workspaces map[string]workspace `json:"workspaces"`
}

// workspace holds the ages of the objects in a workspace.
type workspace struct {
	// Lineage is that of the state; "" if it was not known, because the state was new.
	Lineage string `json:"lineage,omitempty"`
	Reads   []read `json:"reads"`

	Applied map[string]*applied `json:"applied,omitempty"`
}

const fileVersion = 1

// Load adds the ages of a file that are about the given state. It adds nothing if the state of the
// workspace was another one then, and nothing from the future, which comes from a wrong clock.
func (a *Ages) Load(text []byte, name, lineage string, now time.Time) error {
	content, err := decode(text)
	if err != nil {
		return err
	}
	of := content.Workspaces[name]
	a.mu.Lock()
	defer a.mu.Unlock()
	for object, at := range of.times(lineage, now) {
		put(&a.loaded, object, true)
		if at.After(a.at[object]) {
			put(&a.at, object, at)
		}
	}
	for object, last := range of.applications(lineage) {
		put(&a.loaded, object, true)
		put(&a.applied, object, last)
	}
	return nil
}

// times returns when objects of a state were last read, without times in the future.
func (w workspace) times(lineage string, now time.Time) map[string]time.Time {
	out := map[string]time.Time{}
	if w.Lineage != "" && w.Lineage != lineage {
		return out
	}
	for _, group := range w.Reads {
		for _, object := range group.Objects {
			if group.At.After(out[object]) && !group.At.After(now) {
				out[object] = group.At
			}
		}
	}
	return out
}

// applications returns what the last applies of a state have changed.
func (w workspace) applications(lineage string) map[string]*applied {
	out := map[string]*applied{}
	if w.Lineage == "" || w.Lineage == lineage {
		maps.Copy(out, w.Applied)
		maps.DeleteFunc(out, func(_ string, of *applied) bool { return of == nil })
	}
	return out
}

func decode(text []byte) (*file, error) {
	content := &file{}
	if err := json.Unmarshal(text, content); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	if content.Version != fileVersion {
		return nil, fmt.Errorf("it has version %d, and this program knows version %d", content.Version, fileVersion)
	}
	return content, nil
}

// Encode returns the content of a file with what has changed since Load, for the objects in a state,
// which is that of a workspace. Everything else is as in the previous content, except that it leaves
// out what Load has found about objects that the state no longer has.
func (a *Ages) Encode(previous []byte, name, lineage string, st *states.State, now time.Time) ([]byte, error) {
	content, err := decode(previous)
	if err != nil || content.Workspaces == nil {
		content = &file{Workspaces: map[string]workspace{}}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	was := content.Workspaces[name]
	at, last := was.times(lineage, now), was.applications(lineage)
	gone := maps.Clone(a.loaded)
	for o := range stored(st) {
		object := o.String()
		delete(gone, object)
		if now, known := a.at[object]; a.aged[object] && !known {
			delete(at, object)
		} else if a.aged[object] && now.After(at[object]) {
			at[object] = now
		}
		if a.reapplied[object] {
			last[object] = a.applied[object]
		}
		// That only reading back has failed matters as long as the object is tainted.
		if last[object] == nil || last[object].Unsure && st.Object(o.addr, o.deposed).Status != states.Tainted {
			delete(last, object)
		}
	}
	for object := range gone {
		delete(at, object)
		delete(last, object)
	}
	groups, of := map[time.Time][]string{}, workspace{Lineage: lineage, Applied: last}
	for object, at := range at {
		at = at.UTC().Truncate(time.Second)
		groups[at] = append(groups[at], object)
	}
	for _, at := range slices.SortedFunc(maps.Keys(groups), time.Time.Compare) {
		slices.Sort(groups[at])
		of.Reads = append(of.Reads, read{at, groups[at]})
	}
	content.Version, content.Workspaces[name] = fileVersion, of
	return json.Marshal(content)
}

// Forget forgets when some objects were read. Their stored values are not those that were read.
func (a *Ages) Forget(names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range names {
		delete(a.at, name)
		put(&a.aged, name, true)
	}
}

// Renewed records that the state now has the values that were read of some objects.
func (a *Ages) Renewed(names []string, now time.Time) {
	for _, name := range names {
		a.Set(name, now)
	}
}

// Differing returns the names of the objects whose values in a plan are not those in the state. An
// object that was changed outside has no age until an apply has stored its values, so that each plan
// reads it again.
func Differing(plan *plans.Plan) []string {
	var out []string
	for o := range stored(plan.PrevRun) {
		was, is := plan.PrevRun.Object(o.addr, o.deposed), plan.Prior.Object(o.addr, o.deposed)
		if was != is && (is == nil || !sameJSON(was.Attrs, is.Attrs) || !bytes.Equal(was.Private, is.Private) ||
			!sameJSON(was.Identity, is.Identity)) {
			out = append(out, o.String())
		}
	}
	return out
}

// sameJSON reports whether two JSON documents differ only in white space.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return bytes.Equal(a, b) || json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// Observe records the objects that an operation has read or written.
func (a *Ages) Observe(e engine.Event, now time.Time) {
	var o object
	switch e := e.(type) {
	case engine.RefreshDone:
		if e.Failed {
			return
		}
		o = object{e.Addr, e.Deposed}
	case engine.ApplyDone:
		if e.Action == plans.Read {
			return
		}
		a.observe(e)
		if e.Failed {
			return
		}
		o = object{e.Addr, e.Deposed}
	default:
		return
	}
	a.Set(o.String(), now)
}
