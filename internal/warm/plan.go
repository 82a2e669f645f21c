package warm

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/explain"
	"tofu/internal/fleet"
	"tofu/internal/graphview"
	"tofu/internal/lang"
	"tofu/internal/lang/nesting"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/version"
)

// Refresh says which objects and data sources a plan reads.
type Refresh uint8

const (
	// Keep reads what no plan of this process has read: what was read is taken from memory.
	Keep Refresh = iota
	All          // everything again, as `tofu plan` does
	None         // no objects, as with -refresh=false, and data sources as Keep
)

var refreshes = map[string]Refresh{"": Keep, "keep": Keep, "all": All, "none": None}

var modes = map[string]plans.Mode{"": plans.Normal, "normal": plans.Normal, "destroy": plans.Destroy,
	"refresh-only": plans.RefreshOnly}

// PlanRequest is a plan as clients ask for it.
type PlanRequest struct {
	Mode     string   `json:"mode,omitempty" jsonschema:"normal (the default), destroy or refresh-only"`
	Refresh  string   `json:"refresh,omitempty" jsonschema:"which objects are read again: none of those that are known (keep, the default), all, or no objects at all (none)"`
	Targets  []string `json:"targets,omitempty" jsonschema:"addresses of modules, resources or instances to which the plan is limited"`
	Excludes []string `json:"excludes,omitempty" jsonschema:"addresses of modules, resources or instances that the plan leaves out"`
	Replace  []string `json:"replace,omitempty" jsonschema:"addresses of instances to replace"`
}

// Options returns the options of the plan, or says what is wrong with the request.
func (r *PlanRequest) Options() (PlanOptions, error) {
	mode, known := modes[r.Mode]
	refresh, knownRefresh := refreshes[r.Refresh]
	if !known || !knownRefresh {
		return PlanOptions{}, tfdiags.Errorf("Unknown kind of plan", "The mode must be normal, destroy or refresh-only, and "+
			"refresh must be keep, all or none, not %q and %q.", r.Mode, r.Refresh)
	}
	opts := PlanOptions{Mode: mode, Refresh: refresh}
	var errs [3]error
	opts.Targets, errs[0] = Targets(r.Targets)
	opts.Exclude, errs[1] = Targets(r.Excludes)
	for _, text := range r.Replace {
		addr, err := addrs.ParseInstanceText(text)
		errs[2] = tfdiags.Join(errs[2], err)
		opts.Replace = append(opts.Replace, addr)
	}
	return opts, tfdiags.Join(errs[:]...)
}

// Targets parses addresses.
func Targets(texts []string) (out []addrs.Target, err error) {
	for _, text := range texts {
		target, problem := addrs.ParseTargetText(text)
		err = tfdiags.Join(err, problem)
		out = append(out, target)
	}
	return out, err
}

// PlanOptions select the kind of plan, as the options of `tofu plan` do.
type PlanOptions struct {
	Mode             plans.Mode
	Refresh          Refresh
	Targets, Exclude []addrs.Target
	Replace          []addrs.AbsInstance
	Alone            bool // outputs of other root modules of the estate are those of their states
	// Observe, if not nil, receives the progress. It must be safe for concurrent use.
	Observe func(engine.Event)

	save func(context.Context, *session.Operation, *Plan) error // stores a plan without errors; may be nil
}

// Plan is a plan, or the reasons why it could not be made.
type Plan struct {
	Answer
	// View is the plan with its configuration and schemas; nil if nothing could be planned. A plan with
	// errors has what could be planned.
	View *ui.PlanView
	// Read is since when objects may have changed outside without being noticed by the plan.
	Read time.Time

	env       *engine.Env
	remote    map[string]*roots.Root                          // see shownData
	explained func(context.Context) (*explain.Subject, error) // nil unless the plan has no errors
	subject   atomic.Pointer[explain.Subject]                 // set by the first explanation
}

// Plan plans the root module. It takes no lock, writes no state and saves nothing. After errors in the
// configuration the plan has only diagnostics. The error is that of ctx. In an estate, the plan sees the
// planned outputs of other root modules, except for a destruction and with Alone.
func (m *Module) Plan(ctx context.Context, opts PlanOptions) (*Plan, error) {
	at := m.core.current()
	m.mu.Lock()
	e := m.estate
	m.mu.Unlock()
	var out *Plan
	var err error
	switch {
	case e == nil:
		return m.plan(ctx, at, opts, nil)
	case opts.save != nil, opts.Mode == plans.Destroy, opts.Alone:
		var member *fleet.Member
		if member, err = e.alone(ctx, at, m.name, opts.Mode); err == nil {
			return m.plan(ctx, at, opts, member)
		}
	default:
		out, err = e.plan(ctx, at, m, opts)
	}
	if out == nil {
		out = &Plan{Answer: Answer{Revision: at.revision, Source: at.parser.Source}}
		out.Diagnostics = tfdiags.FromError(err)
	}
	return out, context.Cause(ctx)
}

// plan plans the root module at a moment, in an estate as one of its members.
func (m *Module) plan(ctx context.Context, at moment, opts PlanOptions, member *fleet.Member) (*Plan, error) {
	out := &Plan{}
	answer, err := m.run(ctx, at, opts.Observe, func(ctx context.Context, q *question) error {
		*out = Plan{Read: m.memory.Again(opts.Refresh == All)}
		if opts.save != nil {
			m.memory.Forget() // the time of a plan that is stored is that of the request
		}
		if member != nil {
			if err := member.Prepare(ctx, q.Session); err != nil {
				return err
			}
		}
		op, err := q.StartOperation(ctx, session.OperationOptions{Variables: q.opts.Variables, Lint: q.opts.Lint,
			Memory: &m.memory}, session.OperationRead)
		if err != nil {
			return err
		}
		defer op.Close()
		plan, err := op.PlanUnseen(ctx, opts.engine())
		if plan == nil {
			return err
		}
		out.complete(ctx, op, plan, err == nil)
		if member != nil {
			out.remote = remote(member.Root)
		}
		if err == nil && member != nil {
			member.Planned(op, plan)
		}
		if err == nil && opts.save != nil && member != nil {
			err = member.Guarded(q.Session)
		}
		if err == nil && opts.save != nil {
			err = opts.save(terminal.UntilAbort(ctx), op, out)
		}
		return err
	})
	out.Answer = answer
	return out, err
}

// Present returns a plan of the present files that reads only what is not known.
func (m *Module) Present(ctx context.Context) (*Plan, error) { return m.Plan(ctx, PlanOptions{}) }

// engine returns the options for the engine. The plan counts as saved, so it lists every object.
func (o *PlanOptions) engine() *engine.PlanOptions {
	return &engine.PlanOptions{Mode: o.Mode, SkipRefresh: o.Refresh == None, Targets: o.Targets, Excludes: o.Exclude,
		ForceReplace: o.Replace, Defer: true}
}

// complete adds a plan and what is needed to show and to explain it.
func (p *Plan) complete(ctx context.Context, op *session.Operation, plan *plans.Plan, whole bool) {
	ctx = terminal.UntilAbort(ctx)
	schemas := map[addrs.Provider]*providers.Schema{}
	for addr := range session.Requirements(op.Config.Config, op.State.State()) {
		schemas[addr], _ = op.Providers.Schema(ctx, addr)
	}
	p.View = &ui.PlanView{Plan: plan, Config: op.Config.Config,
		Schemas: func(p addrs.Provider) *providers.Schema { return schemas[p] }}
	p.env = op.QuietEnv()
	p.env.Warn = nil
	if !whole {
		return
	}
	p.explained = func(ctx context.Context) (*explain.Subject, error) { return op.Explained(ctx, p.View) }
}

// Schemas returns the schemas of all providers that the configuration or the state uses; nil without a
// plan.
func (p *Plan) Schemas() ui.Schemas {
	if p.View == nil {
		return nil
	}
	return p.View.Schemas
}

// WriteJSON writes the plan as `tofu show -json` writes a saved one.
func (p *Plan) WriteJSON(w io.Writer) error {
	if p.View == nil {
		return p.missing()
	}
	return ui.WritePlan(w, p.View, version.String, version.Engine())
}

// missing returns the error of a question about a plan that failed.
func (p *Plan) missing() error {
	if err := p.Diagnostics.Err(); err != nil {
		return err
	}
	return tfdiags.Errorf("No plan", "The configuration could not be planned.")
}

// Explain explains why something is in the plan, or why not, as `tofu explain` does.
func (p *Plan) Explain(ctx context.Context, address string) (*explain.Answer, error) {
	if p.explained == nil {
		return nil, p.missing()
	}
	subject := p.subject.Load()
	if subject == nil {
		var err error
		if subject, err = p.explained(ctx); err != nil {
			return nil, err
		}
		p.subject.Store(subject)
	}
	return explain.At(ctx, subject, address)
}

// Graph returns the graph of the plan that `tofu graph -format=json` shows.
func (p *Plan) Graph(ctx context.Context) (*graphview.Graph, error) {
	if p.View == nil {
		return nil, p.missing()
	}
	op := engine.GraphOperation(p.View.Config, p.View.Plan.Prior, p.env, engine.GraphApply, p.View.Plan)
	built, err := graph.Build(ctx, op)
	if err != nil {
		return nil, err
	}
	return graphview.Build(built, p.View.Plan, op.Early(built)), nil
}

// Values returns the values in the configuration after the plan. What is decided during the apply is
// unknown. After errors it returns the values that don't depend on them.
func (p *Plan) Values(ctx context.Context) (*engine.PlannedValues, error) {
	if p.View == nil {
		return nil, p.missing()
	}
	return engine.EvalPlanned(ctx, p.View.Config, p.View.Plan, p.env)
}

// Evaluate returns the value of an expression in a module instance, with the values after the plan.
func (p *Plan) Evaluate(ctx context.Context, in addrs.ModuleInstance, text string) (cty.Value, error) {
	values, err := p.Values(ctx)
	if values == nil {
		return cty.NilVal, err
	}
	scope := p.Scope(ctx, values, in)
	if scope == nil {
		return cty.NilVal, tfdiags.Errorf("No such module", "The plan has no module instance %s.", in)
	}
	return Expression(scope, text)
}

// Expression evaluates the text of an expression in a scope.
func Expression(scope *lang.Scope, text string) (cty.Value, error) {
	const name = "<expression>"
	if d := nesting.Check(name, []byte(text)); d != nil {
		return cty.NilVal, tfdiags.FromHCL(hcl.Diagnostics{d}).Err()
	}
	parsed, diags := hclsyntax.ParseExpression([]byte(text), name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, tfdiags.FromHCL(diags).Err()
	}
	v, err := scope.EvalExpr(parsed, cty.DynamicPseudoType)
	if err != nil {
		return cty.NilVal, fmt.Errorf("evaluating the expression: %w", err)
	}
	return v, nil
}
