package statemgr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// parts is the destination in a ledger, which keeps the parts of a state one by one. It writes only
// what changed, as a run that claims what it has read and what it writes.
type parts struct {
	*workspace
	ledger Ledger
	lock   *lock // names the run, and says how long to wait for the claims of other runs

	writing sync.Mutex // serializes everything except the recording of steps

	mu      sync.Mutex // guards the following fields; never held during I/O
	content stored
	// kept has the configurations of providers that the ledger has, as far as this process knows.
	kept     map[addrs.ProviderInstance]*states.ProviderConfig
	run      LedgerRun       // the run of this process; nil until it is needed
	recorder *ledgerRecorder // records the operation in progress; nil if none exists
}

// read implements destination.
func (p *parts) read(ctx context.Context, warn tfdiags.Sink) (*Snapshot, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	in, err := p.ledger.LoadState(ctx, p.name, p.opts.Codec)
	if err != nil {
		return nil, loadFailed(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.content = stored{exists: in.Exists, serial: in.Serial, lineage: in.Lineage, version: in.Version, state: in.State,
		revision: in.Revision}
	p.kept = in.State.KnownProviderConfigs()
	snap := p.content.snapshot()
	if in.Outdated {
		warn(tfdiags.Warningf("Outdated encryption",
			"Some parts of the state are not encrypted with the current method and key, so the fallback is still "+
				"needed. A part is encrypted again when it changes. To encrypt all of them now, run \"tofu state "+
				"reencrypt\"."))
	}
	var all, earlier []Operation
	for _, lost := range in.Lost {
		all = append(all, lost.Steps...)
		if lost.Done {
			earlier = append(earlier, lost.Steps...)
			continue
		}
		rec := recovery{header: header{Who: lost.Who}, interrupted: lost.Steps}
		_, _ = fmt.Sscanf(lost.Process, "process %d", &rec.header.PID) // only for the message
		rec.report(warn)
	}
	p.warnUnsaved(ctx, snap, &p.content, warn)
	reportSteps(warn, earlierSteps, mergeSteps(nil, earlier))
	p.doubts.set(all)
	snap.Interrupted = p.doubts.list()
	return snap, nil
}

// known returns the last known content of the ledger.
func (p *parts) known() stored {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.content
}

// ownRun returns the run of this process. The first call creates it.
func (p *parts) ownRun() LedgerRun {
	info := p.lock.run()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		p.run = p.ledger.NewRun(p.name, p.opts.Codec, info)
	}
	return p.run
}

// newLineage returns the lineage of the state. A state without one gets a new lineage.
func (p *parts) newLineage() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.content.lineage == "" {
		p.content.lineage = uuid.NewString()
	}
	return p.content.lineage
}

// create implements destination.
func (p *parts) create(ctx context.Context) (*Snapshot, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	err := p.write(ctx, &Change{Replaces: true, Serial: 1}, states.New())
	if errors.As(err, new(*ChangedError)) {
		err = backend.ErrChanged
	}
	content := p.known()
	return content.snapshot(), err
}

// begin implements destination. It claims what the plan has read and what it writes.
func (p *parts) begin(ctx context.Context, start *states.State, run *Run) (recorder, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	end := start
	if run.State != nil {
		end = run.State
	}
	footprint := run.Footprint
	if footprint == nil {
		return nil, errors.New("the plan does not record what it has read, so it can't be applied with this backend: " +
			"create a new plan")
	}
	own := p.ownRun()
	claim := func() error { return own.Claim(ctx, footprint) }
	if err := p.lock.waiting().retry(ctx, claim); err != nil {
		return nil, writeFailed(err)
	}
	writes := make(map[addrs.AbsInstance]bool, len(footprint.Writes))
	for _, w := range footprint.Writes {
		writes[w.Addr] = true
	}
	change := &Change{Base: footprint.Revision}
	for _, o := range objectChanges(start, end) {
		if writes[o.Addr] { // any other difference is a change that another run made after the plan
			change.Objects = append(change.Objects, o)
		}
	}
	change.Providers = neededProviders(p.keptConfigs(), end, change.Objects)
	moved := p.doubts.moved(p.doubts.list())
	change.InDoubt, change.Settled = pointers(moved), p.doubts.recorded(moved)
	if !change.Empty() || len(moved) > 0 {
		if err := p.write(ctx, change, p.known().state); err != nil {
			return nil, writeFailed(err)
		}
	}
	base := end.Clone()
	for _, name := range footprint.Outputs { // a refresh has already set them in end; they are written at the end
		base.SetOutput(name, start.Output(name))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.content.revision = footprint.Revision
	p.recorder = &ledgerRecorder{to: p, run: own, revision: footprint.Revision, first: newFirstChange(p.workspace, run),
		base: base, steps: map[ObjectID]recordedStep{}, provided: map[ObjectID]bool{}, sent: map[addrs.ProviderInstance]bool{}}
	return p.recorder, nil
}

// write writes a change. Afterwards, this process assumes that the ledger contains the given state.
// The caller holds p.writing.
func (p *parts) write(ctx context.Context, change *Change, state *states.State) error {
	if change.Lineage == "" {
		change.Lineage = p.newLineage()
	}
	run := p.ownRun()
	var serial uint64
	err := p.lock.waiting().retry(ctx, func() (err error) {
		serial, _, err = run.Write(ctx, func() *Change { return change })
		return err
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.content.exists, p.content.serial, p.content.lineage = true, serial, change.Lineage
	p.content.state = state
	p.keep(change.Providers)
	return nil
}

// keep notes which configurations of providers the ledger has after a change. The caller holds p.mu.
func (p *parts) keep(changes []ProviderChange) {
	if p.kept == nil && len(changes) > 0 {
		p.kept = make(map[addrs.ProviderInstance]*states.ProviderConfig)
	}
	for _, c := range changes {
		if c.Config == nil {
			delete(p.kept, c.Provider)
		} else {
			p.kept[c.Provider] = c.Config
		}
	}
}

// keptConfigs returns a copy of p.kept.
func (p *parts) keptConfigs() map[addrs.ProviderInstance]*states.ProviderConfig {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.kept)
}

// save implements destination. It writes what differs from the recorded state.
func (p *parts) save(ctx context.Context, before, final *states.State) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	content, r := p.content, p.recorder
	p.mu.Unlock()
	base := content.state
	if r != nil {
		base = r.recorded()
	}
	change := Difference(base, final)
	change.Base, change.Providers = content.revision, ProviderChanges(p.keptConfigs(), final, change.Objects)
	if r != nil {
		r.ofProviders(change)
	}
	if !content.exists && change.Empty() {
		change.Replaces, change.Serial = true, content.serial+1
	}
	left, settled := p.doubts.split(before, final)
	moved := p.doubts.moved(left)
	change.InDoubt, change.Settled = pointers(moved), p.doubts.recorded(slices.Concat(settled, moved))
	if r == nil { // an earlier save of this run may have recorded them
		change.Ended = change.Settled
	}
	if !change.Empty() || len(change.Settled) > 0 {
		err := p.writeFinal(ctx, change, final)
		switch {
		case err == nil:
		case r == nil && (errors.As(err, new(*backend.LockedError)) || errors.As(err, new(*ChangedError))):
			return ExplainConflict(err) // no provider was called, so there is nothing to save elsewhere
		default:
			return p.saveElsewhere(final, change, err)
		}
	}
	if r != nil {
		left = mergeSteps(left, r.open())
	}
	p.doubts.set(left)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.content.state, p.recorder = final, nil
	return nil
}

// writeFinal writes the change at the end of an operation, whose cancellation it ignores. It
// doesn't retry, because the ledger does.
func (p *parts) writeFinal(ctx context.Context, change *Change, final *states.State) error {
	ctx, end := p.withDeadline(context.WithoutCancel(ctx))
	defer end()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return p.write(ctx, change, final)
}

// saveElsewhere saves the state to a local file, with the ID of the run whose change the ledger
// lacks, and ends the run. It returns an error that says where the state is.
func (p *parts) saveElsewhere(final *states.State, change *Change, cause error) error {
	content := p.known()
	var provided []string
	for _, o := range change.Objects {
		if o.ByProvider && o.Deposed == "" {
			provided = append(provided, o.Addr.String())
		}
	}
	err := p.emergency(nil, &statefile.File{
		Serial: content.serial + 1, Lineage: content.lineage, State: final,
		Unsaved: &statefile.UnsavedRun{ID: p.lock.run().ID, Revision: content.revision, Provided: provided},
	}, nil, cause)
	if ending := p.abandon(); ending != nil { // the failure of the ledger that the caller reports
		p.log.Warn("could not end the run; its claims end with its lease", "error", ending)
	}
	return err
}

// push implements destination.
func (p *parts) push(ctx context.Context, f *statefile.File, force bool) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	content := p.known()
	if f.Unsaved != nil && !force && (f.Lineage == content.lineage || content.lineage == "") {
		return p.pushUnsaved(ctx, f)
	}
	next, unchanged, err := content.successor(f, force)
	if err != nil || unchanged {
		return err
	}
	pushed, err := stepsOf(f)
	if err != nil {
		return err
	}
	change := Difference(content.state, next.state)
	change.Base, change.Replaces, change.Serial, change.Lineage = content.revision, true, next.serial, next.lineage
	change.Providers = ProviderChanges(p.keptConfigs(), next.state, change.Objects)
	_, settled := p.doubts.split(content.state, next.state)
	change.Settled = p.doubts.recorded(settled)
	change.InDoubt = pointers(pushed)
	if err := p.write(ctx, change, next.state); err != nil {
		return writeFailed(err)
	}
	return nil
}

// writeFailed explains why a run could not begin, or why a change was not written.
func writeFailed(err error) error {
	var d tfdiags.Diagnostic
	if explained := ExplainConflict(err); errors.As(explained, &d) {
		return explained
	}
	return tfdiags.Errorf("Failed to write state", "%s.", err)
}

// pushUnsaved writes the changes that a run has made but could not store, in the name of that run.
// It keeps the changes that other runs have made since. It returns an error if they affect the same
// parts.
func (p *parts) pushUnsaved(ctx context.Context, f *statefile.File) error {
	base, present := states.New(), p.known().state
	if historian, ok := p.ledger.(Historian); ok && f.Unsaved.Revision > 0 {
		loaded, err := historian.LoadStateAt(ctx, p.name, &Moment{Revision: f.Unsaved.Revision}, p.opts.Codec)
		if err != nil {
			return loadFailed(err)
		}
		base = loaded.State
	}
	missing := make(map[ObjectID]bool) // what the store doesn't have
	for _, o := range objectChanges(present, f.State) {
		missing[o.ObjectID] = true
	}
	change := Difference(base, f.State)
	change.NewChecks, change.Checks = false, nil // the history has no check results
	change.Base, change.Lineage = f.Unsaved.Revision, f.Lineage
	change.Objects = slices.DeleteFunc(change.Objects, func(o ObjectChange) bool { return !missing[o.ObjectID] })
	change.Providers = neededProviders(p.keptConfigs(), f.State, change.Objects)
	provided := make(map[string]bool, len(f.Unsaved.Provided))
	for _, addr := range f.Unsaved.Provided {
		provided[addr] = true
	}
	for i := range change.Objects {
		o := &change.Objects[i]
		o.ByProvider = o.Deposed == "" && provided[o.Addr.String()]
		change.Ended = append(change.Ended, o.ObjectID)
	}
	for name := range change.Outputs {
		if statefile.SameOutput(present.Output(name), f.State.Output(name)) {
			delete(change.Outputs, name)
		}
	}
	if change.Empty() {
		return nil
	}
	info := NewLockInfo("state-push")
	info.ID = f.Unsaved.ID
	p.lock.setRun(info, p.lock.waiting())
	p.mu.Lock()
	p.run = nil
	p.mu.Unlock()
	err := p.write(ctx, change, f.State)
	var changed *ChangedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &changed):
		return pushRefused("The file has changes of a run that could not store them, and since then %s.", changed)
	}
	return writeFailed(err)
}

// abandon implements destination. It ends the run in the ledger, which ends its claims.
func (p *parts) abandon() error {
	p.mu.Lock()
	run := p.run
	p.recorder = nil
	p.mu.Unlock()
	if run == nil {
		return nil
	}
	return run.Close(context.Background())
}
