package statemgr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/google/uuid"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/staging"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
)

// A Repair is what can be made of a state that can't be read.
type Repair struct {
	Cause   error    // why it can't be read
	Found   []string // what was found, in order, as sentences without a full stop
	State   *states.State
	Objects int // in State

	serial  uint64
	lineage string
	damaged []byte
}

// Examine works out how the state can be repaired; nil means that it can be read. What the damaged snapshot has is completed by what
// errored.tfstate and the backup beside it have, and then by the journal of an interrupted run: an object too many is found out by
// the next plan, one too few is not.
func (m *Manager) Examine(ctx context.Context) (*Repair, error) {
	m.writing.Lock()
	defer m.writing.Unlock()
	data, err := m.store.Get(ctx, m.workspace)
	if err != nil {
		return nil, err
	}
	_, cause := m.load(ctx)
	if cause == nil {
		return nil, nil
	}
	if !errors.As(cause, new(statefile.DamagedError)) {
		return nil, cause // the key is missing, or a newer program wrote it: it isn't damaged
	}
	r := &Repair{Cause: cause, State: states.New(), damaged: data}
	sources := []*source{m.source(ctx, "the state itself", data)}
	for _, path := range m.besides() {
		if text, err := os.ReadFile(path); err == nil {
			sources = append(sources, m.source(ctx, path, text))
		} else if !errors.Is(err, fs.ErrNotExist) {
			r.found("%s can't be read: %v", path, err)
		}
	}
	slices.SortStableFunc(sources, func(a, b *source) int { return cmp.Compare(b.serial(), a.serial()) })
	for _, s := range sources {
		if whole := r.take(s); whole {
			break // what is older has no more to say
		}
	}
	return r, m.takeJournal(ctx, r)
}

// besides lists the files that may have what the snapshot has lost.
func (m *Manager) besides() []string {
	out := m.erroredFiles()
	if filer, ok := m.store.(backend.Filer); ok {
		out = append(out, filer.File(m.workspace)+".backup")
	}
	return out
}

// source is a text that has some of the state.
type source struct {
	what     string
	file     *statefile.File // nil: nothing
	problems []string
}

func (s *source) serial() uint64 {
	if s.file == nil {
		return 0
	}
	return s.file.Serial
}

// source reads what can be read of a text.
func (m *Manager) source(ctx context.Context, what string, data []byte) *source {
	s := &source{what: what}
	var err error
	if m.opts.Codec != nil && len(data) > 0 {
		if data, _, err = m.opts.Codec.Decrypt(ctx, data); err != nil {
			s.problems = []string{fmt.Sprintf("nothing can be read: %v", err)}
			return s
		}
	}
	if len(data) == 0 {
		s.problems = []string{"there is nothing"}
		return s
	}
	if s.file, err = statefile.Parse(data); err != nil {
		s.file, s.problems = statefile.Salvage(data)
	}
	return s
}

func (r *Repair) found(format string, args ...any) {
	r.Found = append(r.Found, fmt.Sprintf(format, args...))
}

// take adds what a source has and the repair hasn't. It tells whether the source is a whole state.
func (r *Repair) take(s *source) (whole bool) {
	if s.file != nil && r.lineage != "" && s.file.Lineage != "" && s.file.Lineage != r.lineage {
		r.found("%s is of another state (its lineage is %s), so nothing is taken from it", s.what, s.file.Lineage)
		return false
	}
	if s.file != nil {
		r.found("%s gives %s", s.what, objects(r.add(s.file)))
	}
	for _, p := range s.problems {
		r.found("in %s, %s", s.what, p)
	}
	return s.file != nil && len(s.problems) == 0
}

func (r *Repair) add(f *statefile.File) (added int) {
	for id, place := range contents(f.State) {
		if find(r.State, id) == nil {
			if known := r.State.Resource(id.addr.Abs()); known != nil { // from a newer source, which knows better whose it is
				place.provider.Config = known.Provider
			}
			set(r.State, id, place.obj, place.provider)
			added++
		}
	}
	for _, name := range f.State.OutputNames() {
		if r.State.Output(name) == nil {
			r.State.SetOutput(name, f.State.Output(name))
		}
	}
	r.serial = max(r.serial, f.Serial)
	if r.lineage == "" {
		r.lineage = f.Lineage
	}
	r.Objects += added
	return added
}

// takeJournal replays the journal of a run that was interrupted.
func (m *Manager) takeJournal(ctx context.Context, r *Repair) error {
	rec, err := m.recover(ctx, &stored{exists: true, serial: r.serial, lineage: r.lineage, state: r.State})
	switch {
	case err != nil:
		return err
	case rec == nil:
		return nil
	case r.lineage != "" && rec.header.Lineage != r.lineage:
		r.found("the journal %s is of another state, so it is left alone", rec.path)
		return nil
	}
	r.found("the journal %s gives %s", rec.path, objects(rec.changed))
	if r.lineage == "" {
		r.lineage = rec.header.Lineage
	}
	r.State, r.serial = rec.state, max(r.serial, rec.serial)
	r.Objects = 0
	for range contents(r.State) {
		r.Objects++
	}
	rec.foreign = false // it belongs to what the state was before the damage
	m.old = rec
	return nil
}

// Mend puts the repaired state in the place of the damaged one, which is kept in the file that is given back. The lock is held.
func (m *Manager) Mend(ctx context.Context, r *Repair) (kept string, err error) {
	m.writing.Lock()
	defer m.writing.Unlock()
	if kept, err = m.keepDamaged(r.damaged); err != nil {
		return "", fmt.Errorf("keeping the damaged state: %w", err)
	}
	next := stored{exists: true, serial: r.serial + 1, lineage: r.lineage, state: r.State}
	if next.lineage == "" {
		next.lineage = uuid.NewString()
	}
	m.stored.bytes = r.damaged
	if err := m.put(ctx, &next); err != nil {
		return kept, err
	}
	m.settled(r.State)
	return kept, nil
}

// keepDamaged writes the damaged snapshot beside the state, or into the working directory. There is nothing to keep of an empty one.
func (m *Manager) keepDamaged(data []byte) (string, error) {
	if len(data) == 0 {
		return "", nil
	}
	base := "terraform.tfstate"
	if filer, ok := m.store.(backend.Filer); ok {
		base = filer.File(m.workspace)
	}
	path := free(func(n int) string { return fmt.Sprintf("%s.damaged-%d", base, n) })
	return path, staging.WriteSynced(path, data, 0o600)
}

// Instances lists the addresses of what the repaired state has, sorted.
func (r *Repair) Instances() []addrs.AbsInstance {
	var out []addrs.AbsInstance
	for id := range contents(r.State) {
		out = append(out, id.addr)
	}
	slices.SortFunc(out, addrs.AbsInstance.Compare)
	return slices.Compact(out)
}
