package roots

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/getmodules"
	"tofu/internal/memo"
	"tofu/internal/pace"
	"tofu/internal/parallel"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/termtext"
)

// Root is a root module of an estate, with the results of reading it.
type Root struct {
	// Name is the name that roots.tofu.hcl declares, or the path of the directory relative to the
	// top of the estate, with slashes.
	Name    string
	Dir     string // relative to the working directory
	State   StateID
	Reads   []Read              // references to other root modules, by position
	Outputs []string            // names of outputs, sorted
	Moves   []*configs.RootMove // moves between this root module and others
	// LateMoves says that the root module has more moves, which depend on values of variables; see
	// [configs.Config.ExpandMoves].
	LateMoves bool
	// Declared is what roots.tofu.hcl says about the root module; nil if there is no such file.
	Declared *rootsfile.Root
	// Err says why the root module can't be read. If it is set, State and Reads are empty.
	Err error

	id        dag.ID
	last      StateID            // state of the last run (see lastID); set only if Err is set
	sensitive []string           // names of sensitive outputs
	modules   []string           // directories of all modules that it calls, directly or indirectly
	calls     Calls              // local directories that it calls as modules
	hasOwn    bool               // see HasOwn
	excluded  bool               // roots.tofu.hcl excludes it
	locked    bool               // its directory has a lock file
	shared    bool               // other root modules have the same directory
	used      map[string]Outputs // used outputs by data source; see ReadBy
	place     *place             // of State; nil if it can't be cached
	opaque    bool               // the result of reading can't be cached
	paths     []string           // files that expressions read by constant paths; nil if they were not looked for
	variables []string           // names of variables; nil after Load has collected them in elsewhere
	elsewhere map[string]bool    // names of the variables of all root modules
}

// Estate holds root modules and their dependencies. It must not be changed.
type Estate struct {
	Roots []*Root // sorted by name
	// Graph has a vertex for each root module, whose ID is its index in Roots. Each vertex has
	// edges to the root modules that it needs.
	Graph *dag.Graph
	// Unread lists roots.tofu.hcl files below the searched directories. These files have no effect.
	Unread []string
	// Unsure is a warning about directories that are not root modules because others may call them.
	Unsure tfdiags.Diagnostics
	// Called are the names of directories with a lock file that are not root modules because other
	// modules call them.
	Called []string
	// Limits limit the calls of providers, as the roots.tofu.hcl files say.
	Limits pace.Limits
	// ShareProviders says that root modules with equal provider configurations share processes.
	ShareProviders bool
	// LabelLimits are how many root modules with a label workers process at once, as the roots.tofu.hcl files say.
	LabelLimits map[string]int

	byState stateIndex
	byName  map[string]*Root
}

// Load finds the root modules below some directories, and those that a roots.tofu.hcl in one of the
// directories declares. open returns a session for a root module.
//
// The error covers directories that can't be searched, single root modules (see [Root.Err]), root
// modules that have the same state or name, and cycles between root modules. Load also returns the
// estate, unless a roots.tofu.hcl has errors or ctx ends first.
func Load(ctx context.Context, dirs []string, open func(session.RootModule) *session.Session) (*Estate, error) {
	return load(ctx, dirs, nil, nil, open)
}

// LoadCached is like Load, but takes what has not changed from a cache. The caller saves the cache afterwards.
func LoadCached(
	ctx context.Context, dirs []string, c *Cache, open func(session.RootModule) *session.Session,
) (*Estate, error) {
	return load(ctx, dirs, nil, c, open)
}

// ModulesByName returns the root modules below some directories, by name, without reading them. Values that come from
// other root modules are unknown.
func ModulesByName(
	dirs []string, open func(session.RootModule) *session.Session,
) (map[string]session.RootModule, error) {
	all, err := candidates(dirs, searchAll(dirs, fileSystem(open)), nil, open)
	out := make(map[string]session.RootModule, len(all))
	for _, r := range all {
		out[r.Name] = r.Module()
	}
	return out, err
}

func fileSystem(open func(session.RootModule) *session.Session) configs.FS {
	return open(session.RootModule{Dir: "."}).Parser.FS()
}

// load is LoadCached or, if part is not nil, LoadPart.
func load(
	ctx context.Context, dirs []string, part *Part, cache *Cache, open func(session.RootModule) *session.Session,
) (*Estate, error) {
	tree := searchAll(dirs, fileSystem(open))
	all, err := candidates(dirs, tree, part, open)
	if err != nil {
		return nil, err
	}
	if part != nil {
		all = slices.DeleteFunc(all, func(r *Root) bool { return !slices.Contains(part.Read, r.Name) })
		for _, r := range all {
			r.shared = true // with root modules that are not part of it
		}
	}
	var uses memo.Map[string, map[string]Outputs]
	var kept keeper
	parallel.Each(len(all), runtime.GOMAXPROCS(0), func(i int) {
		if ctx.Err() == nil {
			s := open(all[i].Module())
			cache.read(s, all[i], func() { all[i].read(ctx, s, &uses) })
			kept.add(s.Parser, all[i])
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	errs := tree.errs()
	e := &Estate{Graph: &dag.Graph{}, Limits: tree.limits, ShareProviders: tree.share, LabelLimits: tree.labels,
		byState: make(stateIndex), byName: make(map[string]*Root)}
	for _, path := range tree.files {
		isNamed := slices.ContainsFunc(dirs, func(dir string) bool {
			return Real(dir) == Real(filepath.Dir(path))
		})
		if !isNamed {
			e.Unread = append(e.Unread, path)
		}
	}
	calls := sync.OnceValue(func() map[string][]string { return callsByDir(all) })
	variables := make(map[string]bool)
	chosen := part.add(all)
	if part == nil {
		chosen = e.choose(all, tree.unread())
	} else {
		for _, name := range part.Variables {
			variables[name] = true
		}
	}
	for _, r := range chosen {
		for _, name := range r.variables {
			variables[name] = true
		}
		r.variables, r.elsewhere = nil, variables
		if r.Err != nil || r.opaque {
			r.addModules(calls())
		}
		if termtext.OneLine(r.Name) != r.Name {
			errs.Add(declaredAt(tfdiags.Errorf("Unprintable name of a root module",
				"The name %q contains control characters, which can't be shown, so the root module is ignored. Rename "+
					"its directory, or give it another name in %s.", r.Name, rootsfile.FileName), r))
			continue
		}
		if other := e.byName[r.Name]; other != nil {
			errs.Add(twoNames(other, r))
			continue
		}
		r.id = e.Graph.Add()
		e.Roots = append(e.Roots, r)
		e.byName[r.Name] = r
		errs = errs.AppendError(r.Err)
	}
	errs = errs.AppendError(e.index()).AppendError(e.resolve())
	e.connect()
	return e, errs.AppendError(e.cycles()).Err()
}

// callsByDir returns the directories that modules call, by [Real] path.
func callsByDir(all []*Root) map[string][]string {
	out := make(map[string][]string, len(all))
	for _, r := range all {
		out[Real(r.Dir)] = r.calls.Dirs
	}
	return out
}

// addModules adds the directories of modules that the root module calls although it couldn't be read as a whole.
// calls has the calls of all modules in the estate.
func (r *Root) addModules(calls map[string][]string) {
	seen := map[string]bool{Real(r.Dir): true}
	for queue := append(slices.Clone(r.calls.Dirs), r.modules...); len(queue) > 0; queue = queue[1:] {
		if real := Real(queue[0]); !seen[real] {
			seen[real] = true
			r.modules = append(r.modules, queue[0])
			queue = append(queue, calls[real]...)
		}
	}
	slices.Sort(r.modules)
	r.modules = slices.Compact(r.modules)
}

// choose selects the root modules from the candidates and sorts them by name. A module that another
// module calls, or may call, is not a root module unless it is declared. unread are directories
// that can't be searched.
func (e *Estate) choose(all []*Root, unread []string) (out []*Root) {
	var callers Callers
	callers.AddUnread(unread)
	dirs := make([]Directory, len(all))
	for i, r := range all {
		dirs[i] = Directory{Dir: r.Dir, Real: Real(r.Dir), Declared: r.IsDeclared(), Excluded: r.excluded}
		callers.Add(&dirs[i], r.calls)
	}
	for i, r := range all {
		switch {
		case callers.IsRoot(&dirs[i], r.hasOwn, r.Err != nil):
			out = append(out, r)
		case r.locked && !r.excluded && callers.calls[dirs[i].Real]:
			e.Called = append(e.Called, r.Name)
		}
	}
	slices.Sort(e.Called)
	slices.SortStableFunc(out, func(a, b *Root) int { return strings.Compare(a.Name, b.Name) })
	e.Unsure = callers.Unsure()
	return out
}

// read reads the root module. uses caches the results of [outputuse.Find] by directory.
func (r *Root) read(ctx context.Context, s *session.Session, uses *memo.Map[string, map[string]Outputs]) {
	_, err := r.Inputs(unknown)
	r.Err = tfdiags.Join(r.check(), err)
	var given map[string]configs.Given
	if r.Err == nil {
		given, r.Err = s.Collect(session.Variables{})
	}
	var cfg *session.Config
	if r.Err == nil {
		cfg, r.Err = s.LoadRootModuleWith(ctx, given)
	}
	if r.Err == nil {
		r.Err = tfdiags.Join(r.checkVariables(cfg.Module.Variables), r.checkBackend(cfg.Module))
	}
	if r.Err != nil {
		r.last = lastID(ctx, s)
		r.calls = CallsOf(s.Parser, r.Dir)
		return
	}
	r.hasOwn = HasOwn(cfg.Module, s.DataDir)
	r.Outputs = slices.Sorted(maps.Keys(cfg.Module.Outputs))
	r.Moves, r.LateMoves = cfg.Module.RootMoves, cfg.Module.HasLateRootMoves()
	r.variables = slices.Collect(maps.Keys(cfg.Module.Variables))
	for name, o := range cfg.Module.Outputs {
		if o.Sensitive.Value {
			r.sensitive = append(r.sensitive, name)
		}
	}
	r.calls.AddTests(s.Parser, cfg.Config)
	if len(cfg.Module.Calls) > 0 {
		only := cfg.Config
		whole, err := s.LoadUnset(ctx, given, resolver(s))
		if r.opaque = r.opaque || err != nil; err == nil {
			cfg = whole
		}
		r.calls.add(s.Parser, only, cfg.Children)
		s.Warnings.Take() // running the root module will report them
	}
	for module := range cfg.AllModules() {
		r.opaque = r.opaque || len(module.Module.Libraries()) > 0
		if module.Path.IsRoot() {
			continue
		}
		r.modules = append(r.modules, module.Module.Dir)
		if module.Local() {
			r.calls.Dirs = append(r.calls.Dirs, module.Module.Dir)
		}
	}
	if r.State, r.place, r.Err = ownState(ctx, s, cfg); r.Err == nil {
		r.remoteStates(s, cfg.Config, uses)
		slices.SortStableFunc(r.Reads, func(a, b Read) int { return compareRanges(a.Range, b.Range) })
	}
}

// resolver returns a resolver for the modules that a root module calls. It ignores modules that are
// not installed, so the states that such modules read are not found.
func resolver(s *session.Session) configs.Resolver {
	installed, err := getmodules.Installed(s.ModulesDir(), s.Base)
	return func(ctx context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
		if req.Source.Kind == addrs.LocalModule {
			return configs.ResolvedModule{Dir: req.LocalDir()}, nil
		}
		if err != nil {
			return configs.ResolvedModule{}, nil
		}
		found, err := installed(ctx, req)
		if err != nil {
			return configs.ResolvedModule{}, nil
		}
		return found, nil
	}
}

func compareRanges(a, b hcl.Range) int {
	if c := strings.Compare(a.Filename, b.Filename); c != 0 {
		return c
	}
	return a.Start.Byte - b.Start.Byte
}

// ownState returns where a root module's state is. The backend doesn't need to be initialized. The identity
// is "" if the state is in the store of a provider that is not set up. The place is nil if it is in any
// store of a provider.
func ownState(ctx context.Context, s *session.Session, cfg *session.Config) (StateID, *place, error) {
	settings, err := s.CurrentBackend(ctx, cfg)
	provided := cfg.Module.Backend != nil && cfg.Module.Backend.Store != nil
	switch {
	case err != nil && provided:
		return "", nil, nil
	case err != nil:
		settings, _, err = s.WantedBackend(ctx, cfg)
	}
	if err != nil {
		return "", nil, err
	}
	workspace, err := s.Workspace()
	if err != nil {
		return "", nil, err
	}
	id, err := Identify(s, settings, workspace)
	if block := cfg.Module.BackendOrCloud(); block != nil {
		err = tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
			return diags.InConfigBody(block.Config, "")
		})
	}
	if provided {
		return id, nil, err
	}
	return id, &place{driver: settings.Driver, config: settings.Config, workspace: workspace}, err
}

// index fills byState. It returns an error if two root modules have the same state. A root module
// that can't be read keeps its last known state, so that the readers of that state depend on it.
func (e *Estate) index() error {
	var errs tfdiags.Diagnostics
	for _, r := range e.Roots {
		if r.State == "" {
			continue
		}
		keys := r.State.keys()
		if other := e.byState.find(keys); other != nil {
			name := r.State.Show()
			if path := other.State.Show(); path != name {
				name = fmt.Sprintf("%s, which is also %s because of a link or a mount", name, path)
			}
			errs.Add(declaredAt(tfdiags.Errorf("Two root modules with one state",
				"The root modules %s and %s have the same state, %s. Each would destroy the objects of the other. "+
					"Change the backend settings of one of them, or select another workspace there.",
				other.Name, r.Name, name), r, other))
			continue
		}
		e.byState.add(keys, r)
	}
	for _, r := range e.Roots {
		if r.last != "" {
			e.byState.add(r.last.lastingKeys(), r)
		}
	}
	return errs.Err()
}

// connect builds the graph: it adds an edge from each root module to each one that it needs.
func (e *Estate) connect() {
	for _, r := range e.Roots {
		for i := range r.Reads {
			read := &r.Reads[i]
			if read.Root == nil {
				read.Root = e.byState.find(read.State.keys())
			}
			if read.Root != nil && read.Root != r { // a root module's own state has the outputs of its last run
				e.Graph.Connect(r.id, read.Root.id)
			}
		}
	}
}

// OnlyRootErrors reports whether an error of loading the estate consists only of errors of single root
// modules. If so, the other root modules can be planned.
func (e *Estate) OnlyRootErrors(err error) bool {
	n := 0
	for _, r := range e.Roots {
		n += len(tfdiags.FromError(r.Err))
	}
	return len(tfdiags.FromError(err)) <= n
}

// SensitiveOutputs returns the names of the outputs that the configuration declares as sensitive.
func (r *Root) SensitiveOutputs() []string { return r.sensitive }

// ByName returns the root module with the given name, or nil.
func (e *Estate) ByName(name string) *Root { return e.byName[name] }

// ByState returns the root module whose state is the given one, or nil.
func (e *Estate) ByState(id StateID) *Root { return e.byState.find(id.lastingKeys()) }

// Names returns the names of all root modules, sorted.
func (e *Estate) Names() []string {
	names := make([]string, len(e.Roots))
	for i, r := range e.Roots {
		names[i] = r.Name
	}
	return names
}

// Needs returns the root modules that a root module needs directly, without duplicates, sorted by
// name.
func (e *Estate) Needs(r *Root) []*Root {
	ids := slices.Clone(e.Graph.Needs(r.id))
	slices.Sort(ids)
	var out []*Root
	for _, id := range slices.Compact(ids) {
		out = append(out, e.Roots[id])
	}
	return out
}

// Reaches reports whether a root module is another one, or needs it directly or indirectly.
func (e *Estate) Reaches(r, other *Root) bool { return e.Graph.Reach(r.id)[other.id] }

// Index returns the index of a root module in Roots.
func (e *Estate) Index(r *Root) int { return int(r.id) }

// cycles returns an error for each cycle of root modules.
func (e *Estate) cycles() error {
	var errs tfdiags.Diagnostics
	for _, cycle := range e.Graph.Cycles() {
		var lines []string
		for i, id := range cycle {
			r, next := e.Roots[id], e.Roots[cycle[(i+1)%len(cycle)]]
			for _, read := range r.Reads {
				if read.Root == next {
					lines = append(lines,
						fmt.Sprintf("%s needs %s at %s", r.Name, next.Name, tfdiags.Place(read.Range)))
					break
				}
			}
		}
		errs.Add(tfdiags.Errorf("Cycle of root modules",
			"These root modules need each other, so none of them can come first:\n  %s",
			strings.Join(lines, "\n  ")))
	}
	return errs.Err()
}
