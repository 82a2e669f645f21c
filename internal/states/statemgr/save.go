package statemgr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"tofu/internal/backend"
	"tofu/internal/staging"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// writeTimeout bounds one attempt to write the state; the driver's own retries count towards it.
const writeTimeout = 5 * time.Minute

// hurriedTimeout bounds all attempts together for a user who doesn't want to wait.
const hurriedTimeout = 10 * time.Second

// retryDelays are the waits between attempts to write to a store that isn't a local file.
var retryDelays = []time.Duration{time.Second, 3 * time.Second}

// write puts a snapshot of the state into the store, with the next serial. m.writing is held.
func (m *Manager) write(ctx context.Context, state *states.State) error {
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

// put encodes a snapshot, encrypts it, and puts it where the present one is.
func (m *Manager) put(ctx context.Context, next *stored) error {
	data, err := m.encode(next)
	if err != nil {
		return err
	}
	if swapper, ok := m.store.(backend.Swapper); ok {
		if err := swapper.Swap(ctx, m.workspace, m.stored.bytes, data); err != nil {
			return err
		}
		next.bytes = data
	} else if err := m.store.Put(ctx, m.workspace, data); err != nil {
		return err
	}
	m.stored = *next
	return nil
}

// Create stores a state without objects where Read found no snapshot, and gives what is there then: it is somebody else's if that
// one was faster.
func (m *Manager) Create(ctx context.Context) (*Snapshot, tfdiags.Diagnostics) {
	m.writing.Lock()
	err := m.write(ctx, states.New())
	created := m.stored.snapshot()
	m.writing.Unlock()
	switch {
	case errors.Is(err, backend.ErrChanged):
		return m.Read(ctx)
	case err != nil:
		return nil, tfdiags.Diagnostics{tfdiags.Errorf("Failed to write state", "The workspace %q can't be created: %s.", m.workspace, err)}
	}
	return created, nil
}

func (m *Manager) encode(s *stored) ([]byte, error) {
	enc := m.encoder
	if enc == nil {
		enc = new(statefile.Encoder)
	}
	data, err := enc.Encode(&statefile.File{Serial: s.serial, Lineage: s.lineage, State: s.state}, &statefile.Options{Indent: m.indent && m.opts.Codec == nil})
	if err != nil {
		return nil, err
	}
	return m.seal(data, m.indent)
}

// Encode gives a state as it may lie in a file: a copy that is kept beside what the store has, encrypted where that is.
func (m *Manager) Encode(file *statefile.File) ([]byte, error) {
	data, err := statefile.Encode(file, &statefile.Options{Indent: m.opts.Codec == nil})
	if err != nil {
		return nil, err
	}
	return m.seal(data, true)
}

// seal encrypts a state, where states are encrypted. What is laid out for people then is the encrypted form.
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

// Save ends the recording of an operation and writes the final state, unless the store has the same already. It doesn't end with
// ctx's cancellation. When the store can't be written, the state goes to errored.tfstate, and the diagnostics say what to do.
func (m *Manager) Save(ctx context.Context, final *states.State) tfdiags.Diagnostics {
	m.mu.Lock()
	ready, stop := m.read, m.stop
	m.stop = nil
	m.mu.Unlock()
	if !ready {
		return tfdiags.Diagnostics{}.Append(errNotRead)
	}
	if stop != nil { // no snapshot may come after the final one
		close(stop)
		m.finished.Wait()
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	if m.stored.exists && !m.stored.migrate && statefile.Equal(final, m.stored.state) {
		m.settled(final)
		return nil
	}
	if m.old != nil && m.old.changed > 0 && !m.old.foreign {
		// The recovered state was given out with the serial that follows the store's; what is made of it comes after that.
		m.stored.serial = m.old.serial
		if m.stored.lineage == "" {
			m.stored.lineage = m.old.header.Lineage
		}
	}
	err := m.writeFinal(context.WithoutCancel(ctx), final)
	if err == nil {
		m.settled(final)
		return nil
	}
	return m.emergency(final, err)
}

// writeFinal writes the state, with several attempts where the trouble may pass.
func (m *Manager) writeFinal(ctx context.Context, state *states.State) error {
	_, isFile := m.store.(backend.Filer)
	ctx, end := m.patience(ctx)
	defer end()
	for i := 0; ; i++ {
		attempt, cancel := context.WithTimeout(ctx, writeTimeout)
		err := m.write(attempt, state)
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

// patience gives a context that ends when a user in a hurry has waited long enough.
func (m *Manager) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-m.opts.Hurry:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(hurriedTimeout):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// settled removes the journals, which the stored state has made superfluous.
func (m *Manager) settled(final *states.State) {
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
		m.leaveOpen(steps)
		return // in the place of the old journal, if there was one
	}
	if old == nil {
		return
	}
	var err error
	if live, _ := isLive(old.path, m.opts.Codec); live {
		return // it is another run's by now
	}
	if old.foreign {
		err = old.setAside()
	} else {
		err = os.Remove(old.path)
	}
	if err != nil {
		m.log.Warn("could not remove the journal of an interrupted run", "path", old.path, "error", err)
	}
}

// leaveOpen leaves a journal of steps that the run gave up waiting for: the state has all that is known, and what came of them isn't.
func (m *Manager) leaveOpen(steps map[objectID]openStep) {
	entries := []*entry{m.beginning()}
	for _, step := range steps {
		entries = append(entries, step.start)
	}
	j, err := m.openJournal(nil, entries)
	if err != nil {
		m.log.Warn("could not record which operations were given up", "error", err)
		return
	}
	j.close()
}

// Unsaved, as a diagnostic's Extra, has the state that could be saved nowhere, for printing as a last resort.
type Unsaved struct{ Data []byte }

// emergency saves the state somewhere else and says where.
func (m *Manager) emergency(final *states.State, cause error) tfdiags.Diagnostics {
	next := m.stored
	next.state, next.serial = final, m.stored.serial+1
	if next.lineage == "" {
		next.lineage = uuid.NewString()
	}
	path := m.erroredPath()
	data, err := m.encode(&next)
	if err == nil {
		err = staging.WriteSynced(path, data, 0o600)
	}
	j := m.running()
	intact := j != nil && j.complete()
	d := tfdiags.Errorf("Failed to save the state", "%s.", cause)
	if err == nil {
		d.Detail += fmt.Sprintf("\n\nThe state was written to %s instead. When the problem is solved, run\n\n    tofu state push %s", path, path)
		if intact {
			d.Detail += fmt.Sprintf("\n\nor just the next command: what this run did is in the journal, %s, as well, and is taken from there.", j.path)
		}
	} else {
		d.Detail += fmt.Sprintf("\n\nWriting it to %s failed too: %s.", path, err)
		if intact {
			d.Detail += fmt.Sprintf(" But nothing is lost: what this run did is in the journal, %s. Keep that file; "+
				"when the problem is solved, the next command in this folder takes it from there.", j.path)
		} else if data != nil {
			d.Detail += " Keep the text of the state that is printed below: it is the only record of what this run did."
			d.Extra = Unsaved{Data: data}
		}
	}
	m.close()
	return tfdiags.Diagnostics{d}
}

// complete tells whether there are entries, and all of them on the disk.
func (j *journal) complete() bool {
	err := j.f.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	return err == nil && j.err == nil && j.entries > 0
}

// Push replaces the state by another snapshot, with that one's serial and lineage, as migration and `state push` do. Without force
// it must be of the same lineage and not older; a snapshot without lineage, made by hand or by early versions, can't be compared and
// becomes the next one of the present state. Read must have been called.
func (m *Manager) Push(ctx context.Context, f *statefile.File, force bool) tfdiags.Diagnostics {
	m.mu.Lock()
	ready := m.read
	m.mu.Unlock()
	if !ready {
		return tfdiags.Diagnostics{}.Append(errNotRead)
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	present := &m.stored
	same := present.exists && statefile.Equal(f.State, present.state)
	if present.exists && !force && f.Lineage != "" && present.lineage != "" {
		switch {
		case f.Lineage != present.lineage:
			return refused("The states have different lineages, %q and %q: they are of different things. The present state would be lost.", f.Lineage, present.lineage)
		case f.Serial < present.serial:
			return refused("The present state has the serial %d, which is newer than %d.", present.serial, f.Serial)
		case f.Serial == present.serial && !same:
			return refused("The present state has the same serial, %d, and other content.", f.Serial)
		}
	}
	if same && f.Serial == present.serial && f.Lineage == present.lineage && !present.migrate {
		m.settled(f.State)
		return nil
	}
	next := *present
	next.exists, next.migrate, next.serial, next.lineage, next.state = true, false, f.Serial, f.Lineage, f.State
	if next.lineage == "" {
		next.lineage = present.lineage
		if present.exists && !force && !same { // a plan that was made of the present state is not one of this
			next.serial = max(next.serial, present.serial+1)
		}
	}
	if err := m.put(ctx, &next); err != nil {
		return tfdiags.Diagnostics{tfdiags.Errorf("Failed to write state", "%s.", err)}
	}
	m.settled(f.State)
	return nil
}

func refused(format string, args ...any) tfdiags.Diagnostics {
	return tfdiags.Diagnostics{tfdiags.Errorf("Cannot replace the state", format+" To do it nevertheless, use the flag -force.", args...)}
}
