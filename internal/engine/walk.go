package engine

import (
	"context"
	"fmt"
	"runtime"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/lang/funcs"
	"tofu/internal/parallel"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// walk is one run over a finished tree. Values and module instances are written by the node that makes them and read by nodes that
// wait for it, so they need no lock; what every node may write has one: mu.
type walk struct {
	op    *operation
	graph *graph.Graph

	// ctx is for calls: it ends when nothing may be waited for any more. begin ends when nothing new may start.
	ctx, begin context.Context
	halt       context.CancelFunc // ends begin
	calls      *calls
	times      *timings.Walk

	// By the number of the node, module or resource. Each node writes its own entries.
	upstreamPending []bool // a resource that the node waits for, directly or not, has a pending change
	failed          []bool
	resources       []resourceResult

	eval      *evaluator
	modules   moduleTree
	providers *providerPool

	inspected bool // the inspection was made in its place
	generated generatedBlocks

	out        *results
	ephemerals ephemerals
}

// newWalk builds the graph of an operation and makes a walk of it that starts from a state. The walk is nil when there is no graph to
// walk.
func newWalk(ctx context.Context, op *operation, state *states.State) (*walk, tfdiags.Diagnostics) {
	end := op.env.Timings.Phase("graph")
	g, diags := graph.Build(ctx, &op.Operation)
	end()
	if diags.HasErrors() {
		return nil, diags
	}
	w := &walk{
		op: op, graph: g, ctx: ctx, out: newResults(op, state), providers: &providerPool{},
		modules: make(moduleTree, len(g.Modules)), resources: make([]resourceResult, len(g.Resources)),
	}
	w.ephemerals.w = w
	w.eval = &evaluator{op: op, graph: g, out: w.out, modules: w.modules, providers: w.providers}
	w.eval.declareChecks()
	w.modules.add(newModuleInstance(g.Root, addrs.RootInstance))
	return w, diags
}

const defaultParallelism = 10

// run walks the graph and gives everything that went wrong.
func (w *walk) run() tfdiags.Diagnostics {
	parallelism := w.op.env.Parallelism
	if parallelism <= 0 {
		parallelism = defaultParallelism
	}
	w.calls = newCalls(parallelism, w.op.env.Timings)
	w.eval.calls = w.calls
	w.eval.builtins = funcs.Table(funcs.Options{BaseDir: ".", PureOnly: !w.op.Phase.Applies() && w.op.Phase != graph.PhaseEval, PlanTimestamp: w.op.timestamp})
	w.eval.deprecates = w.eval.deprecatesAny()
	w.upstreamPending = make([]bool, w.graph.Edges.Len())
	w.failed = make([]bool, w.graph.Edges.Len())
	stop := w.watchSignals()
	defer stop()
	defer w.op.env.Timings.Phase("walk")()
	w.times = w.op.env.Timings.Walk(w.op.Phase.String(), len(w.graph.Nodes))

	// A node that waits for a call holds no place that a value could be computed in.
	dag.Walk(w.begin, &w.graph.Edges, parallelism+runtime.GOMAXPROCS(0), w.visit)
	w.times.End(&w.graph.Edges, func(id dag.ID) string { return w.graph.Nodes[id].Name })
	w.inspectLate()
	if w.op.Phase != graph.PhaseEval { // see Eval
		w.closeAll()
	}
	if w.begin.Err() != nil && !w.out.diags.HasErrors() {
		w.out.diags = w.out.diags.Append(tfdiags.Errorf("Operation interrupted", "What was under way was finished and recorded; nothing new was started."))
	}
	return w.out.diags
}

// watchSignals turns the environment's two channels into contexts and tells running providers to stop.
func (w *walk) watchSignals() (end func()) {
	outer := w.ctx
	calls, kill := context.WithCancel(outer)
	begin, stop := context.WithCancel(calls)
	w.ctx, w.begin, w.halt = calls, begin, stop
	w.eval.ctx = calls
	done := make(chan struct{})
	onStop, onKill := w.op.env.Stop, w.op.env.Kill // the caller may use its environment again before the goroutine has ended
	go func() {
		select {
		case <-done:
			return
		case <-onStop:
			stop()
			w.stopProviders()
		case <-onKill:
			kill()
			return
		}
		select {
		case <-done:
		case <-onKill:
			kill()
		}
	}()
	return func() { close(done) }
}

func (w *walk) visit(id dag.ID) bool {
	defer w.times.Visit(id)()
	n := w.graph.Nodes[id]
	for _, need := range w.graph.Edges.Needs(id) {
		if w.upstreamPending[need] {
			w.upstreamPending[id] = true
			break
		}
	}
	diags := n.Problems
	if !diags.HasErrors() && !n.Dropped {
		diags = append(diags[:len(diags):len(diags)], w.guard(n.Name, func() tfdiags.Diagnostics { return w.execute(n) })...)
	}
	if n.Resource != nil && w.result(n.Resource).pending.exist() {
		w.upstreamPending[id] = true
	}
	w.out.report(diags)
	w.failed[id] = diags.HasErrors()
	return !w.failed[id]
}

// execute does what the node stands for.
func (w *walk) execute(n *graph.Node) tfdiags.Diagnostics {
	switch n.Kind {
	case graph.KindValue:
		return w.eval.evalValue(n.Object.(*graph.Value))
	case graph.KindCheck:
		return w.eval.evalCheck(n.Object.(*graph.Check))
	case graph.KindInspection:
		w.inspect()
	case graph.KindModule:
		return w.eval.expandModule(n.Object.(*graph.Module))
	case graph.KindExpand:
		return w.visitor(n.Resource).expandForSteps()
	case graph.KindResource:
		return w.visitResource(n.Resource)
	case graph.KindResourceIn:
		return w.visitor(n.Resource).completeIn(w.modules.at(n.Resource.Module, n.In))
	case graph.KindStep:
		return stepVisit{w, n.Object.(*graph.Step)}.run()
	case graph.KindProvider:
		return providerVisit{w, n.Object.(*graph.Provider)}.start()
	case graph.KindProviderClose:
		if w.op.Phase != graph.PhaseEval {
			w.providers.close(n.Object.(*graph.Provider))
		}
	case graph.KindEphemeralEnd:
		return w.ephemerals.close(n.Object.(*graph.Resource))
	}
	return nil
}

// visitResource does for a resource as a whole what the phase requires.
func (w *walk) visitResource(r *graph.Resource) tfdiags.Diagnostics {
	switch w.op.Phase {
	case graph.PhaseValidate:
		return w.visitor(r).validate()
	case graph.PhasePlan:
		return w.visitor(r).plan()
	case graph.PhasePlanDestroy:
		return w.visitor(r).planDestroy()
	case graph.PhaseEval:
		return w.visitor(r).evaluate()
	}
	return w.visitor(r).complete()
}

// guard turns a panic into an error, and has nothing new started after it: what was done before, and what others are at, is still
// recorded and returned.
func (w *walk) guard(what string, f func() tfdiags.Diagnostics) (diags tfdiags.Diagnostics) {
	defer func() {
		if problem := recover(); problem != nil {
			w.halt()
			crash := tfdiags.CrashOf(problem)
			diags = tfdiags.Diagnostics{{Severity: tfdiags.Error, Summary: "Crash", Address: what,
				Detail: fmt.Sprintf("The program came upon a mistake of its own: %v.", crash.Problem), Extra: crash}}
		}
	}()
	return f()
}

// work takes note of the work on an instance; the result ends it, looking at what came of it by then.
func (w *walk) trackWork(what string, addr addrs.AbsInstance) (end func(*tfdiags.Diagnostics)) {
	if w.op.env.Timings == nil {
		return func(*tfdiags.Diagnostics) {}
	}
	ended := w.op.env.Timings.Work(what, addr)
	return func(diags *tfdiags.Diagnostics) { ended(diags.HasErrors()) }
}

// halted tells whether nothing new may start.
func (w *walk) halted() bool { return w.begin.Err() != nil }

// each runs f for 0 to n-1, several at once, and gives all diagnostics in order.
func (w *walk) each(n int, f func(i int) tfdiags.Diagnostics) tfdiags.Diagnostics {
	if n == 1 {
		return f(0)
	}
	results := make([]tfdiags.Diagnostics, n)
	parallel.Each(n, w.calls.limit(), func(i int) {
		if !w.halted() {
			results[i] = w.guard("", func() tfdiags.Diagnostics { return f(i) })
		}
	})
	var diags tfdiags.Diagnostics
	for _, d := range results {
		diags = append(diags, d...)
	}
	return diags
}
