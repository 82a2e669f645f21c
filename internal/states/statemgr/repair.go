package statemgr

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/google/uuid"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// A Repair holds the readable parts of a damaged state.
type Repair struct {
	Cause    error         // why the state can't be read
	Findings []string      // sentences without a full stop
	State    *states.State // nil if only the parts named in Findings change
	Objects  int           // number of objects in State

	serial  uint64
	lineage string
	doubts  []Operation
	damaged []byte
	written string        // version of the damaged snapshot, if the store is a backend.Swapper
	parts   []DamagedPart // only for a ledger
}

// Examine collects the readable parts of a damaged state. It returns nil if the state can be read.
// In a Ledger, it looks for earlier versions of the damaged parts. Otherwise, it takes the objects
// that the damaged snapshot lacks from errored.tfstate and the backup, and then replays the journal
// of an interrupted run. Too many objects are better than too few: the next plan detects objects
// that no longer exist, but not objects that are missing in the state.
func (m *Manager) Examine(ctx context.Context) (*Repair, error) {
	if p, ok := m.dest.(*parts); ok {
		return p.examine(ctx)
	}
	return m.whole.examine(ctx)
}

// examine finds the parts that can't be read, and the latest readable version of each. It returns
// nil if all parts can be read.
func (p *parts) examine(ctx context.Context) (*Repair, error) {
	mender, ok := p.ledger.(Mender)
	if !ok {
		return nil, nil
	}
	damaged, err := mender.Damage(ctx, p.name, p.opts.Codec)
	if err != nil || len(damaged) == 0 {
		return nil, err
	}
	r := &Repair{Cause: &damaged[0], parts: damaged}
	type kept struct {
		Part     string `json:"part"`
		Document string `json:"document"`
	}
	var all []kept
	for i := range damaged {
		part := &damaged[i]
		all = append(all, kept{part.What, part.Document})
		switch {
		case part.Restored != "":
			r.addFinding("%v; its last version that can be read takes its place", part)
		case part.Current:
			r.addFinding("%v; it has no earlier version that can be read, so it is removed from the state", part)
		default:
			r.addFinding("%v; this record is removed", part)
		}
	}
	if p.opts.Codec != nil {
		r.addFinding("if a part can't be decrypted because a key is missing, add that as a fallback instead")
	}
	r.damaged, err = json.MarshalIndent(all, "", "  ")
	return r, err
}

func (s *snapshots) examine(ctx context.Context) (*Repair, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	present := new(stored)
	data, err := s.get(ctx, present)
	if err != nil {
		return nil, err
	}
	_, cause := s.load(ctx)
	if cause == nil {
		return nil, nil
	}
	if !errors.As(cause, new(statefile.DamagedError)) {
		return nil, cause // not damaged, but encrypted with an unknown key or written by a newer program
	}
	r := &Repair{Cause: cause, State: states.New(), damaged: data, written: present.written}
	sources := []*source{s.source(ctx, "the damaged state", data)}
	for _, path := range s.otherFiles() {
		if text, err := atomicfile.Read(path); err == nil {
			sources = append(sources, s.source(ctx, path, text))
		} else if !errors.Is(err, fs.ErrNotExist) {
			r.addFinding("%s can't be read: %v", path, err)
		}
	}
	slices.SortStableFunc(sources, func(a, b *source) int { return cmp.Compare(b.serial(), a.serial()) })
	for _, text := range sources {
		if complete := r.merge(text); complete {
			break // older sources add nothing
		}
	}
	return r, s.takeJournal(ctx, r)
}

// otherFiles returns the paths of the files that may have the missing objects.
func (w *workspace) otherFiles() []string {
	out := w.erroredFiles()
	if file, ok := w.file(); ok {
		out = append(out, file+".backup")
	}
	return out
}

// A source is the content of a file or snapshot that may contain parts of the state.
type source struct {
	name     string
	file     *statefile.File // nil if nothing is readable
	problems []string
}

func (s *source) serial() uint64 {
	if s.file == nil {
		return 0
	}
	return s.file.Serial
}

// source decrypts data and reads its valid parts. The result lists the problems with the other
// parts.
func (w *workspace) source(ctx context.Context, name string, data []byte) *source {
	s := &source{name: name}
	var err error
	if w.opts.Codec != nil && len(data) > 0 {
		data, _, err = w.opts.Codec.Decrypt(ctx, data)
		if err != nil {
			s.problems = []string{fmt.Sprintf("nothing is readable: %v", err)}
			return s
		}
	}
	if len(data) == 0 {
		s.problems = []string{"it is empty"}
		return s
	}
	s.file, err = statefile.Parse(data)
	if err != nil {
		s.file, s.problems = statefile.Salvage(data)
	}
	return s
}

func (r *Repair) addFinding(format string, args ...any) {
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// merge adds the contents of a source that the repair lacks. It reports whether the source is a
// complete state.
func (r *Repair) merge(s *source) (complete bool) {
	if s.file != nil && r.lineage != "" && s.file.Lineage != "" && s.file.Lineage != r.lineage {
		r.addFinding("%s belongs to another state (its lineage is %s) and is ignored", s.name, s.file.Lineage)
		return false
	}
	if s.file != nil {
		r.addFinding("%s adds %s", s.name, objects(r.add(s.file)))
	}
	for _, p := range s.problems {
		r.addFinding("in %s, %s", s.name, p)
	}
	return s.file != nil && len(s.problems) == 0
}

func (r *Repair) add(f *statefile.File) (added int) {
	for id, place := range allObjects(f.State) {
		if find(r.State, id) == nil {
			if known := r.State.Resource(id.Addr.Abs()); known != nil { // a newer source has the current provider
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
	if steps, err := stepsOf(f); err == nil { // otherwise only this list is damaged
		r.doubts = mergeSteps(steps, r.doubts)
	}
	r.serial = max(r.serial, f.Serial)
	if r.lineage == "" {
		r.lineage = f.Lineage
	}
	r.Objects += added
	return added
}

// takeJournal replays the journal of an interrupted run.
func (s *snapshots) takeJournal(ctx context.Context, r *Repair) error {
	rec, err := s.recover(ctx, &stored{exists: true, serial: r.serial, lineage: r.lineage, state: r.State}, tfdiags.Drop)
	switch {
	case err != nil:
		return err
	case rec == nil:
		return nil
	case r.lineage != "" && rec.header.Lineage != r.lineage:
		r.addFinding("the journal %s belongs to another state and is ignored", rec.path)
		return nil
	}
	r.addFinding("the journal %s adds %s", rec.path, objects(rec.changed))
	if r.lineage == "" {
		r.lineage = rec.header.Lineage
	}
	r.State, r.serial, r.doubts = rec.state, max(r.serial, rec.serial), mergeSteps(r.doubts, rec.interrupted)
	r.Objects = 0
	for range allObjects(r.State) {
		r.Objects++
	}
	rec.diverged = false // the killed run wrote the state before the damage
	s.killed = rec
	return nil
}

// WriteRepair replaces the damaged state with the repaired one. It returns the path of the file in
// which it keeps the damaged state. The caller must hold the lock.
func (m *Manager) WriteRepair(ctx context.Context, r *Repair) (kept string, err error) {
	if p, ok := m.dest.(*parts); ok {
		return p.mend(ctx, r)
	}
	kept, err = m.whole.writeRepair(ctx, r)
	if err != nil {
		return kept, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = r.State
	return kept, nil
}

// mend replaces or removes the damaged parts. It keeps their content in a file and returns the
// file's path.
func (p *parts) mend(ctx context.Context, r *Repair) (kept string, err error) {
	kept, err = p.keepDamaged(r.damaged)
	if err != nil {
		return "", fmt.Errorf("saving a copy of the damaged parts: %w", err)
	}
	return kept, ExplainConflict(p.ledger.(Mender).Mend(ctx, p.name, NewLockInfo("state-repair"), r.parts))
}

func (s *snapshots) writeRepair(ctx context.Context, r *Repair) (kept string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, err = s.keepDamaged(r.damaged)
	if err != nil {
		return "", fmt.Errorf("saving a copy of the damaged state: %w", err)
	}
	next := stored{exists: true, serial: r.serial + 1, lineage: r.lineage, state: r.State, doubts: r.doubts}
	if next.lineage == "" {
		next.lineage = uuid.NewString()
	}
	s.content.written = r.written
	if err := s.put(ctx, &next); err != nil {
		return kept, err
	}
	s.committed()
	return kept, nil
}

// keepDamaged writes the damaged snapshot beside the state or into the working directory, and
// returns its path. It doesn't keep an empty snapshot, and then returns "".
func (w *workspace) keepDamaged(data []byte) (string, error) {
	if len(data) == 0 {
		return "", nil
	}
	base := "terraform.tfstate"
	if file, ok := w.file(); ok {
		base = file
	}
	path := freeName(func(n int) string { return fmt.Sprintf("%s.damaged-%d", base, n) })
	return path, atomicfile.WriteSynced(path, data, 0o600)
}

// Instances returns the sorted addresses of the instances in the repaired state.
func (r *Repair) Instances() []addrs.AbsInstance {
	var out []addrs.AbsInstance
	for id := range allObjects(r.State) {
		out = append(out, id.Addr)
	}
	slices.SortFunc(out, addrs.AbsInstance.Compare)
	return slices.Compact(out)
}
