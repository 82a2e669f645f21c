package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"tofu/internal/atomicfile"
	"tofu/internal/backend"
	"tofu/internal/backend/local"
	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// StateRequest says which state to open, and what for.
type StateRequest struct {
	Vars  Variables
	Paths StatePaths
	Lock  LockOptions
	// Operation is the name of the operation in the lock information. If it is "", the state is
	// only read, and not locked.
	Operation string
	// TimedBackup adds the time to the name of the backup file.
	TimedBackup bool
	// OnlyOutputs reads only the outputs, if the store keeps them separately. After that, the state
	// can't be written.
	OnlyOutputs bool
	// LazyKeys evaluates the encryption settings only if there is something to decrypt. The state
	// must then only be read.
	LazyKeys bool
	// Moves says that the caller moves objects between states, and deals with records of moves.
	Moves bool
}

// OpenedState is the state of a workspace. It was read and, if it will be changed, locked.
type OpenedState struct {
	*statemgr.Manager
	Snapshot *statemgr.Snapshot
	backup   string // file for the previous state; "" for none, or if the store makes backups
	out      string // value of -state-out

	store     backend.Store
	workspace string
}

// State returns the state that was read. The caller must not change it.
func (o *OpenedState) State() *states.State { return o.Snapshot.State }

// Replace makes st the state that was read. After that, Store writes only the differences from st.
func (o *OpenedState) Replace(st *states.State) {
	read := *o.Snapshot
	read.State = st
	o.Snapshot = &read
}

// Exists reports whether there is a state file or snapshot.
func (o *OpenedState) Exists() bool { return o.Snapshot.Exists }

// CreateIfMissing writes an empty first snapshot if the workspace has none. The workspace can then
// be listed and selected. The default workspace always exists, and stores that implement
// backend.Maker create workspaces before they are locked; for these, CreateIfMissing does nothing.
func (o *OpenedState) CreateIfMissing(ctx context.Context, warn tfdiags.Sink) error {
	if _, made := o.store.(backend.Maker); made || o.Exists() || o.workspace == backend.DefaultWorkspace {
		return nil
	}
	snapshot, err := o.Create(ctx, warn)
	if err != nil {
		return err
	}
	o.Snapshot = snapshot
	return nil
}

// OpenState opens the requested state: a state file or the state of the current workspace. If there
// is no error, the caller must close the state.
func (s *Session) OpenState(ctx context.Context, req StateRequest) (*OpenedState, error) {
	p, err := s.LocateState(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.ReadState(ctx, p, req)
}

// LocateState returns the location of the requested state.
func (s *Session) LocateState(ctx context.Context, req StateRequest) (*Location, error) {
	if req.Paths.State != "" {
		config, err := s.FileEncryption(ctx, req.Vars)
		if err != nil {
			return nil, err
		}
		p := &Location{Store: fileStore(req), Workspace: backend.DefaultWorkspace, Paths: req.Paths}
		if config.State() != nil {
			p.codec = config.State()
		}
		return p, nil
	}
	cfg, err := s.LoadForState(ctx, req.Vars)
	if err != nil {
		return nil, err
	}
	return s.Locate(ctx, cfg, req)
}

// fileStore returns the store for a state file that the command line names.
func fileStore(req StateRequest) backend.Store {
	if req.TimedBackup && req.Paths.Backup == "" {
		req.Paths.Backup = TimedBackupName(req.Paths.State)
	}
	return local.New(nil, &local.Options{State: req.Paths.State, StateOut: req.Paths.StateOut,
		Backup: req.Paths.Backup})
}

// Location is the place where the states of a working directory are stored.
type Location struct {
	Settings  *BackendSettings
	Store     backend.Store
	Workspace string
	codec     statemgr.Codec
	Paths     StatePaths // path options on the command line
}

// Locate opens the backend for which the working directory is initialized.
func (s *Session) Locate(ctx context.Context, cfg *Config, req StateRequest) (*Location, error) {
	settings, err := s.CurrentBackend(ctx, cfg)
	if err != nil {
		return nil, err
	}
	workspace, err := s.Workspace()
	if err != nil {
		return nil, err
	}
	return s.OpenSettings(ctx, cfg, settings, workspace, req)
}

// OpenSettings opens the backend with the given settings.
func (s *Session) OpenSettings(
	ctx context.Context, cfg *Config, settings *BackendSettings, workspace string, req StateRequest,
) (*Location, error) {
	var codec statemgr.Codec = lazyCodec{&s.Encryption, cfg}
	if !req.LazyKeys {
		own, err := s.Encryption.StateCodec(cfg)
		if err != nil {
			return nil, err
		}
		codec = own
	}
	if req.TimedBackup && req.Paths.Backup == "" && settings.Driver == local.Driver {
		store := local.New(localConfig(settings), nil)
		req.Paths.Backup = TimedBackupName(store.File(workspace))
	}
	lease := s.Clients.Lease()
	s.leases = append(s.leases, lease)
	store, err := newStores(s).open(ctx, settings, req.Paths, lease)
	if err != nil {
		return nil, err
	}
	if only, ok := store.(backend.Undefaulted); ok && workspace == backend.DefaultWorkspace && only.Only() != "" {
		workspace = only.Only()
	}
	return &Location{Settings: settings, Store: store, Workspace: workspace, codec: codec, Paths: req.Paths}, nil
}

func localConfig(s *BackendSettings) *local.Config {
	config := local.Driver.Config()
	// Ignore the error: the block has already been decoded without errors.
	_ = blocks.Decode(s.Config, config, func(string) string { return "" }, tfdiags.Drop)
	return config.(*local.Config)
}

// Encrypted reports whether the state is stored encrypted.
func (p *Location) Encrypted(ctx context.Context) (bool, error) {
	data, err := p.Store.Get(ctx, p.Workspace)
	return encryption.IsEncrypted(data), err
}

// Exists reports whether the store has a state of the workspace.
func (p *Location) Exists(ctx context.Context) (bool, error) {
	data, err := p.Store.Get(ctx, p.Workspace)
	return data != nil, err
}

// Manager returns the state manager of the workspace at the location.
func (p *Location) Manager(s *Session) *statemgr.Manager {
	interval, _ := persistInterval(s.Env) // ReadState returns the error
	opts := &statemgr.Options{DataDir: s.DataDir, WorkDir: s.Base, Log: s.Logs.Core, Interval: interval,
		Fail:  s.Interrupts.Fail,
		Abort: s.Interrupts.Kill, Last: s.LastState}
	if p.Settings != nil {
		opts.StoreID = fmt.Sprintf("%s %x", p.Settings.Driver.Name, BackendHash(p.Settings.Driver.Name,
			p.Settings.Config))
	}
	opts.Codec = p.codec
	if store, ok := p.Store.(*local.Store); ok && p.codec != nil {
		store.Seal = func(snapshot []byte) ([]byte, error) {
			if encryption.IsEncrypted(snapshot) {
				return snapshot, nil
			}
			return p.codec.Encrypt(snapshot)
		}
	}
	return statemgr.Open(p.Store, p.Workspace, opts)
}

// persistInterval returns the minimum time between two snapshots during an apply.
// TF_STATE_PERSIST_INTERVAL can extend it.
func persistInterval(getenv func(string) string) (time.Duration, error) {
	const shortest = 20 * time.Second
	text := getenv("TF_STATE_PERSIST_INTERVAL")
	if text == "" {
		return shortest, nil
	}
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return shortest, tfdiags.Errorf("Invalid environment variable",
			"TF_STATE_PERSIST_INTERVAL must be a whole number of seconds, not %q.", text)
	}
	return max(time.Duration(seconds)*time.Second, shortest), nil
}

// ReadState reads the state at a location. If the state will be changed, it is locked first, and
// interrupted moves between it and the states of other root modules are finished.
func (s *Session) ReadState(ctx context.Context, p *Location, req StateRequest) (*OpenedState, error) {
	if req.Moves || s.Moves == nil {
		return s.read(ctx, p, req)
	}
	return s.readSettled(ctx, p, req)
}

func (s *Session) read(ctx context.Context, p *Location, req StateRequest) (*OpenedState, error) {
	if _, err := persistInterval(s.Env); err != nil {
		return nil, err
	}
	open := &OpenedState{Manager: p.Manager(s), store: p.Store, workspace: p.Workspace, out: req.Paths.StateOut}
	if err := s.Lock(ctx, open.Manager, req.Operation, req.Lock); err != nil {
		return nil, err
	}
	read := open.Read
	if req.OnlyOutputs {
		read = open.ReadOutputs
	}
	end := s.Timings.Phase("state")
	snapshot, err := read(ctx, s.Warnings.Add)
	end()
	if err != nil {
		return nil, tfdiags.Join(err, open.Close())
	}
	open.Snapshot = snapshot
	if p.codec != nil && req.Operation != OperationRead {
		s.sealParts(ctx, p)
	}
	if snapshot.Recovered && req.Operation != OperationRead {
		s.endKilledRun(ctx, p, snapshot)
	}
	s.unsearched = append(s.unsearched, snapshot.State)
	if _, isLocal := p.Store.(*local.Store); req.TimedBackup && !isLocal && req.Paths.Backup != "-" {
		open.backup = req.Paths.Backup
		if open.backup == "" {
			open.backup = TimedBackupName("terraform.tfstate")
		}
	}
	return open, nil
}

// Lock locks a state. It does nothing if the state is only read or if locking is disabled.
func (s *Session) Lock(ctx context.Context, m *statemgr.Manager, operation string, f LockOptions) error {
	if operation == "" || !f.Lock {
		return nil
	}
	defer s.Timings.Phase("state lock")()
	waiting := func(w statemgr.Waiting) { showWaiting(s.Terminal, w) }
	if operation == OperationPlan {
		return lockPlan(ctx, m, f.Timeout, waiting)
	}
	return m.Lock(ctx, operation, f.Timeout, waiting)
}

// lockPlan locks the state for a plan. Plans only read the state, so several plans can run at the
// same time.
func lockPlan(
	ctx context.Context, m *statemgr.Manager, timeout time.Duration, waiting func(statemgr.Waiting),
) error {
	err := m.Lock(ctx, OperationPlan, 0, nil)
	for _, d := range tfdiags.FromError(err) {
		if held, ok := d.Extra.(*backend.LockInfo); ok && held != nil && held.Operation == OperationPlan {
			return nil
		}
	}
	if err != nil && timeout > 0 {
		err = m.Lock(ctx, OperationPlan, timeout, waiting)
	}
	return err
}

// showWaiting shows that a command waits for a lock.
func showWaiting(t *terminal.Terminal, w statemgr.Waiting) {
	switch {
	case t.Live.Visible():
		t.Live.Note(waitingFor(w))
	case w.Elapsed < time.Second:
		t.Say("Waiting for the state lock, which another process holds...")
	default:
		t.Say("Still waiting for the state lock... [%s elapsed]", w.Elapsed.Round(time.Second))
	}
}

// waitingFor returns a text that says who holds a lock and since when.
func waitingFor(w statemgr.Waiting) string {
	text := "waiting for the state lock, which another process holds"
	if w.Holder != nil && w.Holder.Who != "" {
		text = "waiting for the state lock, which " + w.Holder.Who + " holds"
		if !w.Holder.Created.IsZero() {
			text += " since " + w.Holder.Created.Local().Format("15:04:05")
		}
	}
	return text
}

// Store saves a changed state.
func (o *OpenedState) Store(ctx context.Context, st *states.State) error {
	if o.backup != "" {
		text, err := o.Encode(o.Snapshot.File())
		if err == nil {
			err = atomicfile.WriteNamed(o.backup, text, 0o600)
		}
		if err != nil {
			return tfdiags.Errorf("No backup could be made",
				"The state was not changed, because its backup could not be written: %s.", err)
		}
		o.backup = ""
	}
	err := o.Save(ctx, st)
	if o.out == "" || err != nil {
		return err
	}
	return o.copyOut(ctx, st)
}

// copyOut writes the state to the file of -state-out, unless Store has already done so. The lock may
// have created an empty file.
func (o *OpenedState) copyOut(ctx context.Context, st *states.State) error {
	info, err := os.Stat(o.out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > 0 {
		return nil
	}
	file := o.Snapshot.File()
	file.State = st
	text, err := o.Encode(file)
	if err == nil {
		err = o.store.Put(ctx, o.workspace, text)
	}
	if err != nil {
		return fmt.Errorf("writing the state to %s: %w", o.out, err)
	}
	return nil
}

// Overwrite replaces the state, regardless of the lineage and the serial of the new state.
func (o *OpenedState) Overwrite(ctx context.Context, file *statefile.File) error {
	const force = true
	return o.Push(ctx, file, force)
}

// Close releases the lock.
func (o *OpenedState) Close() error { return o.Unlock() }

// Release releases the lock of a state. If that fails, the command fails at its end with the error,
// which Unreleased returns.
func (s *Session) Release(state interface{ Unlock() error }) {
	s.unreleased = s.unreleased.AppendError(state.Unlock())
}

// Unreleased returns an error for the locks that Release could not release.
func (s *Session) Unreleased() error { return s.unreleased.Err() }

// TimedBackupName returns an unused file name for a backup of path. The name contains the time.
func TimedBackupName(path string) string {
	for at := time.Now().Unix(); ; at++ {
		name := fmt.Sprintf("%s.%d.backup", path, at)
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}

// LockOptions say whether to lock a state, and how long to wait for the lock.
type LockOptions struct {
	Lock    bool
	Timeout time.Duration
}

// StatePaths holds the path options of the local backend.
type StatePaths struct{ State, StateOut, Backup string }

// Reencrypt encrypts the parts of the state with outdated encryption again, and returns the number
// of these parts.
func (p *Location) Reencrypt(ctx context.Context) (int, error) {
	ledger, ok := p.Store.(statemgr.Ledger)
	switch {
	case !ok:
		return 0, tfdiags.Errorf("The state is encrypted as a whole",
			"Only the backend \"postgres\" encrypts the parts of a state one by one. With other backends, each "+
				"command that writes the state encrypts it as a whole with the configured method, if there is one.")
	case p.codec == nil:
		return 0, tfdiags.Errorf("The state has no encryption method", "Nothing says how to encrypt the state: add an "+
			"encryption block with a method for it. To remove the encryption, set the method \"unencrypted\" with the "+
			"current one as its fallback.")
	}
	written, err := ledger.Reencrypt(ctx, p.Workspace, p.codec)
	if err != nil {
		done := ""
		if written > 0 {
			done = fmt.Sprintf(" Before that, the encryption of %s was updated.", ui.Count(written, "part"))
		}
		return written, tfdiags.Errorf("Failed to encrypt the state again",
			"%s%s Solve the problem and run the command again.", tfdiags.Sentence(err), done)
	}
	return written, nil
}
