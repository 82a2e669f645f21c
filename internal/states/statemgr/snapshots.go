package statemgr

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"tofu/internal/backend"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

// snapshots is the destination in a store of whole states. A journal records operations between two
// snapshots.
type snapshots struct {
	*workspace

	recorder atomic.Pointer[journalRecorder] // records the operation in progress; set while mu is held

	mu      sync.Mutex // serializes access to the store and guards the following fields
	content stored
	unclear []attempt          // writes that failed since the last successful one
	killed  *recovery          // the journal of a killed run until a snapshot includes it
	encoder *statefile.Encoder // encodes the snapshots of the operation; nil if none exists
}

// attempt is a write that may have happened although it failed, because its response was lost.
type attempt struct {
	sum     [sha256.Size]byte // checksum of the written data; encryption makes it unique for each write
	content stored
}

// read implements destination. It replays the journal of a killed run.
func (s *snapshots) read(ctx context.Context, warn tfdiags.Sink) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	present, err := s.load(ctx)
	if errors.Is(err, backend.ErrNoWorkspaces) {
		return nil, s.noWorkspaces()
	}
	if err != nil {
		return nil, loadFailed(err)
	}
	if present.empty {
		s.warnEmpty(ctx, warn)
	}
	rec, err := s.recover(ctx, present, warn)
	if err != nil {
		return nil, tfdiags.Errorf("Failed to recover an interrupted run", "%s.", err)
	}
	snap := present.snapshot()
	s.doubts.set(present.doubts)
	if rec != nil {
		rec.report(warn)
		snap.Recovered = !rec.diverged
		if rec.changed > 0 && !rec.diverged {
			snap.State, snap.Exists = rec.state, true
			snap.Serial, snap.Lineage = rec.serial, rec.header.Lineage
		}
	}
	s.warnUnsaved(ctx, snap, present, warn)
	if present.migrate {
		s.warnClear(warn)
	}
	s.reportEarlier(rec, present.state, snap.State, warn)
	snap.Interrupted = s.doubts.list()
	s.content, s.killed = *present, rec
	return snap, nil
}

// load reads the snapshot from the store.
func (s *snapshots) load(ctx context.Context) (*stored, error) {
	out := &stored{state: states.New()}
	data, err := s.get(ctx, out)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		if data != nil {
			out.empty = true
			err = s.checkEmpty(ctx)
		}
		return out, err
	}
	if s.opts.Codec != nil {
		data, out.migrate, err = s.opts.Codec.Decrypt(ctx, data)
		if err != nil {
			return nil, err // the error names what can't be decrypted
		}
	}
	f, err := s.opts.Last.Parse(data)
	if err != nil {
		if file, ok := s.file(); ok {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return nil, err
	}
	out.exists, out.serial, out.lineage, out.version, out.state = true, f.Serial, f.Lineage, f.TerraformVersion, f.State
	out.doubts, err = stepsOf(f)
	return out, err
}

// get returns the stored data of the snapshot, and sets out.written to its version.
func (s *snapshots) get(ctx context.Context, out *stored) (data []byte, err error) {
	if swapper, ok := s.store.(backend.Swapper); ok {
		data, out.written, err = swapper.GetVersion(ctx, s.name)
		return data, err
	}
	return s.store.Get(ctx, s.name)
}

// checkEmpty returns an error if the file of a local state is empty, but there was a state: a
// backup, a journal or an errored.tfstate exists. An empty file alone is not an error, because
// other programs leave one if their first run is killed.
func (s *snapshots) checkEmpty(ctx context.Context) error {
	file, ok := s.file()
	if !ok {
		return nil
	}
	for _, path := range append(s.erroredFiles(), file+".backup", s.journalPath()) {
		info, err := os.Stat(path)
		journal := path == s.journalPath()
		if err == nil && (journal && !s.firstRun(ctx) || !journal && info.Size() > 0) {
			return statefile.DamagedError{Err: fmt.Errorf("%s is empty, but %s shows that there was a state: "+
				"replace the empty file with a copy of the state or, to start without a state, move both files away", file, path)}
		}
	}
	return nil
}

// firstRun reports whether the journal belongs to a run that began without a state. Such a run
// leaves an empty file, which it has locked, if it is killed before its first snapshot. The journal
// has everything that it did.
func (s *snapshots) firstRun(ctx context.Context) bool {
	entries, _, err := readJournal(ctx, s.journalPath(), s.opts.Codec)
	return err == nil && len(entries) > 0 && entries[0].Header != nil && !entries[0].Header.Exists
}

// warnEmpty warns about an empty file of a local state, unless the journal says why it is empty.
func (s *snapshots) warnEmpty(ctx context.Context, warn tfdiags.Sink) {
	file, ok := s.file()
	if !ok || s.firstRun(ctx) {
		return
	}
	warn(tfdiags.Warningf("The state file is empty", "%s has no content, so there is no state: everything in the "+
		"configuration would be created. Programs that are killed during their first run leave such a file. If there "+
		"was a state, restore the file before you apply.", file))
}

// create implements destination.
func (s *snapshots) create(ctx context.Context) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.write(ctx, states.New(), nil)
	return s.content.snapshot(), err
}

// begin implements destination. When it returns, the store has the changes of a killed run. The new
// journal says which steps are in doubt, until a snapshot lists them.
func (s *snapshots) begin(ctx context.Context, start *states.State, run *Run) (recorder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkMissing(); err != nil {
		return nil, err
	}
	if err := s.commitKilled(ctx); err != nil {
		return nil, err
	}
	if s.content.lineage == "" {
		s.content.lineage = uuid.NewString()
	}
	carried := s.doubts.entries(s.content.doubts)
	first := append([]*entry{s.newBeginEntry()}, carried...)
	if run.State != nil {
		moves, err := moveEntries(objectChanges(start, run.State))
		if err != nil {
			return nil, err
		}
		first, start = append(first, moves...), run.State
	}
	j, err := s.openJournal(s.opts.Fail, first)
	if err != nil {
		return nil, fmt.Errorf("preparing the journal: %w", err)
	}
	j.carries = len(carried) > 0
	s.encoder = statefile.NewEncoder()
	r := newJournalRecorder(s, j, start, newFirstChange(s.workspace, run))
	s.recorder.Store(r)
	return r, nil
}

// newBeginEntry returns the first entry of a journal, which identifies the snapshot that the
// journal continues.
func (s *snapshots) newBeginEntry() *entry {
	return &entry{Kind: beginEntry, Serial: s.content.serial, Header: &header{
		Journal:   journalVersion,
		Program:   version.Build(),
		Who:       userAtHost(),
		PID:       os.Getpid(),
		Process:   processInfo(os.Getpid()),
		Workspace: s.name,
		Lineage:   s.content.lineage,
		Exists:    s.content.exists,
	}}
}

// commitKilled writes the changes of a killed run to the store, after which its journal may be
// removed. If the state in the store is not from that run, commitKilled only sets the journal aside.
func (s *snapshots) commitKilled(ctx context.Context) error {
	rec := s.killed
	if rec == nil {
		return nil
	}
	if rec.diverged {
		s.killed = nil
		return setAside(rec.path)
	}
	if rec.changed > 0 {
		if s.content.lineage == "" {
			s.content.lineage = rec.header.Lineage
		}
		if err := s.write(ctx, rec.state, s.content.doubts); err != nil {
			return fmt.Errorf("saving the changes of an interrupted run: %w", err)
		}
	}
	s.killed = nil
	return nil
}

// moveEntries returns a journal entry for each change of an object.
func moveEntries(changes []ObjectChange) ([]*entry, error) {
	out := make([]*entry, len(changes))
	for i := range changes {
		var err error
		out[i], err = newStoreEntry(&changes[i])
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// write writes a snapshot to the store with the next serial and a list of steps in doubt. If the only change in the store is an
// earlier write of this manager whose response was lost, it continues after that write. It then
// writes nothing if that write had the same state. The caller holds s.mu.
func (s *snapshots) write(ctx context.Context, state *states.State, doubts []Operation) error {
	err := s.writeNext(ctx, state, doubts)
	if !errors.Is(err, backend.ErrChanged) || !s.adopt(ctx) {
		return err
	}
	if s.content.has(state, doubts) {
		return nil
	}
	return s.writeNext(ctx, state, doubts)
}

// adopt reports whether the store has the result of an unclear write. If so, later writes continue
// from it.
func (s *snapshots) adopt(ctx context.Context) bool {
	swapper, ok := s.store.(backend.Swapper)
	if !ok || len(s.unclear) == 0 {
		return false
	}
	data, version, err := swapper.GetVersion(ctx, s.name)
	if err != nil {
		return false
	}
	sum := sha256.Sum256(data)
	for _, a := range s.unclear {
		if a.sum == sum {
			s.content, s.unclear = a.content, nil
			s.content.written = version
			return true
		}
	}
	return false
}

// writeNext writes a snapshot with the next serial. The journal names the serial before the store
// has it. So if the run is killed in between, its journal still belongs to the state in the store.
func (s *snapshots) writeNext(ctx context.Context, state *states.State, doubts []Operation) error {
	next := s.content
	next.doubts = doubts
	next.state, next.serial, next.exists, next.migrate = state, s.content.serial+1, true, false
	if next.lineage == "" {
		next.lineage = uuid.NewString()
	}
	if r := s.recorder.Load(); r != nil {
		r.journal.append(&entry{Kind: snapshotEntry, Serial: next.serial})
	}
	return s.put(ctx, &next)
}

// put encodes and encrypts a snapshot and replaces the one in the store.
func (s *snapshots) put(ctx context.Context, next *stored) error {
	data, err := s.encode(s.encoder, next.file())
	if err != nil {
		return err
	}
	if swapper, ok := s.store.(backend.Swapper); ok {
		next.written, err = swapper.Swap(ctx, s.name, s.content.written, data)
		if err != nil {
			s.unclear = append(s.unclear, attempt{sha256.Sum256(data), *next})
			return err
		}
	} else if err := s.store.Put(ctx, s.name, data); err != nil {
		return err
	}
	s.content, s.unclear = *next, nil
	return nil
}

// save implements destination.
func (s *snapshots) save(ctx context.Context, before, final *states.State) error {
	s.stopWriting() // no snapshot may follow the final one
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkMissing(); err != nil {
		return err
	}
	doubts, _ := s.doubts.split(before, final)
	if r := s.recorder.Load(); r != nil {
		doubts = mergeSteps(doubts, r.end())
	}
	if s.content.exists && !s.content.migrate && s.content.has(final, doubts) {
		s.committed()
		return nil
	}
	if s.killed != nil && s.killed.changed > 0 && !s.killed.diverged {
		// Read returned the recovered state with the stored serial plus one, so the final state has
		// the stored serial plus two.
		s.content.serial = s.killed.serial
		if s.content.lineage == "" {
			s.content.lineage = s.killed.header.Lineage
		}
	}
	write := func(ctx context.Context) error { return s.write(ctx, final, doubts) }
	err := s.persist(context.WithoutCancel(ctx), write)
	if err == nil {
		s.committed()
		return nil
	}
	var j *journal
	if r := s.recorder.Load(); r != nil {
		j = r.journal
	}
	unsaved := stored{serial: s.content.serial + 1, lineage: s.content.lineage, state: final, doubts: doubts}
	err = s.emergency(s.encoder, unsaved.file(), j, err)
	s.endRecording()
	return err
}

// push implements destination.
func (s *snapshots) push(ctx context.Context, f *statefile.File, force bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, unchanged, err := s.content.successor(f, force)
	if err != nil {
		return err
	}
	pushed, err := stepsOf(f)
	if err != nil {
		return err
	}
	// Nothing says that the objects of the present list don't exist.
	doubts, _ := s.doubts.split(s.content.state, f.State)
	next.doubts = mergeSteps(pushed, doubts)
	if !unchanged || !sameSteps(next.doubts, s.content.doubts) {
		if err := s.put(ctx, next); err != nil {
			return tfdiags.Errorf("Failed to write state", "%s.", err)
		}
	}
	s.committed()
	return nil
}

// committed removes the journals after the store has all their contents.
func (s *snapshots) committed() {
	if r := s.recorder.Swap(nil); r != nil {
		r.end()
		r.journal.discard()
	}
	s.doubts.set(s.content.doubts)
	killed := s.killed
	s.killed, s.encoder = nil, nil
	if killed == nil {
		return
	}
	var err error
	if live, _ := inUse(killed.path, s.opts.Codec); live {
		return // the path now has the journal of another run
	}
	if killed.diverged {
		err = setAside(killed.path)
	} else {
		err = os.Remove(killed.path)
	}
	if err != nil {
		s.log.Warn("could not remove the journal of an interrupted run", "path", killed.path, "error", err)
	}
}

// abandon implements destination.
func (s *snapshots) abandon() error {
	s.stopWriting()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endRecording()
	return nil
}

// stopWriting stops the snapshots of the operation in progress, if there is one, and waits for a
// snapshot that is being written.
func (s *snapshots) stopWriting() {
	if r := s.recorder.Load(); r != nil {
		r.stopWriting()
	}
}

// endRecording ends the recording of the operation, if one is in progress. It removes a journal
// without entries and keeps any other for the next command.
func (s *snapshots) endRecording() {
	r := s.recorder.Swap(nil)
	if r == nil {
		return
	}
	s.encoder = nil
	r.end()
	if j := r.journal; j.entries == 0 && j.err == nil && !j.carries {
		j.discard()
	} else {
		j.close()
	}
}
