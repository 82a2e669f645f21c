package roots

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/dag"
	"tofu/internal/parallel"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// Root is a root module.
type Root struct {
	Name  string // the path of its directory below the top of the estate, with slashes
	Dir   string // relative to the working directory
	State StateID
	Reads []Read // the states that it reads, by position
	// Err says why the root module can't be read. Such a root module has no state and reads none.
	Err error

	id    dag.ID
	calls []string // the local directories that it calls as modules
}

// Estate is a number of root modules. It must not be changed.
type Estate struct {
	Roots []*Root // by name
	// Graph has a vertex for each root module, with its index in Roots as ID, and an edge to each root
	// module that it needs.
	Graph *dag.Graph

	byState map[StateID]*Root
}

// Load finds the root modules below some directories. open returns a session for a root module in a
// directory. The estate is complete even after errors: an error is about a directory that can't be
// searched, about a root module (see [Root.Err]), about two root modules with one state, or about
// root modules that read each other.
func Load(ctx context.Context, dirs []string, open func(dir string) *session.Session) (*Estate, error) {
	found, dirsErr := Directories(dirs)
	all := make([]*Root, len(found))
	parallel.Each(len(found), runtime.GOMAXPROCS(0), func(i int) {
		if ctx.Err() == nil {
			all[i] = read(ctx, found[i].Dir, open(found[i].Dir))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	called := make(map[string]bool)
	for _, r := range all {
		for _, dir := range r.calls {
			called[Absolute(dir)] = true
		}
	}
	e := &Estate{Graph: &dag.Graph{}, byState: make(map[StateID]*Root)}
	errs := tfdiags.FromError(dirsErr)
	for i, r := range all {
		if called[found[i].Abs] && !found[i].Locked {
			continue
		}
		r.id = e.Graph.Add()
		e.Roots = append(e.Roots, r)
		errs = errs.AppendError(r.Err)
	}
	errs = errs.AppendError(e.index())
	e.connect()
	return e, errs.AppendError(e.cycles()).Err()
}

// read reads the root module in one directory.
func read(ctx context.Context, dir string, s *session.Session) *Root {
	r := &Root{Name: filepath.ToSlash(dir), Dir: dir}
	given, err := s.Collect(session.Variables{})
	var cfg *session.Config
	if err == nil {
		cfg, err = s.LoadRootModuleWith(ctx, given)
	}
	if err != nil {
		r.Err = err
		return r
	}
	r.calls = cfg.LocalCalls()
	if len(cfg.Module.Calls) > 0 {
		// Without modules that are not installed, only the states that the root module itself reads
		// are found.
		if whole, err := s.LoadConfigWith(ctx, given); err == nil {
			cfg = whole
		}
		s.Warnings.Take() // a run of the root module reports them
	}
	if r.State, r.Err = ownState(s, cfg); r.Err == nil {
		r.Reads = remoteStates(s, cfg.Config)
		slices.SortStableFunc(r.Reads, func(a, b Read) int { return compareRanges(a.Range, b.Range) })
	}
	return r
}

func compareRanges(a, b hcl.Range) int {
	if c := strings.Compare(a.Filename, b.Filename); c != 0 {
		return c
	}
	return a.Start.Byte - b.Start.Byte
}

// ownState returns the identity of a root module's state. The backend need not be initialized.
func ownState(s *session.Session, cfg *session.Config) (StateID, error) {
	settings, err := s.CurrentBackend(cfg)
	if err != nil {
		if settings, _, err = session.DecodeBackend(cfg); err != nil {
			return "", err
		}
	}
	workspace, err := s.Workspace()
	if err != nil {
		return "", err
	}
	return Identify(s, settings, workspace)
}

// index finds the root modules by their states.
func (e *Estate) index() error {
	var errs tfdiags.Diagnostics
	for _, r := range e.Roots {
		if r.State == "" {
			continue
		}
		if other := e.byState[r.State]; other != nil {
			errs.Add(tfdiags.Errorf("Two root modules with one state",
				"The root modules %s and %s have the same state, %s. Each would destroy the objects of the other. Give "+
					"one of them another backend, or select another workspace in it.", other.Name, r.Name, r.State.Show()))
			continue
		}
		e.byState[r.State] = r
	}
	return errs.Err()
}

// connect adds an edge for each state that a root module reads.
func (e *Estate) connect() {
	for _, r := range e.Roots {
		for i := range r.Reads {
			read := &r.Reads[i]
			read.Root = e.byState[read.State]
			if read.Root != nil && read.Root != r { // its own state is that of the run before
				e.Graph.Connect(r.id, read.Root.id)
			}
		}
	}
}

// ByState returns the root module with a state, or nil if no root module has it.
func (e *Estate) ByState(id StateID) *Root { return e.byState[id] }

// ByName returns the root module with a name, or nil if there is none.
func (e *Estate) ByName(name string) *Root {
	i, ok := slices.BinarySearchFunc(e.Roots, name, func(r *Root, name string) int { return strings.Compare(r.Name, name) })
	if !ok {
		return nil
	}
	return e.Roots[i]
}

// Names returns the names of all root modules.
func (e *Estate) Names() []string {
	names := make([]string, len(e.Roots))
	for i, r := range e.Roots {
		names[i] = r.Name
	}
	return names
}

// Needs returns the root modules whose states a root module reads, without duplicates, by name.
func (e *Estate) Needs(r *Root) []*Root {
	ids := slices.Clone(e.Graph.Needs(r.id))
	slices.Sort(ids)
	var out []*Root
	for _, id := range slices.Compact(ids) {
		out = append(out, e.Roots[id])
	}
	return out
}

// Index returns the index of a root module in Roots.
func (e *Estate) Index(r *Root) int { return int(r.id) }

// cycles reports root modules that read each other.
func (e *Estate) cycles() error {
	var errs tfdiags.Diagnostics
	for _, cycle := range e.Graph.Cycles() {
		var lines []string
		for i, id := range cycle {
			r, next := e.Roots[id], e.Roots[cycle[(i+1)%len(cycle)]]
			for _, read := range r.Reads {
				if read.Root == next {
					lines = append(lines, fmt.Sprintf("%s reads %s at %s", r.Name, next.Name, tfdiags.Place(read.Range)))
					break
				}
			}
		}
		errs.Add(tfdiags.Errorf("Root modules read each other",
			"No order is possible in which each root module is planned after those that it reads:\n  %s",
			strings.Join(lines, "\n  ")))
	}
	return errs.Err()
}
