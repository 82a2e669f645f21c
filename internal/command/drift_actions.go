package command

import (
	"context"
	"fmt"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/explain"
	"tofu/internal/plans"
	"tofu/internal/session"
	"tofu/internal/suggest"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/driftview"
	"tofu/internal/ui/termtext"
)

// driftActions are the options of drift that do something about the drift of single objects.
type driftActions struct {
	Accept, Revert, Why []string
	Out                 string
	given               func(option string) bool
}

func (f *driftFlags) addActions(fs *options) {
	fs.Var((*list)(&f.Accept), "accept", "Take what changed outside of the objects at this `address` into the state. May "+
		"be repeated.")
	fs.Var((*list)(&f.Revert), "revert", "Plan to undo what changed outside of the objects at this `address`, and nothing "+
		"else. May be repeated.")
	fs.Var((*list)(&f.Why), "why", "Say what in the configuration reacts to what changed outside of the objects at this "+
		"`address`. May be repeated.")
	fs.StringVar(&f.Out, "out", "", "Save the plan of -revert to `path`, for the apply command.")
	f.lockFlags.add(fs)
	f.driftActions.given = fs.given
}

// act does what the options ask about single objects. It reports whether there is such an option.
func (f *driftFlags) act(ctx context.Context, app *App, opts *engine.PlanOptions) (bool, error) {
	var do func(context.Context, *driftAction) error
	var texts []string
	chosen := ""
	for _, o := range []struct {
		name  string
		texts []string
		do    func(context.Context, *driftAction) error
	}{
		{"accept", f.Accept, f.accept}, {"revert", f.Revert, f.revert}, {"why", f.Why, f.why},
	} {
		switch {
		case len(o.texts) == 0:
			continue
		case do != nil:
			return true, badUsage("Incompatible options", "-%s and -%s can't be used together.", chosen, o.name)
		}
		do, texts, chosen = o.do, o.texts, o.name
	}
	if do == nil {
		if f.Out != "" {
			return true, badUsage("Incompatible options", "-out saves the plan of -revert, and can't be used without it.")
		}
		return false, nil
	}
	clash := map[string]bool{"json": true, "format": true, "report": true, "max-age": true, "types": true, "no-types": true,
		"target": true, "exclude": true, "target-file": true, "exclude-file": true, "out": chosen != "revert"}
	for name, clashes := range clash {
		if clashes && f.driftActions.given(name) {
			return true, badUsage("Incompatible options", "-%s and -%s can't be used together.", chosen, name)
		}
	}
	targets, err := parseTargets(texts)
	if err == nil {
		err = planTarget(f.Out)
	}
	if err != nil {
		return true, err
	}
	how, name := f.operation(), session.OperationPlan
	how.Refresh.Only, how.Refresh.Continue = targets, false
	if chosen == "accept" {
		name, how.Refresh.Vanished.Stop = session.OperationApply, !f.Look.allowVanished
	}
	op, err := app.StartOperation(ctx, how, name)
	if err != nil {
		return true, err
	}
	defer op.Close()
	return true, do(ctx, &driftAction{app, op, targets, *opts})
}

// driftAction is an action about the drift of some objects.
type driftAction struct {
	app     *App
	op      *session.Operation
	targets []addrs.Target
	opts    engine.PlanOptions
}

// check returns an error if the state has no object at one of the addresses.
func (a *driftAction) check(plan *plans.Plan) error {
	found, names := make([]bool, len(a.targets)), []string(nil)
	for r := range plan.PrevRun.Resources() {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for key := range r.Instances {
			addr := r.Addr.Instance(key)
			names = append(names, addr.String())
			for i, t := range a.targets {
				found[i] = found[i] || t.ContainsInstance(addr)
			}
		}
	}
	var errs tfdiags.Diagnostics
	for i, t := range a.targets {
		if !found[i] {
			errs = errs.Append(tfdiags.Errorf("No such object", "The state has no managed object at %s.%s", t,
				suggest.DidYouMean(t.String(), names)))
		}
	}
	return errs.Err()
}

// drifts reports whether the objects were changed outside, and says if not.
func (a *driftAction) drifts(plan *plans.Plan) bool {
	for _, c := range plan.Drift {
		if c.Action != plans.NoOp {
			return true
		}
	}
	texts := make([]string, len(a.targets))
	for i, t := range a.targets {
		texts[i] = t.String()
	}
	a.app.Printer.Diagnostics(a.app.Warnings.Take())
	a.app.Say("No drift at %s.", strings.Join(texts, ", "))
	return false
}

// accept takes the drift into the state.
func (f *driftFlags) accept(ctx context.Context, a *driftAction) error {
	a.opts.Mode, a.opts.NotSaved = plans.RefreshOnly, true
	plan, err := a.op.PlanUnseen(ctx, &a.opts)
	if err == nil {
		err = a.check(plan)
	}
	if err != nil || !a.drifts(plan) {
		return err
	}
	report := driftview.New(&ui.PlanView{Plan: plan, Config: a.op.Config.Config,
		Schemas: a.op.Providers.Schemas(ctx, tfdiags.Drop)}, f.ShowSensitive)
	if err := report.Text(a.app.textOut(), termtext.Style{On: a.app.Color}); err != nil {
		return err
	}
	if _, _, err := a.op.Apply(ctx, plan, "", &engine.ApplyOptions{Variables: a.op.Variables}); err != nil {
		return err
	}
	a.app.Printer.Diagnostics(a.app.Warnings.Take())
	a.app.Say("\nThe state now has %s as read. The configuration is as it was: \"tofu plan\" says what it would "+
		"change.", ui.Count(len(report.Objects), "object"))
	return nil
}

// revert plans to undo the drift: to go back to the stored objects.
func (f *driftFlags) revert(ctx context.Context, a *driftAction) error {
	a.opts.Mode, a.opts.Targets, a.opts.Defer, a.opts.NotSaved = plans.Normal, a.targets, false, f.Out == ""
	a.opts.Past = &engine.Past{State: a.op.State.State()}
	plan, err := a.op.PlanUnseen(ctx, &a.opts)
	a.app.Warnings.Add(a.app.Warnings.Take().Filter(func(d tfdiags.Diagnostic) bool {
		return d.Summary != engine.TargetsWarning // the addresses are of this option
	})...)
	if err == nil {
		err = a.check(plan)
	}
	if err != nil || !a.drifts(plan) {
		return err
	}
	a.op.ShowPlan(ctx, &ui.PlanView{Plan: plan})
	if f.Out != "" && plan.Applyable {
		if err := savePlan(terminal.UntilAbort(ctx), a.op, f.Out, plan); err != nil {
			return err
		}
		a.app.Printer.Message(ui.Rule{})
		a.app.Printer.Message(ui.PlanSaved{Path: f.Out})
	}
	a.app.Printer.Diagnostics(a.app.Warnings.Take())
	return nil
}

// why says which changes the configuration plans only because of the drift.
func (f *driftFlags) why(ctx context.Context, a *driftAction) error {
	a.op.Env.Observe = nil
	a.opts.Mode, a.opts.NotSaved = plans.Normal, true
	without := a.opts
	without.SkipRefresh = true
	before, err := a.op.PlanUnseen(ctx, &without)
	if err != nil {
		return err
	}
	a.app.Warnings.Take() // the other plan has the same ones
	plan, err := a.op.PlanUnseen(ctx, &a.opts)
	switch {
	case err != nil && plan != nil && len(plan.Drift) > 0:
		return tfdiags.Join(tfdiags.Errorf("Planning fails because of what changed outside",
			"Without the changes outside of %s, the configuration can be planned.", f.Why[0]), err)
	case err != nil:
		return err
	}
	if err := a.check(plan); err != nil || !a.drifts(plan) {
		return err
	}
	of, err := a.op.Explained(ctx, &ui.PlanView{Plan: plan, Config: a.op.Config.Config,
		Schemas: a.op.Providers.Schemas(terminal.UntilAbort(ctx), tfdiags.Drop)})
	if err != nil {
		return err
	}
	var b strings.Builder
	reacting := reactions(before, plan)
	if err := explain.Changes(of, reacting).WriteText(&b, a.columns()); err != nil {
		return err
	}
	n := len(reacting)
	for _, o := range plan.Changes.Outputs {
		if was := before.Changes.Output(o.Name); was == nil || !was.After.RawEquals(o.After) {
			n++
			fmt.Fprintf(&b, "output.%s changes\n", o.Name)
		}
	}
	a.app.Printer.Diagnostics(a.app.Warnings.Take())
	if n == 0 {
		a.app.Say("Nothing in the configuration reacts to what changed outside: a plan changes nothing because of it.")
		return nil
	}
	_, err = fmt.Fprintf(a.app.textOut(), "%s because of what changed outside:\n\n%s", ui.Count(n, "planned change"), b.String())
	return err
}

func (a *driftAction) columns() int {
	if a.app.OutTerminal {
		return a.app.Width
	}
	return 0
}

// reactions returns the changes that a plan has and another has not, or has in another way.
func reactions(without, plan *plans.Plan) []*plans.InstanceChange {
	var out []*plans.InstanceChange
	for _, c := range plan.Changes.Instances {
		was := without.Changes.Instance(c.Addr, c.Deposed)
		if c.Action != plans.NoOp && (was == nil || was.Action != c.Action || !was.After.RawEquals(c.After)) {
			out = append(out, c)
		}
	}
	return out
}
