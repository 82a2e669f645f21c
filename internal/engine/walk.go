package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/funcs"
	"tofu/internal/parallel"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// walk is one run over a finished graph. A module instance is written by its own node and read only by
// nodes that wait for that node, so no lock is needed; in an apply, it is written by its first reader.
// So are values (lazy.go). Data that several nodes write has its own lock.
type walk struct {
	op    *operation
	graph *graph.Graph

	halt   halt
	calls  *calls
	times  *timings.Walk
	walker *dag.Walker

	// Slices indexed by node or resource. Each node writes only its own entries.
	failed    []bool
	resources []resourceResult
	started   []*startedPlan // by the node that completes the resource; nil unless instances are planned separately

	eval      *evaluator
	needs     *instanceNeeds
	waiters   *waiters // set in an apply
	modules   moduleTree
	pending   pending
	deferrals deferrals
	providers *providerPool

	unchanged []bool                   // by resource, whether its block is left out; may be nil
	idle      map[*reads.Provider]bool // the provider configurations that only such blocks use

	inspected bool // whether the inspection has run at its node
	generated generatedBlocks

	out        *results
	ephemerals ephemerals
	actions    actionInstances
}

// newWalk builds the graph of an operation and returns a walk over it that starts from state. The
// walk is nil if the graph could not be built.
func newWalk(ctx context.Context, op *operation, state *states.State) (*walk, error) {
	end := op.env.Timings.Phase("graph")
	g, err := graph.Build(ctx, &op.Operation)
	end()
	if err != nil {
		return nil, err
	}
	w := &walk{
		op: op, graph: g, out: newResults(op, state), providers: &providerPool{},
		modules: make(moduleTree, len(g.Modules)), resources: make([]resourceResult, len(g.Resources)),
	}
	w.ephemerals.w = w
	w.eval = &evaluator{op: op, graph: g, out: w.out, modules: w.modules, providers: w.providers,
		stored: &storedCalls{}}
	w.eval.unfinished = newUnfinished(w)
	w.declareChecks()
	root := newModuleInstance(g.Root, addrs.RootInstance)
	if op.Phase != phase.Validate {
		w.eval.lazyCtx = ctx
	}
	w.eval.addLazy(root)
	w.modules.add(root)
	w.findUnchanged(state)
	return w, nil
}

// run walks the graph and returns all errors.
func (w *walk) run(ctx context.Context) error {
	w.calls = newCalls(w.op.env, nil)
	parallelism := w.calls.limit()
	w.eval.calls = w.calls
	evaluates := w.op.Phase.Applies() || w.op.Phase == phase.Eval && w.op.planned == nil
	w.eval.builtins = funcs.Table(funcs.Options{BaseDir: cmp.Or(w.op.env.Base, "."), PureOnly: !evaluates,
		PlanTimestamp: w.op.timestamp, Read: w.op.env.FileRead})
	w.eval.deprecates = w.eval.deprecatesAny()
	w.needs = newInstanceNeeds(w.eval)
	w.pending = pending{graph: w.graph, modules: w.modules, resources: w.resources,
		upstream: make([]bool, w.graph.Edges.Len())}
	w.failed = make([]bool, w.graph.Edges.Len())
	if w.op.Phase == phase.Plan {
		w.started = make([]*startedPlan, w.graph.Edges.Len())
	}
	if w.op.defers {
		w.deferrals.nodes = make([]*deferredNode, w.graph.Edges.Len())
	}
	begin, disable := w.halt.enable(ctx)
	w.calls.stop = begin.Done()
	defer disable()
	defer w.watchStop(ctx)()
	defer w.op.env.Timings.Phase("walk")()
	w.times = w.op.env.Timings.Walk(w.op.Phase.String(), len(w.graph.Nodes))

	// A node that waits for a provider call occupies a worker, so there are GOMAXPROCS more workers
	// for nodes that only compute.
	w.walker = dag.NewWalker(&w.graph.Edges)
	w.walker.Tolerates = w.tolerates
	if w.times != nil {
		w.walker.Queued = w.calls.ready
	}
	w.walker.Walk(begin, parallelism+runtime.GOMAXPROCS(0), func(id dag.ID) bool { return w.visit(ctx, id) })
	for _, s := range w.started {
		if s != nil && s.report != nil { // the walk was halted
			s.report()
		}
	}
	w.eval.unfinished, w.eval.over = nil, true // after the walk, expressions read whatever values exist
	w.times.End(w.walker.Graph(), func(id dag.ID) string { return w.graph.Nodes[id].Name })
	w.inspectLate(ctx)
	if w.op.Phase != phase.Eval { // providers of PhaseEval stay open for later expressions; see Eval
		w.closeAll(ctx)
	}
	if w.halt.isSet() && len(w.out.errs) == 0 {
		interrupted := tfdiags.Errorf("Operation interrupted",
			"Running changes have finished, reads were canceled, and nothing new was started.")
		interrupted.Extra = tfdiags.Interrupted{}
		w.out.report(interrupted)
	}
	return w.out.errs.Once().Err()
}

// tolerates reports whether a vertex is visited even if a dependency did not succeed.
func (w *walk) tolerates(id, dependency dag.ID) bool {
	nodes := w.graph.Nodes
	switch {
	case int(dependency) >= len(nodes):
		return false
	case int(id) >= len(nodes): // instances that are known are planned even if others are not
		return nodes[dependency].Kind == reads.KindExpand
	}
	return graph.Tolerates(nodes[id], nodes[dependency])
}

// watchStop halts the walk, and tells running providers to stop, when the environment's Stop is
// closed.
func (w *walk) watchStop(ctx context.Context) (end func()) {
	done, onStop := make(chan struct{}), w.op.env.Stop // a copy, because the caller may reuse env
	go func() {
		select {
		case <-done:
		case <-onStop:
			w.halt.set()
			w.stopProviders(ctx)
		}
	}()
	return func() { close(done) }
}

// visit visits a node and reports whether it succeeded.
func (w *walk) visit(ctx context.Context, id dag.ID) bool {
	w.failed[id] = true
	n := w.graph.Nodes[id]
	crash := w.guard(n.Name, func() error {
		w.visitNode(ctx, id, n)
		return nil
	})
	if crash != nil {
		w.out.report(crash)
		return false
	}
	return !w.failed[id]
}

func (w *walk) visitNode(ctx context.Context, id dag.ID, n *reads.Node) {
	if !n.Dropped { // the others would end some critical paths, since they may be visited late
		defer w.times.Visit(id)()
	}
	w.pending.visit(n)
	w.deferrals.visit(w.graph, n)
	if w.op.defers {
		if why := w.deferredInstance(n); why != nil {
			w.deferrals.add(n, why)
		}
	}
	err := n.Problems.Err()
	if err == nil && !n.Dropped {
		err = w.execute(ctx, n)
	}
	w.pending.visited(n)
	if err != nil && w.waiters != nil {
		w.waiters.lose(id)
	}
	if err != errReported {
		// While planning, resourcePlan.runOne has already reported the failure.
		if n.Kind != reads.KindResource || w.op.Phase != phase.Plan {
			w.out.fail(err)
		}
		w.out.report(err)
	}
	w.failed[id] = err != nil
}

// errReported is the error of a node whose errors are already reported.
var errReported = errors.New("reported")

// execute does the work of a node.
func (w *walk) execute(ctx context.Context, n *reads.Node) error {
	switch n.Kind {
	case reads.KindValue:
		return w.eval.visiting(n).evalValue(ctx, n.Value())
	case reads.KindCheck:
		return w.eval.visiting(n).evalCheck(ctx, n.Check())
	case reads.KindInspection:
		w.inspect(ctx, w.eval.visiting(n))
	case reads.KindAction:
		return w.visitAction(ctx, n)
	case reads.KindModule:
		return w.expandModule(ctx, n)
	case reads.KindExpand:
		return resourceVisit{w, n.Resource, n}.startPlan(ctx)
	case reads.KindResource:
		return w.visitResource(ctx, resourceVisit{w, n.Resource, n})
	case reads.KindStep:
		return stepVisit{w, n.Step()}.run(ctx)
	case reads.KindProvider:
		return providerVisit{w, n.Object.(*reads.Provider)}.start(ctx)
	case reads.KindProviderClose:
		if w.op.Phase != phase.Eval {
			w.providers.close(n.Object.(*reads.Provider))
		}
	case reads.KindEphemeralEnd:
		return w.ephemerals.closeAfter(ctx, n.Object.(*reads.Node))
	}
	return nil
}

// visitResource visits a resource as the phase requires.
func (w *walk) visitResource(ctx context.Context, v resourceVisit) error {
	switch w.op.Phase {
	case phase.Validate:
		return v.validate(ctx)
	case phase.Plan:
		if v.r.Inputs != v.r.Node {
			return v.planned(ctx)
		}
		return v.plan(ctx)
	case phase.PlanDestroy:
		return v.planDestroy(ctx)
	}
	if w.eval.opensAtNode(v.r) {
		return v.plan(ctx)
	}
	return v.decideAll()
}

// decideAll determines the instances of a resource in all instances of its module.
func (v resourceVisit) decideAll() error {
	var errs tfdiags.Diagnostics
	for _, in := range v.modules() {
		_, err := v.w.eval.expansionIn(v.r, in)
		errs = errs.AppendError(err)
	}
	return errs.Err()
}

// guard calls f. If f panics, guard returns an error and halts the walk so that nothing new starts.
// The results of completed and running work are still recorded.
func (w *walk) guard(what string, f func() error) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			w.halt.set()
			crash := tfdiags.CrashOf(problem)
			err = tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Crash", Address: what,
				Detail: fmt.Sprintf("An internal error occurred: %v.", crash.Problem), Extra: crash}
		}
	}()
	return f()
}

// trackWork starts timing the work on addr. The returned function stops the timer and records *err.
func (w *walk) trackWork(what string, addr addrs.AbsInstance) (end func(err *error)) {
	if w.op.env.Timings == nil {
		return func(*error) {}
	}
	ended := w.op.env.Timings.Work(what, addr)
	return func(err *error) { ended(*err) }
}

// each calls f for 0 to n-1, several at a time, and returns all errors in order. If n is greater
// than 1, it makes no further calls after the walk was halted.
func (w *walk) each(n int, f func(i int) error) error {
	if n == 1 {
		return f(0)
	}
	errs, started := make([]error, n), w.calls.ready()
	helpers, done := w.calls.share(n)
	defer done()
	parallel.Each(n, helpers, func(i int) {
		if !w.halt.isSet() {
			started()
			errs[i] = w.guard("", func() error { return f(i) })
		}
	})
	return tfdiags.Join(errs...)
}
