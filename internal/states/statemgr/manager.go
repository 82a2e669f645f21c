package statemgr

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tofu/internal/atomicfile"
	"tofu/internal/backend"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// Options configures a manager. The zero value is valid.
type Options struct {
	DataDir  string        // journals of states in remote stores and the list of applied plans; "" for ".terraform"
	WorkDir  string        // directory of errored.tfstate; "" for the working directory
	StoreID  string        // identifies the store: backend name and settings; not needed for local files
	Codec    Codec         // encryption of the state and the journal; may be nil
	Interval time.Duration // between snapshots during an operation; 0 for 20 s
	// Fail is called once when operations can no longer be recorded, so that no more are started.
	// It may be nil.
	Fail func(error)
	// Abort is closed when the user does not want to wait any longer. If the store is slow, the
	// state is then saved to a local file. It may be nil.
	Abort <-chan struct{}
	Log   *slog.Logger // nil for the default one
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
	store     backend.Store
	ledger    Ledger // the store, if it is one; nil otherwise
	workspace string
	opts      Options
	log       *slog.Logger
	indent    bool
	objects   statefile.Encoder // encodes journal entries; safe for concurrent use

	mu        sync.Mutex // guards the following fields; never held during I/O
	lockID    string
	locked    bool
	read      bool                  // Read has succeeded
	state     *states.State         // the state as changed by the running operation
	dirty     bool                  // state has changed since the last snapshot
	journal   *journal              // open during an operation
	steps     map[ObjectID]openStep // the steps in progress
	wake      chan struct{}         // wakes the snapshots goroutine after a change
	stop      chan struct{}         // stops the snapshots goroutine
	finished  sync.WaitGroup
	info      backend.LockInfo
	lockWait  lockWait
	run       LedgerRun  // of a ledger; nil until it is needed
	recording *recording // open during an operation, if the store is a ledger
	planID    string     // ID of the saved plan until its first change is recorded

	writing sync.Mutex // serializes access to the store and guards the following fields
	stored  stored
	old     *recovery // the journal of a killed run until a snapshot includes it
	encoder *statefile.Encoder
	lost    []LostRun
	unclear []attempt // writes that failed since the last successful one
}

// attempt is a write that may have happened although it failed, because its response was lost.
type attempt struct {
	sum     [sha256.Size]byte // of the written text; encryption makes each text unique
	content stored
}

// stored is the last known content of the store.
type stored struct {
	exists  bool
	serial  uint64
	lineage string
	version string // of the program that wrote it
	state   *states.State
	migrate bool   // it must be written even if nothing changed
	written string // version in the store, if that is a backend.Swapper
	// revision of what was read, if the store is a ledger; changes of this process don't count
	revision uint64
}

func (s *stored) snapshot() *Snapshot {
	return &Snapshot{State: s.state, Exists: s.exists, Serial: s.serial, Lineage: s.lineage, Version: s.version,
		Revision: s.revision}
}

// Open returns a manager for the state of a workspace. It does no I/O.
func Open(store backend.Store, workspace string, opts *Options) *Manager {
	m := &Manager{store: store, workspace: workspace, log: slog.Default()}
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
	m.ledger, _ = store.(Ledger)
	_, m.indent = store.(backend.Filer)
	return m
}

// Snapshot is the current state, including the journal of a killed run.
type Snapshot struct {
	State   *states.State // never nil; must not be changed
	Exists  bool          // there is a snapshot or a journal
	Serial  uint64
	Lineage string
	Version string // of the program that wrote the snapshot
	// Revision identifies the state if the store is a Ledger, as in plans.Footprint.
	Revision uint64
	// Interrupted holds the steps of killed runs that started but are not known to have ended.
	Interrupted []Operation
}

// Read returns the state. It replays the journal of a killed run and warns about that.
func (m *Manager) Read(ctx context.Context, warn tfdiags.Sink) (*Snapshot, error) {
	m.writing.Lock()
	defer m.writing.Unlock()
	if m.ledger != nil {
		return m.readLedger(ctx, warn)
	}
	present, err := m.load(ctx)
	if errors.Is(err, backend.ErrNoWorkspaces) {
		return nil, m.noWorkspaces()
	}
	if err != nil {
		return nil, loadFailed(err)
	}
	rec, err := m.recover(ctx, present)
	if err != nil {
		return nil, tfdiags.Errorf("Failed to recover an interrupted run", "%s.", err)
	}
	snap := present.snapshot()
	if rec != nil {
		rec.report(warn)
		if rec.changed > 0 && !rec.diverged {
			snap.State, snap.Exists = rec.state, true
			snap.Serial, snap.Lineage = rec.serial, rec.header.Lineage
		}
		snap.Interrupted = rec.interrupted
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored, m.old, m.read = *present, rec, true
	if m.journal == nil { // a running operation has a newer state
		m.state = snap.State
	}
	return snap, nil
}

func loadFailed(err error) error {
	d := tfdiags.Errorf("Failed to load state", "%s", tfdiags.Sentence(err))
	if errors.As(err, new(statefile.DamagedError)) {
		d.Detail += " To list its readable parts, run \"tofu state repair\"."
	}
	return d
}

// load reads the snapshot from the store.
func (m *Manager) load(ctx context.Context) (*stored, error) {
	out := &stored{state: states.New()}
	data, err := m.get(ctx, out)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		if data != nil {
			err = m.checkEmpty()
		}
		return out, err
	}
	if m.opts.Codec != nil {
		if data, out.migrate, err = m.opts.Codec.Decrypt(ctx, data); err != nil {
			return nil, err // the error names what can't be decrypted
		}
	}
	f, err := statefile.Parse(data)
	if err != nil {
		if filer, ok := m.store.(backend.Filer); ok {
			return nil, fmt.Errorf("%s: %w", filer.File(m.workspace), err)
		}
		return nil, err
	}
	out.exists, out.serial, out.lineage, out.version, out.state = true, f.Serial, f.Lineage, f.TerraformVersion, f.State
	return out, nil
}

// get reads the text of the snapshot, and its version into out.
func (m *Manager) get(ctx context.Context, out *stored) (data []byte, err error) {
	if swapper, ok := m.store.(backend.Swapper); ok {
		data, out.written, err = swapper.GetVersion(ctx, m.workspace)
		return data, err
	}
	return m.store.Get(ctx, m.workspace)
}

func (m *Manager) noWorkspaces() error {
	return tfdiags.Errorf("No such workspace", "This backend supports only the workspace \"default\", so there is no "+
		"workspace %q. Select the default one, or unset TF_WORKSPACE where that names another.", m.workspace)
}

// checkEmpty returns an error if the empty file of a local state must have lost its content. An
// empty file alone is no error: other programs leave one if their first run is killed. If there is
// also a backup, a journal or an errored.tfstate, there was a state.
func (m *Manager) checkEmpty() error {
	filer, ok := m.store.(backend.Filer)
	if !ok {
		return nil
	}
	file := filer.File(m.workspace)
	for _, path := range append(m.erroredFiles(), file+".backup", m.journalPath()) {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return statefile.DamagedError{Err: fmt.Errorf("%s is empty, but %s shows that there was a state: "+
				"replace it with "+
				"a copy of the state or, to start without a state, move both files away", file, path)}
		}
	}
	return nil
}

// journalPath returns the path of the journal.
func (m *Manager) journalPath() string {
	if filer, ok := m.store.(backend.Filer); ok {
		return filer.File(m.workspace) + ".journal"
	}
	// Workspace names may be too long for a file name, or differ only in case.
	id := sha256.Sum256([]byte(m.opts.StoreID + "\x00" + m.workspace))
	return filepath.Join(m.opts.DataDir, "journal", hex.EncodeToString(id[:16]))
}

// openJournal creates this state's journal.
func (m *Manager) openJournal(fail func(error), first []*entry) (*journal, error) {
	path := m.journalPath()
	if _, beside := m.store.(backend.Filer); !beside {
		if err := atomicfile.CheckBelow(m.opts.DataDir, filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("making the journal: %w: remove the link", err)
		}
	}
	return openJournal(path, m.opts.Codec, fail, first)
}

// erroredPath returns the path for a state that can't be written to its store. It is always a new
// file, as an existing one may be the only record of another run.
func (m *Manager) erroredPath() string {
	return freeName(func(n int) string {
		if n == 1 {
			return filepath.Join(m.opts.WorkDir, "errored.tfstate")
		}
		return filepath.Join(m.opts.WorkDir, fmt.Sprintf("errored.%d.tfstate", n))
	})
}

// freeName returns the first name that no file has. A name that can't be checked counts as free:
// writing the file reports the reason.
func freeName(name func(n int) string) string {
	for n := 1; ; n++ {
		if _, err := os.Lstat(name(n)); err != nil {
			return name(n)
		}
	}
}

// erroredFiles returns the existing files with names that erroredPath may return.
func (m *Manager) erroredFiles() []string {
	entries, _ := os.ReadDir(cmp.Or(m.opts.WorkDir, ".")) // the files are optional, so errors are ignored
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "errored.") && strings.HasSuffix(e.Name(), ".tfstate") {
			paths = append(paths, filepath.Join(m.opts.WorkDir, e.Name()))
		}
	}
	return paths
}

// errNotRead is the error of operations that require a successful Read.
var errNotRead = errors.New("the state was not read")
