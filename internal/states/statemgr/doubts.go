package statemgr

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// doubts are the steps whose outcome is unknown, and the records of moves between states, which stay
// until replaceMoving removes them. The run of such a step was interrupted, or its provider gave
// no usable answer. A creation in doubt may have made an object that no state has, so it stays in
// doubt until it is settled: until a later creation succeeds, until an object is imported or moved
// to its address, or until the user says that there is no object. An update or deletion in doubt is
// settled by the next run that saves the state, because the state still has its object.
type doubts struct {
	mu       sync.Mutex // guards the following fields
	known    map[ObjectID]Operation
	creating map[ObjectID]bool // creations of this run in progress
	settled  map[ObjectID]bool // what the next save settles, whatever the states are
	// was has the recorded IDs of the known steps whose addresses have changed since.
	was map[ObjectID]ObjectID
}

// set replaces the known steps in doubt.
func (d *doubts) set(ops []Operation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.settled, d.was = make(map[ObjectID]Operation, len(ops)), nil, nil
	for _, op := range ops {
		d.known[op.id()] = op
	}
}

// list returns the known steps in doubt.
func (d *doubts) list() []Operation {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Values(d.known), compareSteps)
}

// started notes that a step starts.
func (d *doubts) started(op *Operation) {
	if op.Action == plans.Create {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.creating == nil {
			d.creating = make(map[ObjectID]bool)
		}
		d.creating[op.id()] = true
	}
}

// stored notes that an object was stored. If it is the result of a creation, that settles earlier
// creations at its address.
func (d *doubts) stored(id ObjectID) {
	d.mu.Lock()
	creates := d.creating[id]
	delete(d.creating, id)
	d.mu.Unlock()
	if creates {
		d.settle(id)
	}
}

func (d *doubts) ended(id ObjectID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.creating, id)
}

// settle lets the next save settle the step of an object.
func (d *doubts) settle(id ObjectID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.settled == nil {
		d.settled = make(map[ObjectID]bool)
	}
	d.settled[id] = true
}

// move changes the addresses of creations as move does in a state.
func (d *doubts) move(move func(*states.State) *states.State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := make(map[ObjectID]Operation, len(d.known))
	of := make(map[*states.Object]Operation)
	st := states.New()
	for id, op := range d.known {
		if op.Action != plans.Create {
			next[id] = op
			continue
		}
		obj := &states.Object{}
		of[obj] = op
		st.SetCurrent(op.Addr, obj, op.Provider)
	}
	if len(of) == 0 {
		return
	}
	was := make(map[ObjectID]ObjectID)
	for r := range move(st).Resources() {
		for key, inst := range r.Instances {
			op := of[inst.Current]
			id := op.id()
			if op.Addr = r.Addr.Instance(key); op.Addr != id.Addr {
				was[op.id()] = cmp.Or(d.was[id], id)
			}
			next[op.id()] = op
		}
	}
	d.known, d.was = next, was
}

// moved returns the steps whose addresses have changed since they were recorded.
func (d *doubts) moved(ops []Operation) []Operation {
	return slices.DeleteFunc(slices.Clone(ops), func(op Operation) bool { return !d.hasMoved(op.id()) })
}

func (d *doubts) hasMoved(id ObjectID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.was[id] != ObjectID{}
}

// recorded returns the IDs with which steps were recorded.
func (d *doubts) recorded(ops []Operation) []ObjectID {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []ObjectID
	for i := range ops {
		id := ops[i].id()
		out = append(out, cmp.Or(d.was[id], id))
	}
	return out
}

// open reports whether the step of an object is known and not settled.
func (d *doubts) open(id ObjectID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.known[id]
	return known && !d.settled[id]
}

// entries returns journal entries that turn a list of steps in doubt into the known ones: the steps
// of a killed run are added, and those that it settled, or whose addresses have changed, are removed.
func (d *doubts) entries(listed []Operation) []*entry {
	var ends, starts []*entry
	before := make(map[ObjectID]Operation, len(listed))
	for _, op := range listed {
		before[op.id()] = op
	}
	for _, op := range d.list() {
		if old, same := before[op.id()]; !same || !old.Started.Equal(op.Started) {
			starts = append(starts, newStartEntry(&op))
		}
		delete(before, op.id())
	}
	for id := range before {
		ends = append(ends, newEndEntry(id))
	}
	return append(ends, starts...)
}

// split returns the known steps that are still in doubt after the state before was replaced by the
// state after, and those that are settled.
func (d *doubts) split(before, after *states.State) (left, settled []Operation) {
	for _, op := range d.list() {
		d.mu.Lock()
		done, was := d.settled[op.id()], cmp.Or(d.was[op.id()], op.id())
		d.mu.Unlock()
		step := op.Moving == nil
		if done || step && (op.Action != plans.Create || find(before, was) == nil && find(after, op.id()) != nil) {
			settled = append(settled, op)
		} else {
			left = append(left, op)
		}
	}
	return left, settled
}

func (op *Operation) id() ObjectID { return ObjectID{op.Addr, op.Deposed} }

func pointers(ops []Operation) []*Operation {
	var out []*Operation
	for i := range ops {
		out = append(out, &ops[i])
	}
	return out
}

func compareSteps(a, b Operation) int {
	return cmp.Or(a.Addr.Compare(b.Addr), strings.Compare(string(a.Deposed), string(b.Deposed)))
}

// sameSteps reports whether two sorted lists have the same steps.
func sameSteps(a, b []Operation) bool {
	return slices.EqualFunc(a, b, func(x, y Operation) bool {
		return x.id() == y.id() && x.Action == y.Action && x.Started.Equal(y.Started)
	})
}

// mergeSteps returns the steps of both lists. If both have a step of an object, it takes the newer
// one, which is in the second list.
func mergeSteps(older, newer []Operation) []Operation {
	all := make(map[ObjectID]Operation, len(older)+len(newer))
	for _, op := range slices.Concat(older, newer) {
		all[op.id()] = op
	}
	return slices.SortedFunc(maps.Values(all), compareSteps)
}

// encodeSteps encodes steps in doubt for a state file. Steps that can't be encoded, because of
// their planned values, are encoded without these.
func encodeSteps(ops []Operation) []json.RawMessage {
	var out []json.RawMessage
	for _, op := range ops {
		if text, err := EncodeStep(&op); err == nil {
			out = append(out, text)
		}
	}
	return out
}

// stepsOf returns the steps in doubt that a state file has.
func stepsOf(f *statefile.File) ([]Operation, error) {
	var out []Operation
	for _, text := range f.InDoubt {
		op, err := ParseStep(text)
		if err != nil {
			return nil, statefile.DamagedError{Err: fmt.Errorf("the list of operations in doubt can't be read: %w", err)}
		}
		out = append(out, *op)
	}
	return out, nil
}

// File returns the snapshot as a state file.
func (s *Snapshot) File() *statefile.File {
	return &statefile.File{Serial: s.Serial, Lineage: s.Lineage, State: s.State, InDoubt: encodeSteps(s.Interrupted)}
}

// Doubts returns the instances at or below the targets whose creation is in doubt.
func (s *Snapshot) Doubts(targets []addrs.Target) []addrs.AbsInstance {
	in := states.New()
	for _, op := range s.Interrupted {
		if op.Action == plans.Create {
			in.SetCurrent(op.Addr, &states.Object{}, op.Provider)
		}
	}
	return in.Select(targets)
}

// Gone says that the object of a creation in doubt doesn't exist. Save records that.
func (m *Manager) Gone(addr addrs.AbsInstance) { m.doubts.settle(ObjectID{Addr: addr}) }

// MoveDoubts changes the addresses of creations in doubt as move does in a state that has their
// objects. Save records that.
func (m *Manager) MoveDoubts(move func(*states.State) *states.State) { m.doubts.move(move) }

// InDoubt returns advice for the case that an instance can't be created and an earlier creation of
// it is in doubt. Otherwise, it returns "". replaced says that the address has the object that the
// creation would have replaced.
func (m *Manager) InDoubt(addr addrs.AbsInstance, replaced bool) string {
	m.doubts.mu.Lock()
	op, known := m.doubts.known[ObjectID{Addr: addr}]
	m.doubts.mu.Unlock()
	if !known || op.Action != plans.Create {
		return ""
	}
	text := "An earlier creation of this object was interrupted or got no usable answer, so the object may exist " +
		"already"
	id := "ID of the object"
	if values := op.values(); values != nil {
		text += fmt.Sprintf(". It was planned with %s", marshal(values))
		_ = json.Unmarshal(values["id"], &id)
	}
	way := "import it with this block"
	if replaced {
		way = fmt.Sprintf("delete it. Or run \"tofu state rm '%s'\", delete the object that is to be replaced yourself, "+
			"and import the new one with this block", addr)
	}
	return fmt.Sprintf("%s. If it exists, %s:\n\n  import {\n    to = %s\n    id = %s\n  }\n\n"+
		"If it does not, run \"tofu state rm -in-doubt '%s'\".", text, way, addr, tfdiags.Quote(id), addr)
}

// earlierSteps says why the steps that a state lists are in doubt.
const earlierSteps = "Earlier runs were interrupted during these operations, or providers gave no usable answer to them"

// reportSteps warns about steps in doubt. The text why begins the message.
func reportSteps(warn tfdiags.Sink, why string, ops []Operation) {
	if ops = withoutMoves(ops); len(ops) == 0 {
		return
	}
	var b strings.Builder
	creates := false
	for i := range ops {
		creates = creates || ops[i].Action == plans.Create
		b.WriteString("\n  " + ops[i].describe())
	}
	if creates {
		b.WriteString("\n\nA creation stays in this list until one at its address succeeds, until an object is " +
			"imported to it, or until \"tofu state rm -in-doubt ADDRESS\" says that no object exists.")
	}
	d := tfdiags.Warningf("Interrupted operations", "%s. It is not known whether they succeeded: objects that were "+
		"being created may exist without being in the state.%s", why, b.String())
	d.Extra = reportedSteps{why, ops}
	warn(d)
}

// reportedSteps is the Extra field of a warning about steps in doubt.
type reportedSteps struct {
	why string
	ops []Operation
}

// StillInDoubt returns the warnings without the steps that were settled after Read warned about them.
func (m *Manager) StillInDoubt(warnings tfdiags.Diagnostics) tfdiags.Diagnostics {
	var out tfdiags.Diagnostics
	for _, d := range warnings {
		reported, ok := d.Extra.(reportedSteps)
		if !ok {
			out.Add(d)
			continue
		}
		reportSteps(func(list ...tfdiags.Diagnostic) { out.Add(list...) }, reported.why,
			slices.DeleteFunc(slices.Clone(reported.ops), func(op Operation) bool { return !m.doubts.open(op.id()) }))
	}
	return out
}

// reportEarlier warns about the steps in doubt that the stored state lists, without those that a
// killed run has settled or repeated, and adds the steps of that run.
func (s *snapshots) reportEarlier(rec *recovery, before, now *states.State, warn tfdiags.Sink) {
	if rec == nil {
		reportSteps(warn, earlierSteps, s.doubts.list())
		return
	}
	if !rec.diverged {
		for _, id := range rec.settled {
			s.doubts.settle(id)
		}
	}
	repeated := make(map[ObjectID]bool)
	for _, op := range rec.interrupted {
		repeated[op.id()] = true
	}
	earlier, _ := s.doubts.split(before, now)
	reportSteps(warn, earlierSteps, slices.DeleteFunc(slices.Clone(earlier),
		func(op Operation) bool { return repeated[op.id()] }))
	s.doubts.set(mergeSteps(earlier, rec.interrupted))
}
