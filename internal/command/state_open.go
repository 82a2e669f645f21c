package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"tofu/internal/backend"
	"tofu/internal/backend/local"
	"tofu/internal/staging"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// stateRequest says which state is to be opened and what for.
type stateRequest struct {
	vars  varFlags
	paths stateFlags
	lock  lockFlags
	// operation is what the lock's information calls it; "" for reading only, which takes no lock.
	operation string
	// timedBackup keeps what is replaced in a file with the time in its name.
	timedBackup bool
	// lateKeys evaluates the configuration of encryption only when there is something to decrypt. It is for reading.
	lateKeys bool
}

// openedState is a workspace's state, read and, for a change, locked.
type openedState struct {
	*statemgr.Manager
	snapshot *statemgr.Snapshot
	backup   string // where save puts the previous state by itself; "" when the store does that
	out      string // -state-out

	store     backend.Store
	workspace string
}

// State is the state as it was read; it must not be changed.
func (o *openedState) State() *states.State { return o.snapshot.State }

// use makes a state the one that was read, so that saving writes what is different in it.
func (o *openedState) use(st *states.State) {
	read := *o.snapshot
	read.State = st
	o.snapshot = &read
}

// exists tells whether there is a state file or snapshot at all.
func (o *openedState) exists() bool { return o.snapshot.Exists }

// create gives a workspace that isn't there yet its first snapshot, without objects, so that it is listed and can be selected from now
// on. The default one is always there, and stores that are Makers made theirs before it was locked.
func (o *openedState) create(ctx context.Context) tfdiags.Diagnostics {
	if _, made := o.store.(backend.Maker); made || o.exists() || o.workspace == backend.DefaultWorkspace {
		return nil
	}
	snapshot, diags := o.Create(ctx)
	if !diags.HasErrors() {
		o.snapshot = snapshot
	}
	return diags
}

// openState opens the state that a request names: a file, or that of the current workspace. The caller closes it unless there are
// errors.
func (a *App) openState(ctx context.Context, req stateRequest) (*openedState, tfdiags.Diagnostics) {
	p, diags := a.statePlace(ctx, &req)
	if diags.HasErrors() {
		return nil, diags
	}
	open, more := a.readState(ctx, p, req)
	return open, diags.Append(more)
}

// statePlace finds out where the state that a request names is kept.
func (a *App) statePlace(ctx context.Context, req *stateRequest) (*place, tfdiags.Diagnostics) {
	if req.paths.State != "" {
		config, diags := a.fileEncryption(ctx, req.vars)
		if diags.HasErrors() {
			return nil, diags
		}
		p := &place{store: a.fileStore(req), workspace: backend.DefaultWorkspace, paths: req.paths}
		if config.State() != nil {
			p.codec = config.State()
		}
		return p, nil
	}
	cfg, diags := a.loadRootModule(ctx, req.vars)
	if diags.HasErrors() {
		return nil, diags
	}
	return a.openPlace(ctx, cfg, *req) // what the configuration is warned of is no matter of who reads states
}

// fileStore is the store of a state file that was named.
func (a *App) fileStore(req *stateRequest) backend.Store {
	if req.timedBackup && req.paths.Backup == "" {
		req.paths.Backup = timedBackupName(req.paths.State)
	}
	return local.New(nil, &local.Options{State: req.paths.State, StateOut: req.paths.StateOut, Backup: req.paths.Backup})
}

// place is where a working directory's states are kept.
type place struct {
	settings  *backendSettings
	store     backend.Store
	workspace string
	codec     statemgr.Codec
	paths     stateFlags // what the command line says of files
}

// openPlace opens the backend that the working directory is initialized for.
func (a *App) openPlace(ctx context.Context, cfg *loaded, req stateRequest) (*place, tfdiags.Diagnostics) {
	settings, diags := a.currentBackend(cfg)
	if diags.HasErrors() {
		return nil, diags
	}
	workspace, err := a.workspace()
	if err != nil {
		return nil, diags.Append(err)
	}
	p, more := a.openSettings(ctx, cfg, settings, workspace, req)
	return p, diags.Append(more)
}

func (a *App) openSettings(ctx context.Context, cfg *loaded, settings *backendSettings, workspace string, req stateRequest) (*place, tfdiags.Diagnostics) {
	var codec statemgr.Codec = lateCodec{a, cfg}
	var diags tfdiags.Diagnostics
	if !req.lateKeys {
		if codec, diags = a.stateCodec(cfg); diags.HasErrors() {
			return nil, diags
		}
	}
	if req.timedBackup && req.paths.Backup == "" && settings.driver == local.Driver {
		store := local.New(localConfig(settings), nil)
		req.paths.Backup = timedBackupName(store.File(workspace))
	}
	store, more := settings.open(ctx, a, req.paths)
	return &place{settings: settings, store: store, workspace: workspace, codec: codec, paths: req.paths}, diags.Append(more)
}

func localConfig(s *backendSettings) *local.Config {
	config := local.Driver.Config()
	_ = backend.Decode(s.config, config, func(string) string { return "" }) // was decoded before without errors
	return config.(*local.Config)
}

// manager makes the state manager of a place's current workspace.
func (p *place) manager(a *App) *statemgr.Manager {
	interval, _ := a.persistInterval() // readState says what is wrong with it
	opts := &statemgr.Options{DataDir: a.DataDir, Log: a.Logs.Core, Interval: interval, Fail: func(error) { a.Interrupts.Add() },
		Hurry: a.Interrupts.Kill}
	if p.settings != nil {
		opts.StoreID = fmt.Sprintf("%s %x", p.settings.driver.Name, backendHash(p.settings.driver.Name, p.settings.config))
	}
	opts.Codec = p.codec
	return statemgr.Open(p.store, p.workspace, opts)
}

// persistInterval reads TF_STATE_PERSIST_INTERVAL, which can make the time between snapshots longer.
func (a *App) persistInterval() (time.Duration, tfdiags.Diagnostics) {
	const shortest = 20 * time.Second
	text := a.Env("TF_STATE_PERSIST_INTERVAL")
	if text == "" {
		return shortest, nil
	}
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return shortest, tfdiags.Diagnostics{tfdiags.Errorf("Invalid environment variable", "TF_STATE_PERSIST_INTERVAL has to be a number of seconds, and is %q.", text)}
	}
	return max(time.Duration(seconds)*time.Second, shortest), nil
}

// readState locks a place's state where it is to be changed, and reads it.
func (a *App) readState(ctx context.Context, p *place, req stateRequest) (*openedState, tfdiags.Diagnostics) {
	if _, diags := a.persistInterval(); diags.HasErrors() {
		return nil, diags
	}
	open := &openedState{Manager: p.manager(a), store: p.store, workspace: p.workspace, out: req.paths.StateOut}
	diags := a.lock(ctx, open.Manager, req.operation, req.lock)
	if diags.HasErrors() {
		return nil, diags
	}
	end := a.timings.Phase("state")
	snapshot, more := open.Read(ctx)
	end()
	diags = diags.Append(more)
	if diags.HasErrors() {
		return nil, diags.Append(open.close())
	}
	open.snapshot = snapshot
	if _, isLocal := p.store.(*local.Store); req.timedBackup && !isLocal {
		if open.backup = req.paths.Backup; open.backup == "" {
			open.backup = timedBackupName("terraform.tfstate")
		}
	}
	return open, diags
}

// lock locks a state, unless nothing is to be changed or no lock is wanted.
func (a *App) lock(ctx context.Context, m *statemgr.Manager, operation string, f lockFlags) tfdiags.Diagnostics {
	if operation == "" || !f.Lock {
		return nil
	}
	defer a.timings.Phase("state lock")()
	progress := func(w statemgr.Waiting) {
		if w.Elapsed < time.Second {
			a.Say("Waiting for the state lock, which somebody else holds...")
			return
		}
		a.Say("Still waiting for the state lock... [%s elapsed]", w.Elapsed.Round(time.Second))
	}
	if operation == operationPlan {
		return a.lockPlan(ctx, m, f.Timeout, progress)
	}
	return m.Lock(ctx, operation, f.Timeout, progress)
}

// save writes a changed state.
func (o *openedState) save(ctx context.Context, st *states.State) tfdiags.Diagnostics {
	if o.backup != "" {
		text, err := o.Encode(&statefile.File{Serial: o.snapshot.Serial, Lineage: o.snapshot.Lineage, State: o.snapshot.State})
		if err == nil {
			err = staging.WriteNamed(o.backup, text, 0o600)
		}
		if err != nil {
			return tfdiags.Diagnostics{tfdiags.Errorf("No backup could be made", "The state was not changed, because its backup could not be written: %s.", err)}
		}
		o.backup = ""
	}
	diags := o.Save(ctx, st)
	if o.out == "" || diags.HasErrors() {
		return diags
	}
	return diags.Append(o.copyOut(ctx, st))
}

// copyOut writes the state to the file of -state-out where saving it didn't, because it is the same as in the file that was read.
func (o *openedState) copyOut(ctx context.Context, st *states.State) error {
	if _, err := os.Lstat(o.out); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := o.Encode(&statefile.File{Serial: o.snapshot.Serial, Lineage: o.snapshot.Lineage, State: st})
	if err == nil {
		err = o.store.Put(ctx, o.workspace, text)
	}
	if err != nil {
		return fmt.Errorf("writing the state to %s: %w", o.out, err)
	}
	return nil
}

// close gives the lock back.
func (o *openedState) close() tfdiags.Diagnostics { return o.Unlock() }

// timedBackupName gives a name that isn't taken yet.
func timedBackupName(path string) string {
	for at := time.Now().Unix(); ; at++ {
		name := fmt.Sprintf("%s.%d.backup", path, at)
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}
