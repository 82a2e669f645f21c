package statemgr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/version"
)

// Run says what an operation starts from.
type Run struct {
	// State is what the engine starts from: the prior state of its plan, which may differ from what Read gave by moved and
	// refreshed objects. Nil for what Read gave.
	State *states.State
	// PlanID is the ID of the saved plan that is applied, "" for none. It is noted when the first change is.
	PlanID string
}

// Begin prepares for recording an operation. It makes sure that state and journal can be written, before anything is changed.
func (m *Manager) Begin(ctx context.Context, run *Run) error {
	m.mu.Lock()
	ready, running := m.read, m.journal != nil
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
	carried, err := m.settleOld(ctx)
	if err != nil {
		return err
	}
	if m.stored.lineage == "" {
		m.stored.lineage = uuid.NewString()
	}
	first := append([]*entry{m.beginning()}, carried...)
	m.mu.Lock()
	defer m.mu.Unlock()
	start := m.state
	if run != nil {
		m.planID = run.PlanID
		if run.State != nil {
			moves, err := differences(start, run.State)
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
	m.state, m.dirty, m.steps = start.Clone(), false, make(map[objectID]openStep)
	m.wake, m.stop = make(chan struct{}, 1), make(chan struct{})
	m.encoder = statefile.NewEncoder()
	m.finished.Add(1)
	go m.snapshots(m.wake, m.stop)
	return nil
}

// beginning is the first entry of a journal: which snapshot the others add to.
func (m *Manager) beginning() *entry {
	return &entry{Kind: beginEntry, Serial: m.stored.serial, Header: &header{
		Journal: journalVersion, Program: version.Own, Who: who(), PID: os.Getpid(), Process: processInfo(os.Getpid()),
		Workspace: m.workspace, Lineage: m.stored.lineage, Exists: m.stored.exists,
	}}
}

// settleOld brings what a killed run's journal has into the store, so that the journal may go. It gives entries for the steps that
// were interrupted, which a new journal takes over: they are news until a run has ended well.
func (m *Manager) settleOld(ctx context.Context) ([]*entry, error) {
	rec := m.old
	if rec == nil {
		return nil, nil
	}
	if rec.foreign {
		m.old = nil
		return nil, rec.setAside()
	}
	if rec.changed > 0 {
		if m.stored.lineage == "" {
			m.stored.lineage = rec.header.Lineage
		}
		if err := m.write(ctx, rec.state); err != nil {
			return nil, fmt.Errorf("saving what an interrupted run had done: %w", err)
		}
	}
	m.old = nil
	var carried []*entry
	for i := range rec.interrupted {
		carried = append(carried, starting(&rec.interrupted[i]))
	}
	return carried, nil
}

// differences gives entries that turn one state into the other.
func differences(from, to *states.State) ([]*entry, error) {
	var out []*entry
	objects := &statefile.Encoder{}
	add := func(id objectID, obj *states.Object, provider addrs.ProviderInstance) error {
		e, err := storing(objects, id.addr, id.deposed, obj, provider)
		out = append(out, e)
		return err
	}
	for id, place := range contents(to) {
		if old := find(from, id); !statefile.SameObject(old, place.obj) || old != nil && providerOf(from, id.addr) != place.provider {
			if err := add(id, place.obj, place.provider); err != nil {
				return nil, err
			}
		}
	}
	for id := range contents(from) {
		if find(to, id) == nil {
			if err := add(id, nil, addrs.ProviderInstance{}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// placed is an object with the provider instance that it belongs to.
type placed struct {
	obj      *states.Object
	provider addrs.ProviderInstance
}

// contents goes through all objects of a state.
func contents(s *states.State) func(yield func(objectID, placed) bool) {
	return func(yield func(objectID, placed) bool) {
		for r := range s.Resources() {
			for key, inst := range r.Instances {
				addr, provider := r.Addr.Instance(key), addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey}
				if inst.Current != nil && !yield(objectID{addr, addrs.NotDeposed}, placed{inst.Current, provider}) {
					return
				}
				for deposed, obj := range inst.Deposed {
					if !yield(objectID{addr, deposed}, placed{obj, provider}) {
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

// openStep is a step that isn't known to have ended.
type openStep struct {
	start   *entry
	deletes bool
}

// Started records that a provider is about to be asked for something. When it returns, that is known even if the process is killed.
func (m *Manager) Started(op Operation) {
	if op.reads() {
		return
	}
	e := starting(&op)
	m.mu.Lock()
	j := m.journal
	if j != nil {
		m.steps[objectID{op.Addr, op.Deposed}] = openStep{e, op.deletes()}
	}
	m.mu.Unlock()
	if j != nil {
		j.append(e)
	}
}

// Ended records that a step that had started is over, whatever came of it. What the step stored may have said that already.
func (m *Manager) Ended(addr addrs.AbsInstance, deposed addrs.DeposedKey) {
	id := objectID{addr, deposed}
	m.mu.Lock()
	j := m.journal
	_, open := m.steps[id]
	delete(m.steps, id)
	m.mu.Unlock()
	if j != nil && open {
		j.append(&entry{Kind: endEntry, Addr: addr.String(), Deposed: deposed})
	}
}

// Stored records what an object is now, nil for gone. When it returns, that is known even if the process is killed.
func (m *Manager) Stored(addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object, provider addrs.ProviderInstance) {
	j := m.running()
	if j == nil {
		return
	}
	e, err := storing(&m.objects, addr, deposed, obj, provider)
	j.record(e, err) // before anything that may take a while
	id := objectID{addr, deposed}
	m.changed(func() {
		set(m.state, id, obj, provider)
		if step, open := m.steps[id]; open && step.deletes == (obj == nil) {
			delete(m.steps, id)
		}
	})
}

// Moved records that an object was set aside or taken back, as one entry: it is in one of the two places, whenever the process is killed.
func (m *Manager) Moved(addr addrs.AbsInstance, from, to addrs.DeposedKey, obj *states.Object, provider addrs.ProviderInstance) {
	j := m.running()
	if j == nil {
		return
	}
	e, err := storing(&m.objects, addr, to, obj, provider)
	if err == nil {
		e.From = &from
	}
	j.record(e, err)
	m.changed(func() {
		set(m.state, objectID{addr, to}, obj, provider)
		set(m.state, objectID{addr, from}, nil, provider)
	})
}

// changed makes a change to the state and tells whoever saves it.
func (m *Manager) changed(change func()) {
	m.mu.Lock()
	change()
	planID := m.planID
	m.dirty, m.planID = true, ""
	m.mu.Unlock()
	if planID != "" {
		if err := noteApplied(m.opts.DataDir, planID); err != nil {
			m.log.Warn("could not note that the plan was applied", "error", err)
		}
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *Manager) running() *journal {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.journal
}

// record appends an entry, or reports why there is none.
func (j *journal) record(e *entry, err error) {
	if err == nil {
		j.append(e)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = errors.Join(j.err, err)
	j.trouble(err)
}

// snapshots puts snapshots into the store while the operation runs, the first one an interval after the first change. They are not
// needed for safety, as the journal has everything; but others can read them.
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
		now.Prune()
		ctx, end := m.patience(context.Background())
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		m.writing.Lock()
		err := m.write(ctx, now)
		m.writing.Unlock()
		cancel()
		end()
		if err != nil {
			m.log.Warn("could not save the state while the operation runs; it will be saved at the end", "error", err)
		}
	}
}

// close ends the recording of an operation. A journal with nothing in it goes; one that has something stays for the next command.
func (m *Manager) close() {
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
