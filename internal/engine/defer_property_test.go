package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// TestRounds applies random configurations with count and for_each values that are unknown until
// other objects exist. Applying one takes several rounds, some of which fail. The test checks that
// the resulting state is the same as with instances that are known from the start, and that a
// destroy leaves no objects.
func TestRounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := deferrals{rt}
		var steps []deferralStep
		for range rapid.IntRange(1, 3).Draw(rt, "steps") {
			steps = append(steps, d.step())
		}
		var err error
		dir := t.TempDir()
		synctest.Test(t, func(*testing.T) { err = sameInRounds(steps, dir) })
		if err != nil {
			rt.Fatalf("%v\n%+v", err, steps)
		}
	})
}

// deferralStep is a configuration in two forms: with unknown instances and with known ones.
type deferralStep struct {
	unknown, known map[string]string
	fail           string // a call that fails in one of the rounds; "" for none
}

type deferrals struct{ *rapid.T }

// step draws a configuration of up to eight blocks, which refer to earlier ones.
func (d deferrals) step() deferralStep {
	var unknown, known strings.Builder
	var names []string
	for i := range rapid.IntRange(2, 8).Draw(d.T, "blocks") {
		name, module := fmt.Sprintf("b%d", i), rapid.IntRange(0, 3).Draw(d.T, "module") == 0
		var on []string
		for _, other := range names {
			if rapid.IntRange(0, 2).Draw(d.T, "refers") == 0 {
				on = append(on, other)
			}
		}
		n := rapid.IntRange(0, 2).Draw(d.T, "instances")
		form := rapid.SampledFrom([]string{"single", "count", "for_each"}).Draw(d.T, "repetition")
		unknown.WriteString(unitBlock(name, module, form, n, on, true))
		known.WriteString(unitBlock(name, module, form, n, on, false))
		names = append(names, name)
	}
	out := deferralStep{unknown: files(unknown.String()), known: files(known.String())}
	if rapid.Bool().Draw(d.T, "fails") {
		out.fail = "create b" + fmt.Sprint(rapid.IntRange(0, 7).Draw(d.T, "failing"))
	}
	return out
}

func files(main string) map[string]string {
	return map[string]string{"main.tf": main, "m/m.tf": `
variable "name" {}
resource "fake_thing" "in" {
  name = var.name
}
output "ids" {
  value = [fake_thing.in.id]
}
`}
}

// unitBlock returns a block, and a local value with the IDs of the block's objects. on holds the
// names of the blocks that the block depends on. If unknown is set, its instances depend on the IDs
// of these blocks; otherwise, depends_on names the blocks.
func unitBlock(name string, module bool, form string, n int, on []string, unknown bool) string {
	var ids []string
	for _, other := range on {
		ids = append(ids, "local."+other)
	}
	late := fmt.Sprintf("length(concat([], %s)) * 0 + %d", strings.Join(append(ids, "[]"), ", "), n)
	if unknown && len(on) > 0 {
		late = fmt.Sprintf("length(join(\"\", concat(%s))) * 0 + %d", strings.Join(ids, ", "), n)
	}
	var b strings.Builder
	kind := "resource \"fake_thing\" "
	if module {
		kind = "module "
	}
	fmt.Fprintf(&b, "%s%q {\n", kind, name)
	key := "\"" + name + "\""
	switch form {
	case "count":
		fmt.Fprintf(&b, "  count = %s\n", late)
		key = "\"" + name + "${count.index}\""
	case "for_each":
		fmt.Fprintf(&b, "  for_each = toset([for i in range(%s) : \"k${i}\"])\n", late)
		key = "\"" + name + "${each.key}\""
	}
	if module {
		b.WriteString("  source = \"./m\"\n")
	}
	fmt.Fprintf(&b, "  name = %s\n}\n", key)
	attr := "[fake_thing." + name + ".id]"
	switch {
	case module && form == "single":
		attr = "module." + name + ".ids"
	case module && form == "count":
		attr = "flatten(module." + name + "[*].ids)"
	case module:
		attr = "flatten([for m in module." + name + " : m.ids])"
	case form == "count":
		attr = "fake_thing." + name + "[*].id"
	case form == "for_each":
		attr = "[for t in fake_thing." + name + " : t.id]"
	}
	fmt.Fprintf(&b, "locals {\n  %s = %s\n}\noutput %q {\n  value = local.%[1]s\n}\n", name, attr, name)
	return b.String()
}

// sameInRounds applies the steps in both forms and compares the states.
func sameInRounds(steps []deferralStep, dir string) error {
	rounds, once := enginetest.NewSession(dir), enginetest.NewSession(dir)
	for i, step := range steps {
		if err := applyRounds(rounds, step); err != nil {
			return fmt.Errorf("step %d, in rounds: %w", i+1, err)
		}
		if err := applyRounds(once, deferralStep{unknown: step.known, fail: step.fail}); err != nil {
			return fmt.Errorf("step %d, at once: %w", i+1, err)
		}
		if got, want := objectsIn(rounds.State), objectsIn(once.State); got != want {
			return fmt.Errorf("step %d: in rounds:\n%s\nat once:\n%s", i+1, got, want)
		}
	}
	destroy := &enginetest.Step{Files: steps[len(steps)-1].unknown}
	destroy.Plan.Mode, destroy.Plan.Defer = plans.Destroy, true
	result, err := rounds.Do(destroy)
	if err != nil || result.Problems != "" || !rounds.State.Empty() {
		return fmt.Errorf("destroying: %w %s\n%s", err, result.Problems, enginetest.Describe(rounds.State))
	}
	return nil
}

// objectsIn describes the objects of a state without their dependencies. Stored dependencies may
// differ between the two forms, because they can include objects that are gone by the time a later
// round plans.
func objectsIn(s *states.State) string {
	var b strings.Builder
	for line := range strings.Lines(enginetest.Describe(s)) {
		object, _, _ := strings.Cut(strings.TrimSpace(line), " deps ")
		b.WriteString(object + "\n")
	}
	return b.String()
}

// applyRounds applies a configuration in rounds. If a round fails, applyRounds starts again from
// the state that the failure left.
func applyRounds(s *enginetest.Session, step deferralStep) error {
	s.Cloud.Fail = map[string]string{}
	if step.fail != "" {
		s.Cloud.Fail[step.fail] = ""
	}
	for range 2 {
		err := oneRun(s, step.unknown)
		if err == nil {
			return nil
		}
		if step.fail == "" || len(s.Cloud.Fail) == 0 {
			return err
		}
		s.Cloud.Fail = nil
	}
	return errors.New("the second run failed too")
}

func oneRun(s *enginetest.Session, files map[string]string) error {
	cfg, err := s.Load(files, nil, tfdiags.Drop)
	if err != nil {
		return err
	}
	ctx, opts := context.Background(), &engine.PlanOptions{Defer: true}
	if err := engine.Validate(ctx, cfg, s.Env()); err != nil {
		return err
	}
	for rounds := (engine.Rounds{}); ; {
		plan, err := engine.Plan(ctx, cfg, s.State, s.Env(), opts)
		if err != nil {
			return err
		}
		if err := rounds.Check(plan); err != nil {
			return err
		}
		state, err := engine.Apply(ctx, cfg, plan, s.Env(), nil)
		s.State = state
		if err != nil {
			return err
		}
		if err := outputsDecided(plan, state); err != nil {
			return err
		}
		if !plan.Defers() {
			return nil
		}
		opts = rounds.Next(opts, plan)
	}
}

// outputsDecided checks that an apply set exactly those outputs that the plan doesn't call
// undecided. Undecided outputs must keep their stored values.
func outputsDecided(plan *plans.Plan, after *states.State) error {
	for _, o := range plan.Changes.Outputs {
		stored := after.Output(o.Name)
		wasSet := stored != nil && (plan.Prior.Output(o.Name) == nil || !stored.Value.RawEquals(o.Before))
		if !o.After.IsWhollyKnown() && o.Undecided == wasSet {
			return fmt.Errorf("output %s: undecided is %v, and the apply has set it: %v", o.Name, o.Undecided, wasSet)
		}
	}
	return nil
}
