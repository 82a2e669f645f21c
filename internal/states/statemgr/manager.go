package statemgr

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// Options configures a manager. The zero value is valid.
type Options struct {
	DataDir  string        // directory for journals of remote states and the list of applied plans; "" for ".terraform"
	WorkDir  string        // directory of errored.tfstate; "" for the working directory
	StoreID  string        // identifies the store: backend name and settings; not needed for local files
	Codec    Codec         // encryption of the state and the journal; may be nil
	Interval time.Duration // time between snapshots during an operation; 0 for 20 s
	// Fail is called once, when steps can no longer be recorded. After it returns, no step may
	// start. It must not wait for the operation to end. It may be nil.
	Fail func(error)
	// Abort is closed when the user does not want to wait any longer. If the store is slow, the
	// state is then saved to a local file. It may be nil.
	Abort <-chan struct{}
	Log   *slog.Logger // nil for the default one
	// Last, if not nil, remembers the snapshot that was read last.
	Last *statefile.Last
}

// A Codec encrypts the state and the journal. It turns JSON into JSON.
type Codec interface {
	Encrypt(plain []byte) ([]byte, error)
	// Decrypt also reports whether the data must be written again because its encryption is
	// outdated.
	Decrypt(ctx context.Context, data []byte) (plain []byte, migrate bool, err error)
}

// A Manager keeps the state of one workspace.
type Manager struct {
	workspace
	lock  lock
	whole *snapshots  // treats the store as a store of whole states, for repairs
	dest  destination // whole, unless the store is a ledger

	mu       sync.Mutex    // guards the following fields; never held during I/O
	read     bool          // Read has succeeded
	state    *states.State // the state that was last read or saved
	recorder recorder      // records the operation in progress; nil if none exists
}

// Open returns a manager for the state of a workspace. It does no I/O.
func Open(store backend.Store, name string, opts *Options) *Manager {
	m := &Manager{workspace: workspace{store: store, name: name, log: slog.Default()}}
	if opts != nil {
		m.opts = *opts
	}
	if m.opts.Log != nil {
		m.log = m.opts.Log
	}
	if m.opts.DataDir == "" {
		m.opts.DataDir = ".terraform"
	}
	if m.opts.Interval <= 0 {
		m.opts.Interval = 20 * time.Second
	}
	m.whole = &snapshots{workspace: &m.workspace}
	m.dest = m.whole
	if ledger, ok := store.(Ledger); ok {
		m.dest = &parts{workspace: &m.workspace, ledger: ledger, lock: &m.lock}
	}
	return m
}

// Shared reports whether several runs can change the state at the same time, because the store is a
// Ledger.
func (m *Manager) Shared() bool { return m.dest != m.whole }

// Unused returns an error if another run is changing the state, or has changed it since Read. It
// waits for other runs as Lock waits for locks. If the store is not a Ledger, it does nothing,
// because the lock excludes other runs.
func (m *Manager) Unused(ctx context.Context) error {
	p, ok := m.dest.(*parts)
	if !ok {
		return nil
	}
	return ExplainConflict(m.lock.waiting().retry(ctx, func() error {
		return p.ledger.Unused(ctx, p.name, p.known().revision)
	}))
}

// Snapshot is the current state, including the journal of a killed run.
type Snapshot struct {
	State  *states.State // never nil; must not be changed
	Exists bool          // there is a snapshot or a journal
	// Recovered says that the state is that of a killed run, whose journal was read.
	Recovered bool
	Serial    uint64
	Lineage   string
	Version   string // version of the program that wrote the snapshot
	// Revision identifies the state if the store is a Ledger; see plans.Footprint.
	Revision uint64
	// Interrupted holds the steps of earlier runs whose outcome is unknown.
	Interrupted []Operation
}

// Read returns the state. It replays the journal of a killed run and warns about that.
func (m *Manager) Read(ctx context.Context, warn tfdiags.Sink) (*Snapshot, error) {
	snap, err := m.dest.read(ctx, warn)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = true
	if m.recorder == nil { // a running operation has a newer state
		m.state = snap.State
	}
	return snap, nil
}

// ReadOutputs is like Read, but from a Ledger it reads only the outputs. Afterwards, the manager
// can't write the state.
func (m *Manager) ReadOutputs(ctx context.Context, warn tfdiags.Sink) (*Snapshot, error) {
	p, ok := m.dest.(*parts)
	if !ok {
		return m.Read(ctx, warn)
	}
	in, err := p.ledger.LoadOutputs(ctx, p.name, p.opts.Codec)
	if err != nil {
		return nil, loadFailed(err)
	}
	return &Snapshot{State: in.State, Exists: in.Exists, Serial: in.Serial, Lineage: in.Lineage, Version: in.Version,
		Revision: in.Revision}, nil
}

// Current returns the state that was last read or saved. The caller must not change it.
func (m *Manager) Current() *states.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// Create writes an empty state where Read found none. If another process has created a state in the
// meantime, it returns that state.
func (m *Manager) Create(ctx context.Context, warn tfdiags.Sink) (*Snapshot, error) {
	created, err := m.dest.create(ctx)
	switch {
	case errors.Is(err, backend.ErrChanged):
		return m.Read(ctx, warn)
	case err != nil:
		const format = "The workspace %q can't be created: %s."
		return nil, tfdiags.Errorf("Failed to write state", format, m.name, err)
	}
	return created, nil
}

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

// Begin starts recording an operation. If the state or the journal can't be written, it returns an
// error before anything is changed. Begin requires a previous Read.
func (m *Manager) Begin(ctx context.Context, run *Run) error {
	m.mu.Lock()
	ready, running, start := m.read, m.recorder != nil, m.state
	m.mu.Unlock()
	switch {
	case !ready:
		return errNotRead
	case running:
		return errors.New("an operation is being recorded already")
	}
	if p, ok := m.store.(backend.Prober); ok {
		if err := p.Probe(ctx, m.name); err != nil {
			return err
		}
	}
	if run == nil {
		run = &Run{}
	}
	r, err := m.dest.begin(ctx, start, run)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recorder = r
	return nil
}

// recording returns the recorder of the operation in progress, or nil.
func (m *Manager) recording() recorder {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recorder
}

// Started records that a provider is about to be called. Once it has returned, the record survives
// a crash of this process.
func (m *Manager) Started(op Operation) {
	if r := m.recording(); r != nil {
		op.Started = time.Now().UTC()
		m.doubts.started(&op)
		r.started(&op)
	}
}

// Ended records that a step has ended, whether it succeeded or failed. Storing its object may
// already have recorded that. A step that doesn't end before Save is in doubt.
func (m *Manager) Ended(addr addrs.AbsInstance, deposed addrs.DeposedKey) {
	if r := m.recording(); r != nil {
		m.doubts.ended(ObjectID{addr, deposed})
		r.ended(ObjectID{addr, deposed})
	}
}

// Stored records the new value of an object. obj is nil if the object was deleted. Once Stored has
// returned, the record survives a crash of this process.
func (m *Manager) Stored(
	addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object, provider addrs.ProviderInstance,
) {
	if r := m.recording(); r != nil {
		m.doubts.stored(ObjectID{addr, deposed})
		r.stored(ObjectChange{ObjectID: ObjectID{addr, deposed}, Object: obj, Provider: provider})
	}
}

// Moved records in a single entry that an object was deposed or restored, so that a crash neither
// loses nor duplicates it.
func (m *Manager) Moved(
	addr addrs.AbsInstance, from, to addrs.DeposedKey, obj *states.Object, provider addrs.ProviderInstance,
) {
	if r := m.recording(); r != nil {
		r.moved(ObjectChange{ObjectID: ObjectID{addr, to}, Object: obj, Provider: provider}, from)
	}
}

// Save stops recording an operation and writes the final state, unless the store already has it. It
// ignores the cancellation of ctx. If the store can't be written, it writes the state to
// errored.tfstate, and the error says how to continue.
func (m *Manager) Save(ctx context.Context, final *states.State) error {
	m.mu.Lock()
	ready, before := m.read, m.state
	m.mu.Unlock()
	if !ready {
		return errNotRead
	}
	err := m.dest.save(ctx, before, final)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recorder = nil
	if err == nil {
		m.state = final
	}
	return err
}

// Push replaces the state with another snapshot and adopts its serial and lineage, as state
// migration and "state push" do. Unless force is set, the lineages must be equal and the snapshot
// must not be older. A snapshot without lineage, written by hand or by an early version, becomes
// the successor of the current state. If the file was written because a ledger failed, Push writes
// only the changes of the run that wrote the file. It then fails if other runs have changed the
// same parts. Push requires a previous Read.
func (m *Manager) Push(ctx context.Context, f *statefile.File, force bool) error {
	m.mu.Lock()
	ready := m.read
	m.mu.Unlock()
	if !ready {
		return errNotRead
	}
	if err := m.dest.push(ctx, f, force); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = f.State
	return nil
}

// stopRecording ends the recording of an operation, if one is in progress, without saving.
func (m *Manager) stopRecording() error {
	m.mu.Lock()
	m.recorder = nil
	m.mu.Unlock()
	return m.dest.abandon()
}

// Encode encodes a state for a local copy. The result is encrypted if the stored state is.
func (m *Manager) Encode(file *statefile.File) ([]byte, error) {
	data, err := statefile.Encode(file, &statefile.Options{Indent: m.opts.Codec == nil})
	if err != nil {
		return nil, err
	}
	return m.seal(data, true)
}

// errNotRead is the error of operations that require a successful Read.
var errNotRead = errors.New("the state was not read")
