package explain

import (
	"context"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/planview"
)

const formatVersion = "1.0"

// These limit the number of different explanations, and the number of objects that are explained.
const (
	maxDifferent = 20
	maxObjects   = 200
)

// Subject is a plan, together with everything that is needed to explain it.
type Subject struct {
	View     *planview.Source
	Graph    *graph.Graph    // graph of the plan's apply
	Keys     reads.KnownKeys // keys of references to single instances; nil if they are not known
	Versions map[addrs.Provider]string
	// Values evaluates the values in the configuration. It is called only for questions about
	// values. It may return an error together with the values that the error does not affect.
	Values  func(context.Context) (*engine.PlannedValues, error)
	History *History // nil if the state has no history
}

// Valid returns an error unless a text is the address of something that can be explained.
func Valid(address string) error {
	_, isValue, err := addrs.ParseValueText(address)
	if err == nil && !isValue {
		_, err = addrs.ParseTargetText(address)
	}
	return err
}

// At explains what is at an address: a module, a resource, an instance, a variable, a local or an output.
func At(ctx context.Context, s *Subject, address string) (*Answer, error) {
	value, isValue, err := addrs.ParseValueText(address)
	if err != nil {
		return nil, err
	}
	if isValue {
		if output, ok := value.Value.(addrs.OutputValue); ok && value.Module.IsRoot() {
			return Output(s, output.Name)
		}
		return Value(ctx, s, value)
	}
	target, err := addrs.ParseTargetText(address)
	if err != nil {
		return nil, err
	}
	return Explain(ctx, s, target)
}

// Explain explains why the objects at an address are in the plan or why they are not. The address
// names a module, a resource, or an instance of either.
func Explain(ctx context.Context, s *Subject, target addrs.Target) (answer *Answer, err error) {
	e := newExplainer(s)
	of := e.covered(target)
	if target.Resource.Mode == addrs.Action {
		if err := e.Graph.Root.Config.FindAction(target); err != nil {
			return nil, err
		}
		if of = e.invoking(target); len(of) == 0 {
			return nil, tfdiags.Errorf("Action not invoked", "No change in this plan invokes %s. An action_trigger block names "+
				"it together with events; -invoke='%[1]s' invokes it without a change.", target)
		}
	}
	if len(of) == 0 {
		of = e.movedFrom(target)
	}
	r := s.Graph.Resource(target.Resource.In(target.Module.Module()))
	isModule := target.IsModule() && s.Graph.Modules[target.Module.Module()] != nil
	if len(of) == 0 && r == nil && !isModule {
		if check := s.View.Plan.Checks.Block(checks.KindCheck, target.String()); check != nil {
			return nil, tfdiags.Errorf("Checks are not explained", "%s is a check block, which makes no change. Its "+
				"result in this plan: %s.", target, check.Status)
		}
		return nil, tfdiags.Errorf("No such address", "Neither the configuration nor the state has %s.%s", target,
			suggest.DidYouMean(target.String(), e.names()))
	}
	answer = &Answer{FormatVersion: formatVersion, Address: target.String()}
	different := map[string]bool{}
	for _, c := range of {
		if !acts(c) {
			continue
		}
		answer.InPlan = true
		if len(answer.Objects) == maxObjects || len(different) > maxDifferent {
			answer.Omitted++
			continue
		}
		o := e.object(c)
		different[o.pattern(0)] = true
		if len(different) > maxDifferent {
			answer.Omitted++
			continue
		}
		o.LastChange, err = e.lastChange(ctx, c)
		if err != nil {
			return nil, err
		}
		answer.Objects = append(answer.Objects, o)
	}
	if !answer.InPlan {
		answer.WhyNot = e.whyNot(target, r, of)
		answer.LastChange, err = e.lastChangeAt(ctx, target)
	}
	if r != nil && r.Config != nil && r.Addr.Resource.Mode == addrs.Data {
		answer.Value = e.data(ctx, target, r)
	}
	return answer, err
}

// invoking returns the changes that invoke an action, or an instance of one.
func (e *explainer) invoking(target addrs.Target) []*plans.InstanceChange {
	var out []*plans.InstanceChange
	for _, c := range e.plan.Changes.Instances {
		if slices.ContainsFunc(c.Invocations, func(inv *plans.Invocation) bool { return target.ContainsInstance(inv.Addr) }) {
			out = append(out, c)
		}
	}
	return out
}

// Changes explains some changes of the plan: which attributes cause them, and where the new values
// come from. It says nothing about their order.
func Changes(s *Subject, of []*plans.InstanceChange) *Answer {
	e := newExplainer(s)
	answer := &Answer{FormatVersion: formatVersion, InPlan: len(of) > 0, Omitted: max(0, len(of)-maxObjects)}
	for _, c := range of[:min(len(of), maxObjects)] {
		o := e.object(c)
		o.WaitsFor, o.WaitedForBy, o.TakesAlong = nil, nil, nil
		answer.Objects = append(answer.Objects, o)
	}
	return answer
}

// acts reports whether an apply has anything to do for a change.
func acts(c *plans.InstanceChange) bool {
	return c.Action != plans.NoOp || c.MovedFrom != nil || c.Importing != nil
}

// explainer answers questions about one plan.
type explainer struct {
	*Subject
	plan     *plans.Plan
	byConfig map[addrs.ConfigResource][]*plans.InstanceChange
	drift    map[addrs.AbsInstance]*plans.InstanceChange
	known    graph.Known // analyzed expressions of single attributes

	// These are built when they are first needed.
	review      *planview.Plan
	steps       stepIndex
	storedUsers map[addrs.ConfigResource][]addrs.ConfigResource // users of each resource, according to the state
}

func newExplainer(s *Subject) *explainer {
	e := &explainer{Subject: s, plan: s.View.Plan, byConfig: map[addrs.ConfigResource][]*plans.InstanceChange{},
		drift: map[addrs.AbsInstance]*plans.InstanceChange{}}
	for _, c := range e.plan.Changes.Instances {
		e.byConfig[c.Addr.Config()] = append(e.byConfig[c.Addr.Config()], c)
	}
	for _, c := range e.plan.Drift {
		if c.Action != plans.NoOp {
			e.drift[c.Addr] = c
		}
	}
	return e
}

// covered returns the changes of the objects at an address.
func (e *explainer) covered(t addrs.Target) []*plans.InstanceChange {
	var out []*plans.InstanceChange
	if t.IsModule() {
		for _, c := range e.plan.Changes.Instances {
			if t.ContainsInstance(c.Addr) {
				out = append(out, c)
			}
		}
		return out
	}
	for _, c := range e.byConfig[t.Resource.In(t.Module.Module())] {
		if t.ContainsInstance(c.Addr) {
			out = append(out, c)
		}
	}
	return out
}

// movedFrom returns the changes of the objects that had an address before they were moved.
func (e *explainer) movedFrom(t addrs.Target) []*plans.InstanceChange {
	var out []*plans.InstanceChange
	for _, c := range e.plan.Changes.Instances {
		if c.MovedFrom != nil && t.ContainsInstance(*c.MovedFrom) {
			out = append(out, c)
		}
	}
	return out
}

// names returns the addresses of all called modules, resources and planned instances, for
// suggestions.
func (e *explainer) names() []string {
	var out []string
	for m := range e.Graph.Modules {
		if !m.IsRoot() {
			out = append(out, m.String())
		}
	}
	for _, r := range e.Graph.Resources {
		out = append(out, r.Addr.String())
		for _, c := range e.byConfig[r.Addr] {
			out = append(out, c.Addr.String())
		}
	}
	return out
}

func (e *explainer) object(c *plans.InstanceChange) *Object {
	heading, notes := planview.Heading(c, false)
	out := &Object{Address: c.Addr.String(), Deposed: string(c.Deposed), Action: c.Action.String(),
		Reason: string(c.Reason), Summary: heading, Notes: notes, change: c}
	if c.MovedFrom != nil {
		out.PreviousAddress = c.MovedFrom.String()
	}
	r := e.Graph.Resource(c.Addr.Config())
	if r != nil {
		out.Place = placeOf(r.Node.Range)
		out.Conditions = e.conditions(r, c)
		out.CheckedBy = e.checkedBy(r, c)
	}
	out.Notes = append(out.Notes, e.cause(c)...)
	out.Attributes = append(e.arguments(r, c), e.attributes(r, c)...)
	out.WaitsFor, out.WaitedForBy = e.waits(c)
	if removes(c.Action) {
		out.TakesAlong = e.takesAlong(c)
	}
	out.Provider = e.provider(c)
	return out
}

// removes reports whether an action removes an object.
func removes(a plans.Action) bool {
	return a == plans.Delete || a == plans.DeleteThenCreate || a == plans.CreateThenDelete
}

// causes explains actions that no attribute causes, by the reason of the action.
var causes = map[plans.Reason]string{
	plans.ReplaceTainted: "an earlier apply left the object tainted: it failed after the object was created, " +
		"or \"tofu taint\" marked it",
	plans.ReplaceByRequest:  "the option -replace requested it",
	plans.ReplaceByTriggers: "something in lifecycle.replace_triggered_by changes",
}

// cause returns the cause of an action. It returns nil if an attribute caused the action, or if the
// heading already states the cause.
func (e *explainer) cause(c *plans.InstanceChange) []string {
	switch text := causes[c.Reason]; {
	case text != "" && c.Action != plans.Create:
		return []string{text}
	case c.Action == plans.Create && e.deletedOutside(c):
		return []string{"the object was deleted outside of OpenTofu, and the configuration still has it"}
	case c.Action == plans.Create && c.Importing == nil:
		return []string{"the configuration has it, and the state has no such object"}
	case c.Action == plans.Delete && e.plan.Mode == plans.Destroy:
		return []string{"the option -destroy requested it"}
	case c.Action == plans.Forget && c.Reason == plans.DeleteNoResourceConfig:
		return []string{"the configuration no longer has the resource"}
	}
	return nil
}

// triggered reports whether replace_triggered_by replaces the object of a change. A new object can
// have the same reason, but needs no trigger.
func triggered(c *plans.InstanceChange) bool {
	return c.Reason == plans.ReplaceByTriggers && c.Action != plans.Create
}

// deletedOutside reports whether the object of a change was deleted outside of OpenTofu.
func (e *explainer) deletedOutside(c *plans.InstanceChange) bool {
	drift := e.drift[c.Addr]
	return drift != nil && drift.Action == plans.Delete && drift.Deposed == addrs.NotDeposed
}

func (e *explainer) provider(c *plans.InstanceChange) *Provider {
	out := &Provider{Address: c.Provider.String(), Version: e.Versions[c.Provider.Config.Provider]}
	if p := e.Graph.Providers[c.Provider.Config]; p != nil && p.Config != nil {
		out.Place = placeOf(&p.Config.Range)
	}
	return out
}
