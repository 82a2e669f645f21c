package fleet

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"tofu/internal/dag"
	"tofu/internal/engine"
	"tofu/internal/pace"
	"tofu/internal/parallel"
	"tofu/internal/plugin"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
	"tofu/internal/ui"
)

// DefaultRoots is the number of root modules that are processed at the same time unless an option
// sets another number.
const DefaultRoots = 10

// Run is a run over the root modules of an estate.
type Run struct {
	Session  *session.Session // session of the command
	Estate   *roots.Estate
	Selected []*roots.Root // the root modules of the run
	// Directories are the directories below which the estate was found; empty for the working
	// directory.
	Directories []string

	Roots   int // maximum number of root modules processed at once; 0 means DefaultRoots
	Options session.OperationOptions

	// Printer returns the printer for a root module. A human-readable printer writes to out, whose
	// content is shown when the root module is finished.
	Printer func(r *roots.Root, out io.Writer) ui.Printer
	Events  bool // also print when planning a resource starts and ends
	// Show shows the output of a finished root module and, unless events are printed, its error.
	// Calls don't overlap and are in the order of the run.
	Show func(r *roots.Root, result *Result, text []byte)
	// Still, if not nil, is called at intervals while root modules are planned, with a line about that.
	Still func(line string)
	// ShareProviders makes root modules with equal provider configurations share provider
	// processes. Shared processes run in the working directory of this program.
	ShareProviders bool
	// Budget shares the rates of providers with other processes. It is nil if they are not shared.
	Budget pace.Budget
	// Moves are moves between root modules that are planned, but not carried out. Moved has the states after them.
	Moves []Move
	Moved map[*roots.Root]*states.State
	// Repeated is the number of provider processes that ShareProviders would have saved. It is set by
	// the methods that run.
	Repeated int
}

// activity describes what a run is doing, for the progress display.
type activity struct{ phase, what string }

var (
	planningRoots = activity{"Planning root modules", "Planning"}
	applyingRoots = activity{"Applying root modules", "Applying"}
	planningLeft  = activity{"Planning what is left", "Planning"}
)

// job is the work on one root module.
type job func(ctx context.Context, s *session.Session, r *roots.Root) *Result

// queue holds the root modules of a run in dependency order: each root module comes after those
// that it needs; otherwise they are sorted by name. For destruction, the order is reversed.
type queue struct {
	list  []*roots.Root
	graph *dag.Graph // vertices are indexes in list
	// uses holds, for each root module, the root modules that must succeed before it may start. The
	// other root modules that it needs must only be finished; see [roots.Root.Uses].
	uses [][]dag.ID
}

// order returns the queue of the run. reverse reverses the order, for destruction.
func (run *Run) order(reverse bool) *queue {
	selected := make(map[int]bool, len(run.Selected))
	for _, r := range run.Selected {
		selected[run.Estate.Index(r)] = true
	}
	q := &queue{graph: &dag.Graph{}}
	w := dag.NewWalker(run.Estate.Graph) // vertices are numbered in the order of names
	w.LowestFirst = true
	w.Walk(context.Background(), 1, func(id dag.ID) bool {
		if selected[int(id)] {
			q.list = append(q.list, run.Estate.Roots[id])
		}
		return true
	})
	if reverse {
		slices.Reverse(q.list)
	}
	at := make(map[*roots.Root]dag.ID, len(selected))
	for _, r := range q.list {
		at[r] = q.graph.Add()
	}
	q.uses = make([][]dag.ID, len(q.list))
	for _, r := range q.list {
		uses := r.Uses()
		for _, needed := range run.Estate.Needs(r) {
			if !selected[run.Estate.Index(needed)] {
				continue
			}
			from, to := at[r], at[needed]
			if reverse {
				from, to = to, from
			}
			q.graph.Connect(from, to)
			if reverse || uses[needed] {
				q.uses[from] = append(q.uses[from], to)
			}
		}
	}
	return q
}

// each runs a job for every root module of the run, several at a time. Each job runs after those of
// the root modules that its root module needs or, if reverse is set, that need it. If a job fails,
// the root modules that require its success are skipped; see queue.uses. After an interrupt, no job
// starts.
func (run *Run) each(ctx context.Context, doing activity, reverse bool, do job) []*Result {
	q := run.order(reverse)
	list := q.list
	run.Options.Slots = pace.New(run.Options.Limits.Over(run.Estate.Limits).Over(run.Session.CLI.Limits))
	run.Options.Slots.Share(run.Budget)
	run.Options.Found = &sync.Map{}
	run.Session.Timings.Limited(run.Options.Slots.Report)
	shared := &plugin.Shared{Configured: run.ShareProviders}
	defer run.Session.SharePlugins(shared)()
	workers := cmp.Or(run.Roots, DefaultRoots)
	results := make([]*Result, len(list))
	parsed := run.Estate.Parsed(run.Session.Parser, list)
	shown := parallel.InOrder(func(i int, text []byte) {
		run.Show(list[i], results[i], text)
		parsed.Finished(list[i]) // only after Show, which needs the source text to show errors
	})
	defer run.Session.Timings.Phase(strings.ToLower(doing.phase))()
	live := run.Session.Live
	live.Phase(doing.phase, len(list))
	live.Parallel(workers)
	live.Order(q.waiting())
	defer live.Phase("", 0)
	pulse := &pulse{what: doing.phase, total: len(list)}
	if doing != applyingRoots { // an apply prints the objects that it changes
		defer pulse.start(run.Still)()
	}
	w := dag.NewWalker(q.graph)
	w.LowestFirst = true // results are shown in this order, and results that wait for others take memory
	times := run.Session.Timings.Walk(strings.ToLower(doing.phase), len(list))
	w.Walk(ctx, workers, func(id dag.ID) bool {
		defer times.Visit(id)()
		var text []byte
		if results[id] = run.blocked(ctx, q, id, results); results[id] == nil {
			live.Begin(list[id].Name, doing.what)
			end := pulse.visit(list[id].Name)
			results[id], text = run.work(ctx, list[id], do)
			end()
			live.End(list[id].Name)
		}
		shown.Add(int(id), text)
		return true // even after a failure, because blocked decides what must not start
	})
	run.Repeated += shared.Repeated()
	times.End(q.graph, func(id dag.ID) string { return list[id].Name })
	for i, r := range list {
		if results[i] == nil {
			if results[i] = q.blocked(q.uses[i], r, results); results[i] == nil {
				results[i] = &Result{Root: r, Skipped: true, Why: whyInterrupted}
			}
			shown.Add(i, nil)
		}
	}
	if doing != applyingRoots { // an apply has the options of its plan
		run.warnUnknown(results)
	}
	return results
}

// warnUnknown warns of names in options that none of the root modules has, if that is known of all.
func (run *Run) warnUnknown(results []*Result) {
	partly := slices.ContainsFunc(results, func(r *Result) bool { return r.Err != nil || r.Skipped })
	if partly || len(results) == 0 || run.Budget != nil {
		return
	}
	unknown := func(name string) bool { _, found := run.Options.Found.Load(name); return !found }
	for _, name := range run.Options.Limits.Names() {
		if unknown(name) {
			d := session.UnknownProvider(name, "no root module of this run uses", " The limit has no effect.")
			run.Session.Warnings.Add(d.List().AsWarnings()...)
		}
	}
	for _, pattern := range run.Options.Refresh.Patterns() {
		if unknown(pattern) {
			run.Session.Warnings.Add(session.UnknownType(pattern, "the states of this run", ""))
		}
	}
}

// work runs a job for a root module and returns what it printed.
func (run *Run) work(ctx context.Context, r *roots.Root, do job) (*Result, []byte) {
	var text bytes.Buffer
	times, end := run.Session.Timings.Root(r.Name)
	defer end()
	s := run.open(r, &text, times)
	defer s.Close()
	start := time.Now()
	result := do(ctx, s, r)
	if err := s.Unreleased(); err != nil {
		result.Err = tfdiags.Join(result.Err, err)
	}
	result.Elapsed = time.Since(start)
	s.Printer.Diagnostics(s.Warnings.Take())
	if run.Events {
		s.Printer.Diagnostics(tfdiags.FromError(result.Err))
		if s.Incomplete != nil && result.Err != nil {
			s.Printer.Message(*s.Incomplete)
		}
	}
	result.Incomplete = s.Incomplete
	return result, text.Bytes()
}

// observer returns a function that passes the events of planning a root module to the live display, and
// failures to the printer, too.
func (run *Run) observer(r *roots.Root, printer ui.Printer) func(engine.Event) {
	return func(e engine.Event) {
		run.Session.Live.RootEvent(r.Name, e)
		if ui.IsFailure(e) {
			printer.Event(e)
		}
	}
}

// waiting returns a function that takes the name of a root module, and returns the names of the
// root modules that need it.
func (q *queue) waiting() func(name string) []string {
	dependents := q.graph.Dependents()
	ids := make(map[string]dag.ID, len(q.list))
	for i, r := range q.list {
		ids[r.Name] = dag.ID(i)
	}
	return func(name string) []string {
		var out []string
		for _, id := range dependents[ids[name]] {
			out = append(out, q.list[id].Name)
		}
		return out
	}
}

const whyInterrupted = "the run was interrupted"

// blocked returns the result of a root module that must not start because another root module did
// not succeed, or nil if it may start.
func (run *Run) blocked(ctx context.Context, q *queue, id dag.ID, results []*Result) *Result {
	r := q.list[id]
	if out := q.blocked(q.uses[id], r, results); out != nil {
		return out
	}
	for _, needed := range q.graph.Needs(id) {
		if results[needed].Failed() && !run.hasState(ctx, q.list[needed]) {
			return q.blocked([]dag.ID{needed}, r, results)
		}
	}
	return nil
}

// hasState reports whether a root module has a state that others can read, or may have one.
func (run *Run) hasState(ctx context.Context, r *roots.Root) bool {
	s := run.open(r, io.Discard, run.Session.Timings)
	defer s.Close()
	of, err := roots.LastState(ctx, s)
	if err != nil {
		return true
	}
	_, found, err := s.ReadRemote(ctx, of)
	return found || err != nil
}

// blocked returns the result that stops the root module r from starting because a root module in
// uses did not succeed. It returns nil if all succeeded. If both a failure and an interrupt block
// r, the reason is the failure.
func (q *queue) blocked(uses []dag.ID, r *roots.Root, results []*Result) (out *Result) {
	for _, used := range uses {
		of := results[used]
		if of == nil || !of.Failed() {
			continue
		}
		out = cmp.Or(out, &Result{Root: r, Skipped: true, Why: whyInterrupted})
		switch {
		case of.Skipped:
			out.Because = of.Because
		case !interrupted(of.Err):
			out.Because = of.Root.Name
		}
		if out.Because != "" {
			out.Why = "it needs " + out.Because + ", which failed"
			break
		}
	}
	return out
}

// interrupted reports whether an error only says that the user interrupted the operation.
func interrupted(err error) bool {
	return !slices.ContainsFunc(tfdiags.FromError(err), func(d tfdiags.Diagnostic) bool {
		_, is := d.Extra.(tfdiags.Interrupted)
		return !is
	})
}

// open returns a new session for a root module.
func (run *Run) open(r *roots.Root, out io.Writer, times *timings.Recorder) *session.Session {
	t := terminal.New(&terminal.Streams{Out: out, Err: out, Width: run.Session.Width})
	t.Color, t.Scripted = run.Session.Color, run.Session.Scripted
	t.Printer = run.Printer(r, out)
	m := r.Module()
	m.Timings = times
	s := run.Session.At(m, t)
	s.Estate = &session.EstateMoves{Prior: run.Moved[r]}
	return s
}
