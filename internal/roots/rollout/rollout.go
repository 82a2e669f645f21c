package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/dag"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
)

// Rollout plans and applies the root modules of an estate.
type Rollout struct {
	Estate *roots.Estate
	// Open returns a session for a root module that prints to out.
	Open func(r *roots.Root, out io.Writer) *session.Session
	Mode plans.Mode
	// Options returns the options of a plan, which the plan may change.
	Options     func() *engine.PlanOptions
	Lock        session.LockOptions
	Parallelism int // provider calls of one root module; 0 for the default
	Workers     int // root modules at the same time
	// Report receives the results of root modules in the order of their names, each as early as
	// possible. Calls don't overlap.
	Report func(*Result)
}

// Status is what became of a root module.
type Status uint8

const (
	Skipped   Status = iota // a root module that it needs failed, or the run was interrupted
	Unchanged               // there is nothing to do
	Changed                 // there are changes, or they were applied
	Failed
)

// Result is what became of one root module.
type Result struct {
	Root   *roots.Root
	Status Status
	Output []byte // what its session printed: the plan, what was done, warnings
	Counts planview.Counts
	Err    error
	Behind []*roots.Root // the failed or skipped root modules because of which it is skipped

	Plan     []byte // the file of a plan with changes
	Deferred int    // number of changes that the plan puts off
	// Outputs are the planned outputs, or those after the apply.
	Outputs map[string]cty.Value

	sealed []byte // Outputs as a plan file has them, encrypted if plans are
}

// errSkipped says that a root module was not planned, so that it can't be applied.
var errSkipped = errors.New("skipped")

// order returns the graph of the estate, in reverse for a destruction.
func (r *Rollout) order() *dag.Graph {
	if r.Mode != plans.Destroy {
		return r.Estate.Graph
	}
	reverse := &dag.Graph{}
	for range r.Estate.Roots {
		reverse.Add()
	}
	for id := range dag.ID(reverse.Len()) {
		for _, need := range r.Estate.Graph.Needs(id) {
			reverse.Connect(need, id)
		}
	}
	return reverse
}

// visit runs do for each root module in order, and reports the results.
func (r *Rollout) visit(ctx context.Context, order *dag.Graph, do func(*Result) error) []*Result {
	results := make([]*Result, len(r.Estate.Roots))
	for i, root := range r.Estate.Roots {
		results[i] = &Result{Root: root}
	}
	queue := &reports{report: r.Report, results: results, done: make([]bool, len(results))}
	dag.Walk(ctx, order, r.Workers, func(id dag.ID) bool {
		result := results[id]
		err := do(result)
		switch {
		case err == nil:
			queue.finish(int(id))
			return true
		case err != errSkipped:
			result.Status, result.Err = Failed, err
		}
		queue.finish(int(id))
		r.skip(order, results, queue, id)
		return false
	})
	for i := range results {
		queue.finish(i) // the rest is skipped
	}
	return results
}

// skip finishes the root modules that need a failed one.
func (r *Rollout) skip(order *dag.Graph, results []*Result, queue *reports, failed dag.ID) {
	queue.mu.Lock()
	if queue.dependents == nil {
		queue.dependents = order.Dependents()
	}
	dependents := queue.dependents
	queue.mu.Unlock()
	for id := range dag.Reachable(dependents[failed], func(id dag.ID) []dag.ID { return dependents[id] }) {
		queue.mu.Lock()
		results[id].Behind = append(results[id].Behind, results[failed].Root)
		queue.mu.Unlock()
		queue.finish(int(id))
	}
}

// reports passes results on in the order of their indexes.
type reports struct {
	report  func(*Result)
	results []*Result

	mu         sync.Mutex
	done       []bool
	next       int
	dependents [][]dag.ID
}

// finish says that a result is complete.
func (q *reports) finish(i int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done[i] = true
	for ; q.next < len(q.results) && q.done[q.next]; q.next++ {
		q.report(q.results[q.next])
	}
}

// Plan plans all root modules.
func (r *Rollout) Plan(ctx context.Context) []*Result {
	order := r.Estate.Graph
	if r.Mode == plans.Destroy { // nothing depends on the plans of others
		order = r.order()
	}
	p := &planned{run: r, outputs: make([]map[string]cty.Value, len(r.Estate.Roots))}
	return r.visit(ctx, order, func(result *Result) error { return p.plan(ctx, result) })
}

// planned holds the planned outputs of root modules by index.
type planned struct {
	run     *Rollout
	mu      sync.Mutex
	outputs []map[string]cty.Value
}

func (p *planned) plan(ctx context.Context, result *Result) (err error) {
	root := result.Root
	if root.Err != nil {
		return root.Err
	}
	var out bytes.Buffer
	s := p.run.Open(root, &out)
	defer finish(s, result, &out)
	if p.run.Mode != plans.Destroy {
		s.Planned = p.lookup(s, root)
	}
	op, err := s.StartOperation(ctx, session.OperationOptions{Lock: p.run.Lock}, session.OperationPlan)
	if err != nil {
		return err
	}
	defer op.Close()
	op.Env.Parallelism, op.Env.Observe = p.run.Parallelism, nil
	plan, err := op.PlanUnseen(ctx, p.run.Options())
	if err != nil {
		return err
	}
	result.Outputs = plannedOutputs(plan)
	p.mu.Lock()
	p.outputs[p.run.Estate.Index(root)] = result.Outputs
	p.mu.Unlock()
	if result.sealed, err = seal(s, result.Outputs); err != nil {
		return err
	}
	result.Counts, result.Deferred = planview.Count(plan), len(plan.Deferred)
	result.Status = Unchanged
	if !plan.Applyable && !plan.Defers() {
		return nil
	}
	result.Status = Changed
	op.ShowPlan(ctx, &ui.PlanView{Plan: plan})
	if plan.Applyable {
		result.Plan, err = op.EncodePlan(terminal.UntilAbort(ctx), plan)
	}
	return err
}

// finish completes a result with what the session printed and its warnings.
func finish(s *session.Session, result *Result, out *bytes.Buffer) {
	s.Printer.Diagnostics(s.Warnings.Take())
	result.Output = out.Bytes()
}

// lookup returns the function that finds the planned outputs of the states that root reads.
func (p *planned) lookup(s *session.Session, root *roots.Root) func(
	context.Context, *session.BackendSettings, string) (map[string]cty.Value, bool, error) {
	return func(_ context.Context, settings *session.BackendSettings, workspace string) (
		map[string]cty.Value, bool, error) {
		id, err := roots.Identify(s, settings, workspace)
		if err != nil {
			return nil, false, err
		}
		of := p.run.Estate.ByState(id)
		if of == nil || of == root {
			return nil, false, nil
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		outputs := p.outputs[p.run.Estate.Index(of)]
		if outputs == nil {
			return nil, false, fmt.Errorf("the state belongs to the root module %s, which is not planned before %s, "+
				"because the settings of the data source are not known before planning", of.Name, root.Name)
		}
		return outputs, true, nil
	}
}

// plannedOutputs returns the outputs that a state has after a plan.
func plannedOutputs(plan *plans.Plan) map[string]cty.Value {
	out := stateOutputs(plan.Prior)
	for _, o := range plan.Changes.Outputs {
		value, _ := o.After.UnmarkDeep()
		if o.Action == plans.Delete || value.IsNull() {
			delete(out, o.Name) // states have no null outputs
			continue
		}
		out[o.Name] = value
	}
	return out
}

func stateOutputs(st *states.State) map[string]cty.Value {
	out := make(map[string]cty.Value)
	for name, o := range session.Outputs(st) {
		out[name] = o.Value
	}
	return out
}

// Apply applies the plans of root modules, which Plan or ReadFile returned.
func (r *Rollout) Apply(ctx context.Context, planned []*Result) []*Result {
	a := &applied{run: r, planned: planned, actual: make([]func() (map[string]cty.Value, error), len(planned))}
	for i := range planned {
		a.actual[i] = sync.OnceValues(func() (map[string]cty.Value, error) { return a.read(ctx, r.Estate.Roots[i]) })
	}
	return r.visit(ctx, r.order(), func(result *Result) error { return a.apply(ctx, result) })
}

// applied is one apply of an estate.
type applied struct {
	run     *Rollout
	planned []*Result
	// actual returns the outputs in the state of a root module, by index, after its turn.
	actual []func() (map[string]cty.Value, error)
}

func (a *applied) apply(ctx context.Context, result *Result) (err error) {
	plan := a.planned[a.run.Estate.Index(result.Root)]
	result.Status = Unchanged
	if plan.Status == Failed || plan.Status == Skipped {
		result.Status, result.Behind = Skipped, plan.Behind
		return errSkipped
	}
	if plan.Plan == nil {
		return nil
	}
	var out bytes.Buffer
	s := a.run.Open(result.Root, &out)
	defer finish(s, result, &out)
	if err := a.checkInputs(ctx, result.Root); err != nil {
		return err
	}
	saved, err := s.DecodePlan(ctx, result.Root.Name, plan.Plan, session.Variables{})
	if err != nil {
		return err
	}
	op, err := s.OpenPlan(ctx, saved, session.OperationOptions{Lock: a.run.Lock})
	if err != nil {
		return err
	}
	defer op.Close()
	op.Env.Parallelism = a.run.Parallelism
	result.Status = Changed
	st, tally, err := op.Apply(ctx, saved.Plan, saved.ID, &engine.ApplyOptions{Variables: op.Variables})
	if tally != nil {
		result.Counts = tally.Counts()
	}
	if err != nil {
		return err
	}
	result.Outputs, result.Deferred = stateOutputs(st), len(saved.Plan.Deferred)
	return nil
}

// read reads the outputs in the state of a root module.
func (a *applied) read(ctx context.Context, root *roots.Root) (map[string]cty.Value, error) {
	s := a.run.Open(root, io.Discard)
	open, err := s.OpenState(ctx, session.StateRequest{})
	if err != nil {
		return nil, err
	}
	return stateOutputs(open.State()), open.Close()
}

// checkInputs returns an error if a root module that root needs has other outputs than those that
// root was planned with.
func (a *applied) checkInputs(ctx context.Context, root *roots.Root) error {
	if a.run.Mode == plans.Destroy {
		return nil
	}
	var errs tfdiags.Diagnostics
	for _, need := range a.run.Estate.Needs(root) {
		i := a.run.Estate.Index(need)
		actual, err := a.actual[i]()
		var expected map[string]cty.Value
		if err == nil {
			expected, err = a.expected(ctx, i)
		}
		if err != nil {
			errs = errs.AppendError(err)
			continue
		}
		if names := contradictions(expected, actual); len(names) > 0 {
			errs.Add(tfdiags.Errorf("The plan no longer holds",
				"The root module %s was planned with other outputs of %s than it has now: %s. Nothing in %s was changed. "+
					"Make a new plan.", root.Name, need.Name, strings.Join(names, ", "), root.Name))
		}
	}
	return errs.Err()
}

// expected returns the planned outputs of a root module.
func (a *applied) expected(ctx context.Context, i int) (map[string]cty.Value, error) {
	result := a.planned[i]
	if result.Outputs != nil || result.sealed == nil {
		return result.Outputs, nil
	}
	return unseal(ctx, a.run.Open(result.Root, io.Discard), result.sealed)
}

// contradictions returns the names of planned outputs that have another value.
func contradictions(planned, actual map[string]cty.Value) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		want := planned[name]
		have, ok := actual[name]
		switch {
		case !ok && want.IsKnown():
			out = append(out, name+" is missing")
		case !ok:
		case !agrees(want, have):
			out = append(out, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(actual)) {
		if _, ok := planned[name]; !ok {
			out = append(out, name+" is new")
		}
	}
	return out
}

// agrees reports whether a value is what was planned, as far as that was known.
func agrees(planned, actual cty.Value) bool {
	switch {
	case !planned.IsKnown():
		return !planned.Range().Includes(actual).RawEquals(cty.False)
	case planned.IsNull() || actual.IsNull():
		return planned.IsNull() == actual.IsNull()
	case planned.IsWhollyKnown():
		return planned.RawEquals(actual)
	case !planned.CanIterateElements() || !actual.CanIterateElements():
		return false
	case planned.Type().IsSetType():
		return true // unknown elements may be equal to others
	}
	if planned.LengthInt() != actual.LengthInt() {
		return false
	}
	for it := planned.ElementIterator(); it.Next(); {
		key, want := it.Element()
		have, err := element(actual, key)
		if err != nil || !agrees(want, have) {
			return false
		}
	}
	return true
}

func element(v, key cty.Value) (cty.Value, error) {
	if v.Type().IsObjectType() {
		if name := key.AsString(); v.Type().HasAttribute(name) {
			return v.GetAttr(name), nil
		}
		return cty.NilVal, errors.New("no such attribute")
	}
	if v.HasIndex(key).RawEquals(cty.True) {
		return v.Index(key), nil
	}
	return cty.NilVal, errors.New("no such element")
}
