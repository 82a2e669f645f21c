package statemgr

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/google/uuid"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

// Run describes the start of an operation.
type Run struct {
	// State is the state that the engine starts from: the prior state of its plan, in which objects
	// may have been moved or refreshed. If it is nil, the operation starts from the result of Read.
	State *states.State
	// PlanID is the ID of the saved plan that is applied, or "". It is recorded with the first
	// change.
	PlanID string
	// Footprint is what the plan has read and what it writes. It is only needed if the store is a
	// Ledger.
	Footprint *plans.Footprint
}

// Begin starts recording an operation. It returns an error if the state or the journal can't be
// written, before anything is changed.
func (m *Manager) Begin(ctx context.Context, run *Run) error {
	m.mu.Lock()
	ready, running := m.read, m.journal != nil || m.recording != nil
	m.mu.Unlock()
	if !ready {
		return errNotRead
	}
	if running {
		return errors.New("an operation is being recorded already")
	}
	if p, ok := m.store.(backend.Prober); ok {
		if err := p.Probe(ctx, m.workspace); err != nil {
			return err
		}
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	if m.ledger != nil {
		return m.beginRecording(ctx, run)
	}
	carried, err := m.commitRecovered(ctx)
	if err != nil {
		return err
	}
	if m.stored.lineage == "" {
		m.stored.lineage = uuid.NewString()
	}
	first := append([]*entry{m.newBeginEntry()}, carried...)
	m.mu.Lock()
	defer m.mu.Unlock()
	start := m.state
	if run != nil {
		m.planID = run.PlanID
		if run.State != nil {
			moves, err := moveEntries(objectChanges(start, run.State))
			if err != nil {
				return err
			}
			first, start = append(first, moves...), run.State
		}
	}
	if m.journal, err = m.openJournal(m.opts.Fail, first); err != nil {
		return fmt.Errorf("preparing the journal: %w", err)
	}
	m.journal.carries = len(carried) > 0
	m.state, m.dirty, m.steps = start.Clone(), false, make(map[ObjectID]openStep)
	m.wake, m.stop = make(chan struct{}, 1), make(chan struct{})
	m.encoder = statefile.NewEncoder()
	m.finished.Add(1)
	go m.snapshots(m.wake, m.stop)
	return nil
}

// newBeginEntry returns the first entry of a journal, which identifies the snapshot that the
// journal continues.
func (m *Manager) newBeginEntry() *entry {
	return &entry{Kind: beginEntry, Serial: m.stored.serial, Header: &header{
		Journal:   journalVersion,
		Program:   version.Own,
		Who:       userAtHost(),
		PID:       os.Getpid(),
		Process:   processInfo(os.Getpid()),
		Workspace: m.workspace,
		Lineage:   m.stored.lineage,
		Exists:    m.stored.exists,
	}}
}

// commitRecovered writes the changes of a killed run to the store, so that its journal may be
// removed. It returns entries for the interrupted steps. The new journal includes them, so that
// they are reported until a run ends successfully.
func (m *Manager) commitRecovered(ctx context.Context) ([]*entry, error) {
	rec := m.old
	if rec == nil {
		return nil, nil
	}
	if rec.diverged {
		m.old = nil
		return nil, rec.setAside()
	}
	if rec.changed > 0 {
		if m.stored.lineage == "" {
			m.stored.lineage = rec.header.Lineage
		}
		if err := m.write(ctx, rec.state); err != nil {
			return nil, fmt.Errorf("saving the changes of an interrupted run: %w", err)
		}
	}
	m.old = nil
	var carried []*entry
	for i := range rec.interrupted {
		carried = append(carried, newStartEntry(&rec.interrupted[i]))
	}
	return carried, nil
}

// moveEntries returns store entries for a change of objects.
func moveEntries(changes []ObjectChange) ([]*entry, error) {
	out := make([]*entry, len(changes))
	objects := &statefile.Encoder{}
	for i, c := range changes {
		var err error
		if out[i], err = newStoreEntry(objects, c.Addr, c.Deposed, c.Object, c.Provider); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ownedObject is an object and its provider instance.
type ownedObject struct {
	obj      *states.Object
	provider addrs.ProviderInstance
}

// allObjects iterates over all objects of a state.
func allObjects(s *states.State) iter.Seq2[ObjectID, ownedObject] {
	return func(yield func(ObjectID, ownedObject) bool) {
		for r := range s.Resources() {
			for key, inst := range r.Instances {
				addr := r.Addr.Instance(key)
				provider := addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey}
				if inst.Current != nil && !yield(ObjectID{addr, addrs.NotDeposed},
					ownedObject{inst.Current, provider}) {
					return
				}
				for deposed, obj := range inst.Deposed {
					if !yield(ObjectID{addr, deposed}, ownedObject{obj, provider}) {
						return
					}
				}
			}
		}
	}
}

func providerOf(s *states.State, addr addrs.AbsInstance) addrs.ProviderInstance {
	r := s.Resource(addr.Abs())
	return addrs.ProviderInstance{Config: r.Provider, Key: r.Instances[addr.Key].ProviderKey}
}

// openStep is a step in progress.
type openStep struct {
	start   *entry
	deletes bool
}

// Started records that a provider is about to be called. Once it has returned, the record survives
// a crash of this process.
func (m *Manager) Started(op Operation) {
	if r := m.recorded(); r != nil {
		r.started(&op)
		return
	}
	if op.reads() {
		return
	}
	e := newStartEntry(&op)
	m.mu.Lock()
	j := m.journal
	if j != nil {
		m.steps[ObjectID{op.Addr, op.Deposed}] = openStep{e, op.deletes()}
	}
	m.mu.Unlock()
	if j != nil {
		j.append(e)
	}
}

// Ended records that a step has ended, with or without success. Storing its object may already have
// recorded that.
func (m *Manager) Ended(addr addrs.AbsInstance, deposed addrs.DeposedKey) {
	id := ObjectID{addr, deposed}
	if r := m.recorded(); r != nil {
		r.ended(id)
		return
	}
	m.mu.Lock()
	j := m.journal
	_, open := m.steps[id]
	delete(m.steps, id)
	m.mu.Unlock()
	if j != nil && open {
		j.append(&entry{Kind: endEntry, Addr: addr.String(), Deposed: deposed})
	}
}

// Stored records the new value of an object; nil if it was deleted. Once it has returned, the
// record survives a crash of this process.
func (m *Manager) Stored(
	addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object, provider addrs.ProviderInstance,
) {
	if r := m.recorded(); r != nil {
		r.stored(ObjectChange{ObjectID: ObjectID{addr, deposed}, Object: obj, Provider: provider})
		return
	}
	j := m.running()
	if j == nil {
		return
	}
	e, err := newStoreEntry(&m.objects, addr, deposed, obj, provider)
	j.record(e, err) // before anything slower
	id := ObjectID{addr, deposed}
	m.changed(func() {
		set(m.state, id, obj, provider)
		if step, open := m.steps[id]; open && step.deletes == (obj == nil) {
			delete(m.steps, id)
		}
	})
}

// Moved records in a single entry that an object was deposed or restored, so that a crash neither
// loses nor duplicates it.
func (m *Manager) Moved(
	addr addrs.AbsInstance, from, to addrs.DeposedKey, obj *states.Object, provider addrs.ProviderInstance,
) {
	if r := m.recorded(); r != nil {
		origin := ObjectID{addr, from}
		r.stored(ObjectChange{ObjectID: ObjectID{addr, to}, Object: obj, Provider: provider, From: &origin},
			ObjectChange{ObjectID: origin})
		return
	}
	j := m.running()
	if j == nil {
		return
	}
	e, err := newStoreEntry(&m.objects, addr, to, obj, provider)
	if err == nil {
		e.From = &from
	}
	j.record(e, err)
	m.changed(func() {
		set(m.state, ObjectID{addr, to}, obj, provider)
		set(m.state, ObjectID{addr, from}, nil, provider)
	})
}

// changed applies a change to the state and wakes the snapshots goroutine.
func (m *Manager) changed(change func()) {
	m.mu.Lock()
	change()
	m.dirty = true
	m.mu.Unlock()
	m.planApplied()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// planApplied records that the saved plan was applied, with its first change.
func (m *Manager) planApplied() {
	m.mu.Lock()
	planID := m.planID
	m.planID = ""
	m.mu.Unlock()
	if planID == "" {
		return
	}
	if err := recordApplied(m.opts.DataDir, planID); err != nil {
		m.log.Warn("could not record that the plan was applied", "error", err)
	}
}

func (m *Manager) running() *journal {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.journal
}

// record appends an entry, or reports the error of making it.
func (j *journal) record(e *entry, err error) {
	if err == nil {
		j.append(e)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = errors.Join(j.err, err)
	j.reportFailure(err)
}

// snapshots writes snapshots to the store during an operation, the first one an interval after the
// first change. The journal makes the state durable; snapshots are for other readers.
func (m *Manager) snapshots(wake, stop <-chan struct{}) {
	defer m.finished.Done()
	for {
		select {
		case <-wake:
		case <-stop:
			return
		}
		select {
		case <-time.After(m.opts.Interval):
		case <-stop:
			return
		}
		m.mu.Lock()
		dirty := m.dirty
		var now *states.State
		if dirty {
			now, m.dirty = m.state.Clone(), false
		}
		m.mu.Unlock()
		if !dirty {
			continue
		}
		if err := m.snapshot(now); err != nil {
			m.log.Warn("could not save the state during the operation; it will be saved at the end", "error", err)
		}
	}
}

// snapshot writes a state to the store during an operation. A panic is an error, since it must not
// end the process while providers are being called.
func (m *Manager) snapshot(now *states.State) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			crash := tfdiags.CrashOf(problem)
			err = fmt.Errorf("internal error: %v\n%s", crash.Problem, crash.Stack)
		}
	}()
	now.Prune()
	ctx, end := m.withDeadline(context.Background())
	defer end()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	m.writing.Lock()
	defer m.writing.Unlock()
	return m.write(ctx, now)
}

// close stops recording an operation. It removes a journal without entries and keeps any other for
// the next command.
func (m *Manager) close() {
	m.closeRecording()
	m.mu.Lock()
	j, stop := m.journal, m.stop
	m.journal, m.stop = nil, nil
	m.mu.Unlock()
	if stop != nil {
		close(stop)
		m.finished.Wait()
	}
	if j == nil {
		return
	}
	if j.entries == 0 && j.err == nil && !j.carries {
		j.discard()
	} else {
		j.close()
	}
}
