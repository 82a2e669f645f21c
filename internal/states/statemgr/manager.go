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

	"tofu/internal/backend"
	"tofu/internal/staging"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// Options say where the manager keeps its own files. The zero value is usable.
type Options struct {
	DataDir  string        // journals of states that aren't files, and the list of applied plans; "" for ".terraform"
	WorkDir  string        // where errored.tfstate goes; "" for the working directory
	StoreID  string        // what tells this store from others: the backend's name and settings; not needed for local files
	Codec    Codec         // encryption of the state and the journal; nil for none
	Interval time.Duration // between snapshots while an operation runs; 0 for 20 s
	// Fail is called once if what happens can't be recorded any more, so that nothing new is started; nil for nobody.
	Fail func(error)
	// Hurry is closed when the user wants to wait no longer; nil for never. The state is then saved elsewhere if the store takes long.
	Hurry <-chan struct{}
	Log   *slog.Logger // nil for the default one
}

// A Codec encrypts what leaves the manager. What it gives is JSON if what it gets is.
type Codec interface {
	Encrypt(plain []byte) ([]byte, error)
	// Decrypt also tells whether the data should be written anew because it isn't as Encrypt would write it.
	Decrypt(ctx context.Context, data []byte) (plain []byte, migrate bool, err error)
}

// Manager keeps the state of one workspace.
type Manager struct {
	store     backend.Store
	workspace string
	opts      Options
	log       *slog.Logger
	indent    bool
	objects   statefile.Encoder // of the journal's entries, for everybody at once

	mu       sync.Mutex // guards what follows; held for moments only
	lockID   string
	locked   bool
	read     bool                  // Read was successful
	state    *states.State         // as the running operation sees it
	dirty    bool                  // it has changed since the last snapshot
	journal  *journal              // open while an operation runs
	steps    map[objectID]openStep // the steps that are under way
	wake     chan struct{}         // tells the snapshots goroutine of a first change
	stop     chan struct{}         // ends it
	finished sync.WaitGroup
	planID   string // of the plan being applied, until it is noted

	writing sync.Mutex // one reading or writing of the store at a time; guards what follows
	stored  stored
	old     *recovery // the journal of a killed run, until a snapshot has its content
	encoder *statefile.Encoder
}

// stored is what the store has, as far as is known.
type stored struct {
	exists  bool
	serial  uint64
	lineage string
	version string // of the program that wrote it
	state   *states.State
	migrate bool   // must be written even if nothing changed
	bytes   []byte // for stores that can swap
}

func (s *stored) snapshot() *Snapshot {
	return &Snapshot{State: s.state, Exists: s.exists, Serial: s.serial, Lineage: s.lineage, Version: s.version}
}

// Open makes the manager of a workspace's state. It does no input or output.
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
	_, m.indent = store.(backend.Filer)
	return m
}

// Snapshot is the state as it is now, with what a killed run left.
type Snapshot struct {
	State   *states.State // never nil; not to be changed
	Exists  bool          // there is a snapshot, or a journal of one
	Serial  uint64
	Lineage string
	Version string // of the program that wrote the snapshot
	// Interrupted are the steps of killed runs that had started and aren't known to have ended.
	Interrupted []Operation
}

// Read gives the state. It replays the journal of a killed run, and the diagnostics tell the user about that.
func (m *Manager) Read(ctx context.Context) (*Snapshot, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	m.writing.Lock()
	defer m.writing.Unlock()
	present, err := m.load(ctx)
	if errors.Is(err, backend.ErrNoWorkspaces) {
		return nil, m.noWorkspaces()
	}
	if err != nil {
		d := tfdiags.Errorf("Failed to load state", "%s", tfdiags.Sentence(err))
		if errors.As(err, new(statefile.DamagedError)) {
			d.Detail += " To see what can be saved of it, run \"tofu state repair\"."
		}
		return nil, diags.Append(d)
	}
	rec, err := m.recover(ctx, present)
	if err != nil {
		return nil, diags.Append(tfdiags.Errorf("Failed to recover an interrupted run", "%s.", err))
	}
	snap := present.snapshot()
	if rec != nil {
		diags = rec.report()
		if rec.changed > 0 && !rec.foreign {
			snap.State, snap.Exists = rec.state, true
			snap.Serial, snap.Lineage = rec.serial, rec.header.Lineage
		}
		snap.Interrupted = rec.interrupted
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored, m.old, m.read = *present, rec, true
	if m.journal == nil { // a running operation knows better
		m.state = snap.State
	}
	return snap, diags
}

// load reads the snapshot in the store.
func (m *Manager) load(ctx context.Context) (*stored, error) {
	data, err := m.store.Get(ctx, m.workspace)
	if err != nil {
		return nil, err
	}
	out := &stored{state: states.New()}
	if _, ok := m.store.(backend.Swapper); ok {
		out.bytes = data
	}
	if len(data) == 0 {
		if data != nil {
			err = m.emptyIsWrong()
		}
		return out, err
	}
	if m.opts.Codec != nil {
		if data, out.migrate, err = m.opts.Codec.Decrypt(ctx, data); err != nil {
			return nil, err // which says what can't be decrypted
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

func (m *Manager) noWorkspaces() tfdiags.Diagnostics {
	return tfdiags.Diagnostics{tfdiags.Errorf("No such workspace", "This backend has the workspace \"default\" alone, so there can be none named %q. "+
		"Select the default one, or unset TF_WORKSPACE where that names another.", m.workspace)}
}

// emptyIsWrong tells whether an empty snapshot is a sign of loss. By itself it is no state: a first run of other programs that was
// killed leaves one. Beside something that only a state can have left behind, it was emptied by accident.
func (m *Manager) emptyIsWrong() error {
	filer, ok := m.store.(backend.Filer)
	if !ok {
		return nil
	}
	file := filer.File(m.workspace)
	for _, path := range append(m.erroredFiles(), file+".backup", m.journalPath()) {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return statefile.DamagedError{Err: fmt.Errorf("%s is empty, but %s shows that there was a state: put a copy of the state in its place or, "+
				"to start without one, move both files away", file, path)}
		}
	}
	return nil
}

// journalPath is where this state's journal lies.
func (m *Manager) journalPath() string {
	if filer, ok := m.store.(backend.Filer); ok {
		return filer.File(m.workspace) + ".journal"
	}
	// Workspaces are named as their backend likes: such a name may be too long for a file, or differ from another in case only.
	id := sha256.Sum256([]byte(m.opts.StoreID + "\x00" + m.workspace))
	return filepath.Join(m.opts.DataDir, "journal", hex.EncodeToString(id[:16]))
}

// openJournal makes this state's journal.
func (m *Manager) openJournal(fail func(error), first []*entry) (*journal, error) {
	path := m.journalPath()
	if _, beside := m.store.(backend.Filer); !beside {
		if err := staging.CheckBelow(m.opts.DataDir, filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("making the journal: %w: remove the link", err)
		}
	}
	return openJournal(path, m.opts.Codec, fail, first)
}

// erroredPath is where a state goes that its store doesn't take: a new file, since an earlier one may be all that is known of another
// workspace or run.
func (m *Manager) erroredPath() string {
	return free(func(n int) string {
		if n == 1 {
			return filepath.Join(m.opts.WorkDir, "errored.tfstate")
		}
		return filepath.Join(m.opts.WorkDir, fmt.Sprintf("errored.%d.tfstate", n))
	})
}

// free gives the first name that no file has. One that can't be looked at counts as such: who writes the file is told why.
func free(name func(n int) string) string {
	for n := 1; ; n++ {
		if _, err := os.Lstat(name(n)); err != nil {
			return name(n)
		}
	}
}

// erroredFiles are the files that erroredPath named before.
func (m *Manager) erroredFiles() []string {
	entries, _ := os.ReadDir(cmp.Or(m.opts.WorkDir, ".")) // one that can't be read has none for us
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "errored.") && strings.HasSuffix(e.Name(), ".tfstate") {
			paths = append(paths, filepath.Join(m.opts.WorkDir, e.Name()))
		}
	}
	return paths
}

// errNotRead is what operations give that need the state to have been read.
var errNotRead = errors.New("the state wasn't read before")
