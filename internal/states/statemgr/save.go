package statemgr

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"tofu/internal/atomicfile"
	"tofu/internal/backend"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// writeTimeout limits one attempt to write the state, including retries of the driver.
const writeTimeout = 5 * time.Minute

// abortTimeout limits all attempts together after an abort.
const abortTimeout = 10 * time.Second

// retryDelays are the delays between attempts to write to a remote store.
var retryDelays = []time.Duration{time.Second, 3 * time.Second}

// write writes a snapshot to the store with the next serial. If the store has changed, but only by
// an earlier write of this manager whose response was lost, it writes after that one, unless that
// has the same state. The caller holds m.writing.
func (m *Manager) write(ctx context.Context, state *states.State) error {
	err := m.writeNext(ctx, state)
	if !errors.Is(err, backend.ErrChanged) || !m.adopt(ctx) {
		return err
	}
	if statefile.Equal(state, m.stored.state) {
		return nil
	}
	return m.writeNext(ctx, state)
}

// adopt reports whether the store has the text of an unclear write, and continues from it.
func (m *Manager) adopt(ctx context.Context) bool {
	swapper, ok := m.store.(backend.Swapper)
	if !ok || len(m.unclear) == 0 {
		return false
	}
	data, version, err := swapper.GetVersion(ctx, m.workspace)
	if err != nil {
		return false
	}
	sum := sha256.Sum256(data)
	for _, a := range m.unclear {
		if a.sum == sum {
			m.stored, m.unclear = a.content, nil
			m.stored.written = version
			return true
		}
	}
	return false
}

func (m *Manager) writeNext(ctx context.Context, state *states.State) error {
	next := m.stored
	next.state, next.serial, next.exists, next.migrate = state, m.stored.serial+1, true, false
	if next.lineage == "" {
		next.lineage = uuid.NewString()
	}
	if j := m.running(); j != nil {
		j.append(&entry{Kind: snapshotEntry, Serial: next.serial})
	}
	return m.put(ctx, &next)
}

// put encodes and encrypts a snapshot and replaces the one in the store.
func (m *Manager) put(ctx context.Context, next *stored) error {
	data, err := m.encode(next)
	if err != nil {
		return err
	}
	if swapper, ok := m.store.(backend.Swapper); ok {
		if next.written, err = swapper.Swap(ctx, m.workspace, m.stored.written, data); err != nil {
			m.unclear = append(m.unclear, attempt{sha256.Sum256(data), *next})
			return err
		}
	} else if err := m.store.Put(ctx, m.workspace, data); err != nil {
		return err
	}
	m.stored, m.unclear = *next, nil
	return nil
}

// Create writes an empty state where Read found none. If another process was faster, it returns the
// state of that one.
func (m *Manager) Create(ctx context.Context, warn tfdiags.Sink) (*Snapshot, error) {
	m.writing.Lock()
	err := m.create(ctx)
	created := m.stored.snapshot()
	m.writing.Unlock()
	switch {
	case errors.Is(err, backend.ErrChanged):
		return m.Read(ctx, warn)
	case err != nil:
		const format = "The workspace %q can't be created: %s."
		return nil, tfdiags.Errorf("Failed to write state", format, m.workspace, err)
	}
	return created, nil
}

func (m *Manager) create(ctx context.Context) error {
	if m.ledger == nil {
		return m.write(ctx, states.New())
	}
	err := m.writeChange(ctx, &Change{Replaces: true, Serial: 1}, states.New())
	if errors.As(err, new(*ChangedError)) {
		err = backend.ErrChanged
	}
	return err
}

func (m *Manager) encode(s *stored) ([]byte, error) {
	return m.encodeFile(&statefile.File{Serial: s.serial, Lineage: s.lineage, State: s.state})
}

func (m *Manager) encodeFile(file *statefile.File) ([]byte, error) {
	enc := m.encoder
	if enc == nil {
		enc = new(statefile.Encoder)
	}
	data, err := enc.Encode(file, &statefile.Options{Indent: m.indent && m.opts.Codec == nil})
	if err != nil {
		return nil, err
	}
	return m.seal(data, m.indent)
}

// Encode returns the text of a state for a local copy, encrypted if the store is.
func (m *Manager) Encode(file *statefile.File) ([]byte, error) {
	data, err := statefile.Encode(file, &statefile.Options{Indent: m.opts.Codec == nil})
	if err != nil {
		return nil, err
	}
	return m.seal(data, true)
}

// seal encrypts a state if a codec is set, and then indents the result if indent is set.
func (m *Manager) seal(data []byte, indent bool) ([]byte, error) {
	if m.opts.Codec == nil {
		return data, nil
	}
	data, err := m.opts.Codec.Encrypt(data)
	if err != nil {
		return nil, fmt.Errorf("encrypting the state: %w", err)
	}
	if !indent {
		return data, nil
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return nil, fmt.Errorf("encrypting the state: %w", err)
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n'), nil
}

// Save stops recording an operation and writes the final state, unless the store already has it. It
// ignores the cancellation of ctx. If the store can't be written, it writes the state to
// errored.tfstate, and the error says how to continue.
func (m *Manager) Save(ctx context.Context, final *states.State) error {
	m.mu.Lock()
	ready, stop := m.read, m.stop
	m.stop = nil
	m.mu.Unlock()
	if !ready {
		return errNotRead
	}
	if stop != nil { // no snapshot may follow the final one
		close(stop)
		m.finished.Wait()
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	if m.ledger != nil {
		return m.saveChange(ctx, final)
	}
	if m.stored.exists && !m.stored.migrate && statefile.Equal(final, m.stored.state) {
		m.committed(final)
		return nil
	}
	if m.old != nil && m.old.changed > 0 && !m.old.diverged {
		// Read returned the recovered state with the serial after that of the store, so the final
		// state has the one after that.
		m.stored.serial = m.old.serial
		if m.stored.lineage == "" {
			m.stored.lineage = m.old.header.Lineage
		}
	}
	err := m.writeFinal(context.WithoutCancel(ctx), final)
	if err == nil {
		m.committed(final)
		return nil
	}
	return m.emergency(final, err)
}

// writeFinal writes the state.
func (m *Manager) writeFinal(ctx context.Context, state *states.State) error {
	return m.persist(ctx, func(ctx context.Context) error { return m.write(ctx, state) })
}

// persist calls write, and repeats it after an error unless the store is a local file.
func (m *Manager) persist(ctx context.Context, write func(context.Context) error) error {
	_, isFile := m.store.(backend.Filer)
	ctx, end := m.withDeadline(ctx)
	defer end()
	for i := 0; ; i++ {
		attempt, cancel := context.WithTimeout(ctx, writeTimeout)
		err := write(attempt)
		cancel()
		if err == nil || isFile || errors.Is(err, backend.ErrChanged) || i == len(retryDelays) {
			return err
		}
		m.log.Warn("could not save the state; trying again", "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryDelays[i]):
		}
	}
}

// withDeadline returns a context that is canceled abortTimeout after an abort.
func (m *Manager) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-m.opts.Abort:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(abortTimeout):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// committed removes the journals after their contents were saved.
func (m *Manager) committed(final *states.State) {
	m.mu.Lock()
	j, steps := m.journal, m.steps
	m.journal, m.state, m.dirty, m.steps = nil, final, false, nil
	m.mu.Unlock()
	old := m.old
	m.old, m.encoder = nil, nil
	if j != nil {
		j.discard()
	}
	if len(steps) > 0 {
		m.keepOpenSteps(steps)
		return // the new journal replaces an old one
	}
	if old == nil {
		return
	}
	var err error
	if live, _ := inUse(old.path, m.opts.Codec); live {
		return // the journal of another run
	}
	if old.diverged {
		err = old.setAside()
	} else {
		err = os.Remove(old.path)
	}
	if err != nil {
		m.log.Warn("could not remove the journal of an interrupted run", "path", old.path, "error", err)
	}
}

// keepOpenSteps writes a journal with the steps that the run stopped waiting for, as their results
// are unknown.
func (m *Manager) keepOpenSteps(steps map[ObjectID]openStep) {
	entries := []*entry{m.newBeginEntry()}
	for _, step := range steps {
		entries = append(entries, step.start)
	}
	j, err := m.openJournal(nil, entries)
	if err != nil {
		m.log.Warn("could not record the operations that did not end", "error", err)
		return
	}
	j.close()
}

// Unsaved is the Extra field of a diagnostic if the state could not be saved to any file. Data is
// the text of the state, to be printed as a last resort.
type Unsaved struct{ Data []byte }

// emergency saves the state to a local file and returns an error that says so.
func (m *Manager) emergency(final *states.State, cause error) error {
	file := &statefile.File{Serial: m.stored.serial + 1, Lineage: m.stored.lineage, State: final}
	if file.Lineage == "" {
		file.Lineage = uuid.NewString()
	}
	if m.ledger != nil {
		file.Unsaved = &statefile.UnsavedRun{ID: m.info.ID, Revision: m.stored.revision}
	}
	path := m.erroredPath()
	data, err := m.encodeFile(file)
	if err == nil {
		err = atomicfile.WriteSynced(path, data, 0o600)
	}
	j := m.running()
	intact := j != nil && j.complete()
	d := tfdiags.Errorf("Failed to save the state", "%s.", cause)
	if err == nil {
		d.Detail += fmt.Sprintf("\n\nThe state was written to %s instead. After solving the problem, run\n\n    "+
			"tofu state push %s", path, path)
		if intact {
			d.Detail += fmt.Sprintf("\n\nor any other command: the changes of this run are also in the journal, %s, "+
				"and the next command reads them from it.", j.path)
		}
	} else {
		d.Detail += fmt.Sprintf("\n\nWriting it to %s failed too: %s.", path, err)
		if intact {
			d.Detail += fmt.Sprintf(" Nothing is lost: the changes of this run are in the journal, %s. Keep "+
				"that file. "+
				"After you have solved the problem, the next command in this directory reads them from it.", j.path)
		} else if data != nil {
			d.Detail += " Keep the text of the state below: it is the only record of the changes of this run."
			d.Extra = Unsaved{Data: data}
		}
	}
	m.close()
	return d
}

// complete reports whether the journal has entries and all of them are on disk.
func (j *journal) complete() bool {
	err := j.f.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	return err == nil && j.err == nil && j.entries > 0
}

// Push replaces the state by another snapshot and adopts its serial and lineage, as state migration
// and "state push" do. Unless force is set, the lineages must be equal and the snapshot must not be
// older. A snapshot without lineage, written by hand or by an early version, becomes the successor
// of the current state. Of a file that was written because a ledger failed, it writes what the run
// of that file has changed, unless other runs have changed the same. Push requires a previous Read.
func (m *Manager) Push(ctx context.Context, f *statefile.File, force bool) error {
	m.mu.Lock()
	ready := m.read
	m.mu.Unlock()
	if !ready {
		return errNotRead
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	present := &m.stored
	if f.Unsaved != nil && !force && m.ledger != nil && (f.Lineage == present.lineage || present.lineage == "") {
		return m.pushUnsaved(ctx, f)
	}
	same := present.exists && statefile.Equal(f.State, present.state)
	if present.exists && !force && f.Lineage != "" && present.lineage != "" {
		switch {
		case f.Lineage != present.lineage:
			return pushRefused("The states have different lineages, %q and %q, so they describe different "+
				"infrastructure. "+
				"The current state would be lost.", f.Lineage, present.lineage)
		case f.Serial < present.serial:
			return pushRefused("The current state has serial %d, which is newer than %d.", present.serial, f.Serial)
		case f.Serial == present.serial && !same:
			return pushRefused("The current state has the same serial, %d, but a different content.", f.Serial)
		}
	}
	if same && f.Serial == present.serial && f.Lineage == present.lineage && !present.migrate {
		m.committed(f.State)
		return nil
	}
	next := *present
	next.exists, next.migrate, next.serial, next.lineage, next.state = true, false, f.Serial, f.Lineage, f.State
	if next.lineage == "" {
		next.lineage = present.lineage
		if present.exists && !force && !same { // plans for the current state must not apply to this one
			next.serial = max(next.serial, present.serial+1)
		}
	}
	if m.ledger != nil {
		return m.pushChange(ctx, &next)
	}
	if err := m.put(ctx, &next); err != nil {
		return tfdiags.Errorf("Failed to write state", "%s.", err)
	}
	m.committed(f.State)
	return nil
}

func pushRefused(format string, args ...any) error {
	format += " To replace it anyway, use -force."
	return tfdiags.Errorf("Cannot replace the state", format, args...)
}
