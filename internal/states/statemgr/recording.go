package statemgr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// recordTimeout limits the recording of one step in a ledger, including repetitions.
const recordTimeout = 2 * time.Minute

// recording is an operation whose steps are recorded in a ledger.
type recording struct {
	m   *Manager
	run LedgerRun

	mu     sync.Mutex                // guards the following fields
	base   *states.State             // what the ledger has, without the changes of other runs
	steps  map[ObjectID]recordedStep // the steps in progress
	failed bool

	starts  queue[*Operation]
	results queue[*Change]
}

// recordedStep is a step in progress.
type recordedStep struct {
	deletes  bool // the object
	recorded bool // in the ledger
}

// Difference returns the change that turns one state into another.
func Difference(from, to *states.State) *Change {
	c := &Change{Objects: objectChanges(from, to), Outputs: map[string]*states.Output{}}
	for _, name := range to.OutputNames() {
		if !statefile.SameOutput(from.Output(name), to.Output(name)) {
			c.Outputs[name] = to.Output(name)
		}
	}
	for _, name := range from.OutputNames() {
		if to.Output(name) == nil {
			c.Outputs[name] = nil
		}
	}
	for r := range to.Resources() {
		if old := from.Resource(r.Addr); len(r.Instances) == 0 && (old == nil || old.Provider != r.Provider) {
			c.Resources = append(c.Resources, ResourceChange{Addr: r.Addr, Provider: r.Provider})
		}
	}
	for r := range from.Resources() {
		if len(r.Instances) == 0 && to.Resource(r.Addr) == nil {
			c.Resources = append(c.Resources, ResourceChange{Addr: r.Addr, Gone: true})
		}
	}
	if !statefile.SameChecks(from, to) {
		c.NewChecks, c.Checks = true, to.Checks
	}
	return c
}

// objectChanges returns the changes of objects that turn one state into another.
func objectChanges(from, to *states.State) []ObjectChange {
	var out []ObjectChange
	for id, place := range allObjects(to) {
		old := find(from, id)
		if !statefile.SameObject(old, place.obj) || old != nil && providerOf(from, id.Addr) != place.provider {
			c := ObjectChange{ObjectID: id, Object: place.obj, Provider: place.provider, Existed: from.Instance(id.Addr) != nil}
			if old != nil && sameIdentity(old, providerOf(from, id.Addr), &c) {
				c.From = &ObjectID{id.Addr, id.Deposed}
			}
			out = append(out, c)
		}
	}
	var gone []ObjectID
	for id := range allObjects(from) {
		if find(to, id) == nil {
			out = append(out, ObjectChange{ObjectID: id, Existed: true})
			gone = append(gone, id)
		}
	}
	findMoves(from, gone, out)
	return out
}

// sameIdentity reports whether an object that replaces another one is the same object, as far as
// that is known.
func sameIdentity(old *states.Object, provider addrs.ProviderInstance, c *ObjectChange) bool {
	typ := c.Addr.Resource.Type
	before, known := old.Identify(provider.Config.Provider, typ)
	now, ok := c.Object.Identify(c.Provider.Config.Provider, typ)
	return before == now || !known || !ok
}

// findMoves sets From of the objects that were at one of the addresses gone. An object is recognized
// by its identity, if only one of these has it.
func findMoves(from *states.State, gone []ObjectID, changes []ObjectChange) {
	origins := make(map[states.ObjectIdentity]*ObjectID, len(gone))
	for i, at := range gone {
		identity, ok := find(from, at).Identify(providerOf(from, at.Addr).Config.Provider, at.Addr.Resource.Type)
		if !ok {
			continue
		}
		origin := &gone[i]
		if _, twice := origins[identity]; twice {
			origin = nil
		}
		origins[identity] = origin
	}
	for i := range changes {
		c := &changes[i]
		if len(origins) == 0 || c.Object == nil || find(from, c.ObjectID) != nil {
			continue
		}
		if identity, ok := c.Object.Identify(c.Provider.Config.Provider, c.Addr.Resource.Type); ok {
			c.From = origins[identity]
			delete(origins, identity) // only one object can come from there
		}
	}
}

// readLedger is Read for a ledger.
func (m *Manager) readLedger(ctx context.Context, warn tfdiags.Sink) (*Snapshot, error) {
	in, err := m.ledger.LoadState(ctx, m.workspace, m.opts.Codec)
	if err != nil {
		return nil, loadFailed(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored = stored{exists: in.Exists, serial: in.Serial, lineage: in.Lineage, version: in.Version, state: in.State,
		migrate: in.Outdated, revision: in.Revision}
	m.lost, m.read = in.Lost, true
	if m.recording == nil {
		m.state = in.State
	}
	snap := m.stored.snapshot()
	for _, lost := range in.Lost {
		rec := recovery{header: header{Who: lost.Who}, interrupted: lost.Steps}
		_, _ = fmt.Sscanf(lost.Process, "process %d", &rec.header.PID) // only for the message
		rec.report(warn)
		snap.Interrupted = append(snap.Interrupted, lost.Steps...)
	}
	return snap, nil
}

// ledgerRun returns the run of this process.
func (m *Manager) ledgerRun() LedgerRun {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run == nil {
		if m.info.ID == "" {
			m.info = NewLockInfo("")
		}
		m.run = m.ledger.NewRun(m.workspace, m.opts.Codec, m.info)
	}
	return m.run
}

// beginRecording is Begin for a ledger: it claims what the plan has read and what it writes.
func (m *Manager) beginRecording(ctx context.Context, run *Run) error {
	m.mu.Lock()
	start := m.state
	m.mu.Unlock()
	if run == nil {
		run = &Run{}
	}
	end := start
	if run.State != nil {
		end = run.State
	}
	footprint := run.Footprint
	if footprint == nil {
		return errors.New("the plan does not say what it has read, so that it can't be applied to this backend: " +
			"make a new plan")
	}
	r := m.ledgerRun()
	if err := m.lockWait.retry(ctx, func() error { return r.Claim(ctx, footprint) }); err != nil {
		return ExplainConflict(err)
	}
	writes := make(map[addrs.AbsInstance]bool, len(footprint.Writes))
	for _, w := range footprint.Writes {
		writes[w.Addr] = true
	}
	change := &Change{Base: footprint.Revision}
	for _, o := range objectChanges(start, end) {
		if writes[o.Addr] { // the rest was changed by other runs since the plan
			change.Objects = append(change.Objects, o)
		}
	}
	if !change.Empty() {
		if err := m.writeChange(ctx, change, m.stored.state); err != nil {
			return ExplainConflict(err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.planID = run.PlanID
	m.recording = &recording{m: m, run: r, base: end.Clone(), steps: map[ObjectID]recordedStep{}}
	m.stored.revision = footprint.Revision
	return nil
}

// ExplainConflict explains a *backend.LockedError and a *ChangedError. It returns other errors as they
// are.
func ExplainConflict(err error) error {
	var held *backend.LockedError
	var changed *ChangedError
	switch {
	case errors.As(err, &held):
		part := "a part of the state that this run needs"
		if held.Info != nil && held.Info.Path != "" {
			part = held.Info.Path
		}
		d := tfdiags.Errorf("Error acquiring the state lock", "Another run has claimed %s: it has read it or changes "+
			"it. Wait until that run ends, for example with -lock-timeout=10m. If its process was killed on another "+
			"machine, its claims end 30 seconds later; \"tofu force-unlock\" ends them at once.\n\n%s",
			part, tfdiags.Capitalize(err.Error()))
		d.Extra = held.Info
		return d
	case errors.As(err, &changed):
		d := tfdiags.Errorf("Saved plan is stale", "The state was changed after it was read, so what was planned may "+
			"no longer match it: %s. Nothing was changed. Run the command again, or make a new plan.", changed)
		d.Extra = changed
		return d
	}
	return err
}

// recorded returns the recording, or nil.
func (m *Manager) recorded() *recording {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recording
}

// context returns the context of a record. The cancellation of the operation must not prevent it.
func (r *recording) context() (context.Context, context.CancelFunc) {
	ctx, end := r.m.withDeadline(context.Background())
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	return ctx, func() { cancel(); end() }
}

// fail reports that steps can't be recorded any more. What is missing is saved at the end.
func (r *recording) fail(err error) {
	r.mu.Lock()
	first := !r.failed
	r.failed = true
	r.mu.Unlock()
	if !first {
		return
	}
	r.m.log.Warn("could not record a step of the operation; no more steps will start", "error", err)
	if r.m.opts.Fail != nil {
		go r.m.opts.Fail(err)
	}
}

func (r *recording) started(op *Operation) {
	r.mu.Lock()
	r.steps[ObjectID{op.Addr, op.Deposed}] = recordedStep{op.deletes(), !op.reads()}
	r.mu.Unlock()
	if op.reads() {
		return
	}
	if err := r.starts.add(op, func(take func() []*Operation) error {
		ctx, cancel := r.context()
		defer cancel()
		return r.run.Start(ctx, take)
	}); err != nil {
		r.fail(err)
	}
}

// stored records objects of one instance in one transaction, with the end of the step that stored
// the first one.
func (r *recording) stored(objects ...ObjectChange) {
	change := &Change{Base: r.m.stored.revision}
	r.mu.Lock()
	for _, o := range objects {
		old := find(r.base, o.ObjectID)
		if old != nil && o.From == nil {
			o.From = &ObjectID{o.Addr, o.Deposed}
		}
		if !statefile.SameObject(old, o.Object) || old != nil && o.Object != nil &&
			providerOf(r.base, o.Addr) != o.Provider {
			change.Objects = append(change.Objects, o)
		}
	}
	first := &objects[0]
	if step, open := r.steps[first.ObjectID]; open && step.deletes == (first.Object == nil) {
		delete(r.steps, first.ObjectID)
		if step.recorded {
			change.Ended = []ObjectID{first.ObjectID}
		}
		for i := range change.Objects {
			o := &change.Objects[i]
			o.ByProvider = o.ObjectID == first.ObjectID
		}
	}
	r.mu.Unlock()
	if len(change.Objects) == 0 && len(change.Ended) == 0 {
		return
	}
	if err := r.write(change); err != nil {
		return
	}
	r.mu.Lock()
	for _, o := range change.Objects {
		set(r.base, o.ObjectID, o.Object, o.Provider)
	}
	r.mu.Unlock()
	r.m.planApplied()
}

func (r *recording) ended(id ObjectID) {
	r.mu.Lock()
	step := r.steps[id]
	delete(r.steps, id)
	r.mu.Unlock()
	if step.recorded {
		_ = r.write(&Change{Ended: []ObjectID{id}})
	}
}

// write writes the result of a step, together with those that other steps have meanwhile, and
// reports an error to the operation. It returns when the results are stored.
func (r *recording) write(change *Change) error {
	err := r.results.add(change, func(take func() []*Change) error {
		ctx, cancel := r.context()
		defer cancel()
		_, _, err := r.run.Write(ctx, func() *Change {
			all := &Change{Base: change.Base, Lineage: r.m.newLineage()}
			for _, c := range take() {
				all.Objects, all.Ended = append(all.Objects, c.Objects...), append(all.Ended, c.Ended...)
			}
			return all
		})
		return err
	})
	if err != nil {
		r.fail(err)
	}
	return err
}

// newLineage returns the lineage of the state. A state without one gets a new lineage.
func (m *Manager) newLineage() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stored.lineage == "" {
		m.stored.lineage = uuid.NewString()
	}
	return m.stored.lineage
}

// writeChange writes a change, after which this process knows the state of the store as state. The
// caller holds m.writing.
func (m *Manager) writeChange(ctx context.Context, change *Change, state *states.State) error {
	if change.Lineage == "" {
		change.Lineage = m.newLineage()
	}
	run := m.ledgerRun()
	var serial uint64
	err := m.lockWait.retry(ctx, func() (err error) {
		serial, _, err = run.Write(ctx, func() *Change { return change })
		return err
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored.exists, m.stored.serial, m.stored.lineage = true, serial, change.Lineage
	m.stored.state = state
	return nil
}

// saveChange is Save for a ledger: it writes what differs from the recorded state.
func (m *Manager) saveChange(ctx context.Context, final *states.State) error {
	base := m.stored.state
	r := m.recorded()
	if r != nil {
		r.mu.Lock()
		base = r.base
		r.mu.Unlock()
	}
	change := Difference(base, final)
	if m.stored.migrate {
		change = rewritten(change, final)
	}
	change.Base = m.stored.revision
	if !m.stored.exists && change.Empty() {
		change.Replaces, change.Serial = true, m.stored.serial+1
	}
	for _, lost := range m.lost {
		change.Settled = append(change.Settled, lost.ID)
	}
	if !change.Empty() || len(change.Settled) > 0 {
		err := m.persist(context.WithoutCancel(ctx), func(ctx context.Context) error {
			return m.writeChange(ctx, change, final)
		})
		switch {
		case err == nil:
		case r == nil && (errors.As(err, new(*backend.LockedError)) || errors.As(err, new(*ChangedError))):
			return ExplainConflict(err) // nothing happened yet outside of the state
		default:
			return m.emergency(final, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state, m.stored.state, m.recording, m.lost = final, final, nil, nil
	m.stored.migrate = false
	return nil
}

// rewritten returns a change to final that also writes everything else again.
func rewritten(change *Change, final *states.State) *Change {
	all := Difference(states.New(), final)
	added, changed := map[addrs.AbsInstance]bool{}, map[ObjectID]*ObjectID{}
	for _, o := range change.Objects {
		if o.Object == nil {
			all.Objects = append(all.Objects, o)
		}
		added[o.Addr], changed[o.ObjectID] = !o.Existed, o.From
	}
	for i := range all.Objects {
		o := &all.Objects[i]
		o.Existed = !added[o.Addr]
		o.From = &ObjectID{o.Addr, o.Deposed}
		if from, ok := changed[o.ObjectID]; ok {
			o.From = from
		}
	}
	for name, o := range change.Outputs {
		all.Outputs[name] = o
	}
	all.Resources, all.NewChecks, all.Checks = change.Resources, true, final.Checks
	return all
}

// pushChange is the write of Push for a ledger.
func (m *Manager) pushChange(ctx context.Context, next *stored) error {
	change := Difference(m.stored.state, next.state)
	if m.stored.migrate {
		change = rewritten(change, next.state)
	}
	change.Base, change.Replaces, change.Serial, change.Lineage = m.stored.revision, true, next.serial, next.lineage
	if err := m.writeChange(ctx, change, next.state); err != nil {
		var d tfdiags.Diagnostic
		if explained := ExplainConflict(err); errors.As(explained, &d) {
			return explained
		}
		return tfdiags.Errorf("Failed to write state", "%s.", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state, m.stored.migrate = next.state, false
	return nil
}

// pushUnsaved writes what a run has changed and could not store, as that run. What others have
// changed since stays as it is; it is refused if they have changed the same.
func (m *Manager) pushUnsaved(ctx context.Context, f *statefile.File) error {
	base := states.New()
	if historian, ok := m.ledger.(Historian); ok && f.Unsaved.Revision > 0 {
		loaded, err := historian.LoadStateAt(ctx, m.workspace, &Moment{Revision: f.Unsaved.Revision}, m.opts.Codec)
		if err != nil {
			return loadFailed(err)
		}
		base = loaded.State
	}
	missing := make(map[ObjectID]bool) // what the store doesn't have
	for _, o := range objectChanges(m.stored.state, f.State) {
		missing[o.ObjectID] = true
	}
	change := Difference(base, f.State)
	change.NewChecks, change.Checks = false, nil // the history has none
	change.Base, change.Lineage = f.Unsaved.Revision, f.Lineage
	change.Objects = slices.DeleteFunc(change.Objects, func(o ObjectChange) bool { return !missing[o.ObjectID] })
	for _, o := range change.Objects {
		change.Ended = append(change.Ended, o.ObjectID)
	}
	for name := range change.Outputs {
		if statefile.SameOutput(m.stored.state.Output(name), f.State.Output(name)) {
			delete(change.Outputs, name)
		}
	}
	if change.Empty() {
		return nil
	}
	info := NewLockInfo("state-push")
	info.ID = f.Unsaved.ID
	m.mu.Lock()
	m.info, m.lockID, m.run = info, info.ID, nil
	m.mu.Unlock()
	if err := m.writeChange(ctx, change, f.State); err != nil {
		var changed *ChangedError
		if errors.As(err, &changed) {
			return pushRefused("The file has changes of a run that could not store them, and since then %s.", changed)
		}
		var d tfdiags.Diagnostic
		if explained := ExplainConflict(err); errors.As(explained, &d) {
			return explained
		}
		return tfdiags.Errorf("Failed to write state", "%s.", err)
	}
	return nil
}

// closeRecording ends the run in the ledger, and with it the claims.
func (m *Manager) closeRecording() {
	m.mu.Lock()
	run := m.run
	m.recording = nil
	m.mu.Unlock()
	if run == nil {
		return
	}
	if err := run.Close(context.Background()); err != nil {
		m.log.Warn("could not end the run; its claims end with its lease", "error", err)
	}
}

// Shared reports whether several runs can change the state at the same time, because the store is a
// Ledger.
func (m *Manager) Shared() bool { return m.ledger != nil }

// Current returns the state as read, or as saved since. It must not be changed.
func (m *Manager) Current() *states.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// ChangedInstances returns the instances with objects that differ between two states. Some are
// listed more than once.
func ChangedInstances(from, to *states.State) []addrs.AbsInstance {
	var out []addrs.AbsInstance
	for _, o := range objectChanges(from, to) {
		out = append(out, o.Addr)
	}
	return out
}
