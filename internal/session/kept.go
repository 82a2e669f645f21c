package session

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/atomicfile"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// kept is a plan without errors, and all that it was made of except for what providers have answered. As long
// as that is the same, another plan would be the same, too.
type kept struct {
	plan     *plans.Plan
	warnings tfdiags.Diagnostics
	inputs   *planInputs
	files    map[string]atomicfile.Stamp // read by functions
	remote   []remoteAnswer              // outputs of other root modules
}

// planInputs are what an operation knows before it plans.
type planInputs struct {
	circumstances []byte
	options       engine.PlanOptions
	variables     map[string]cty.Value
	state         *states.State // nil without objects and outputs
	moves         bool          // whether it is known what moves between root modules
	texts         [][]byte      // of the configuration, with the names of files and the paths of modules
}

// inputs returns the inputs of a plan. It returns nil if they can't be compared.
func (op *Operation) inputs(opts *engine.PlanOptions) *planInputs {
	s := op.Session
	circumstances, err := op.circumstances()
	if err != nil || s.hasStored() || s.Estate != nil && s.Estate.Prior != nil {
		return nil
	}
	in := &planInputs{circumstances: circumstances, options: *opts, variables: map[string]cty.Value{}, moves: s.Estate != nil}
	in.options.Variables = nil
	for name, v := range op.Variables {
		in.variables[name] = v.Value
	}
	if st := op.State.State(); !st.Empty() {
		in.state = st
	}
	for m := range op.Config.AllModules() {
		if len(m.Module.Libraries()) > 0 {
			return nil
		}
		in.texts = append(in.texts, []byte(m.Path.String()))
		for _, name := range m.Module.Files {
			in.texts = append(in.texts, []byte(name), s.Parser.Source(name))
		}
	}
	return in
}

func (in *planInputs) equal(other *planInputs) bool {
	return in != nil && other != nil && bytes.Equal(in.circumstances, other.circumstances) && in.state == other.state &&
		in.moves == other.moves && reflect.DeepEqual(in.texts, other.texts) && reflect.DeepEqual(in.options, other.options) &&
		maps.EqualFunc(in.variables, other.variables, sameValue)
}

func sameValue(a, b cty.Value) bool {
	return (a == cty.NilVal) == (b == cty.NilVal) && (a == cty.NilVal || a.RawEquals(b))
}

// same returns the last plan if the plan of an operation would be the same.
func (m *Memory) same(ctx context.Context, op *Operation, in *planInputs) *kept {
	m.mu.Lock()
	k := m.kept
	m.mu.Unlock()
	if k == nil || !in.equal(k.inputs) || !sameFiles(k.files) {
		return nil
	}
	reader := newRemoteReader(op.Session)
	for _, a := range k.remote {
		outputs, found, err := reader.answer(ctx, a.of)
		if err != nil || found != a.found || !maps.EqualFunc(outputs, a.outputs, sameValue) {
			return nil
		}
	}
	return k
}

// planReads has what an operation with a Memory has read from elsewhere. It is safe for concurrent use.
type planReads struct {
	mu     sync.Mutex
	files  map[string]atomicfile.Stamp
	remote []remoteAnswer
	unsure bool // something can't be compared with what another plan would read
}

// remoteAnswer has the outputs that the state of another root module had.
type remoteAnswer struct {
	of      *RemoteState
	outputs map[string]cty.Value
	found   bool
}

// file records a file that a function reads, or a directory in which it searches. "" is the time of the plan.
func (r *planReads) file(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil {
		r.files = map[string]atomicfile.Stamp{}
	}
	r.unsure = r.unsure || path == "" || !stamps(path, r.files)
}

// stamp adds the stamp of a file or a directory; the zero one if it doesn't exist.
func stamp(path string, into map[string]atomicfile.Stamp) (sure bool) {
	info, err := os.Stat(path)
	if err != nil {
		into[path] = atomicfile.Stamp{}
		return errors.Is(err, fs.ErrNotExist)
	}
	into[path] = atomicfile.StampOf(info)
	return into[path].Settled(time.Now())
}

// stamps adds the stamps of a file, or of a directory and all below it. It returns false if it can't be told
// from a stamp whether they have changed.
func stamps(path string, into map[string]atomicfile.Stamp) bool {
	sure := stamp(path, into)
	if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
		return sure
	}
	_ = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if sure = sure && err == nil && e.Type()&fs.ModeSymlink == 0; sure && e.IsDir() {
			sure = stamp(at, into)
		}
		return nil
	})
	return sure
}

// sameFiles reports whether the files of an earlier plan are as they were.
func sameFiles(before map[string]atomicfile.Stamp) bool {
	now := map[string]atomicfile.Stamp{}
	for path, was := range before {
		if stamp(path, now); now[path] != was {
			return false
		}
	}
	return true
}

// answered records the outputs of another root module.
func (r *planReads) answered(of *RemoteState, outputs map[string]cty.Value, found bool, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsure = r.unsure || err != nil
	r.remote = append(r.remote, remoteAnswer{of, outputs, found})
}

// remember keeps a plan of an operation.
func (m *Memory) remember(op *Operation, in *planInputs, plan *plans.Plan, warnings tfdiags.Diagnostics) {
	op.Session.reads.mu.Lock()
	defer op.Session.reads.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = nil
	if in != nil && !op.Session.reads.unsure {
		m.kept = &kept{plan, warnings, in, maps.Clone(op.Session.reads.files), slices.Clone(op.Session.reads.remote)}
	}
}
