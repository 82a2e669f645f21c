package engine_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// TestBlocks plays random histories of meshes in two ways: instance by instance, and with every
// reference waiting for all instances of the block it names. Both ways must result in the same
// plans, the same calls for each object, and the same states. Some steps fail for one object or are
// interrupted. Objects that depend on a failed object must then stay unchanged, and all others must
// be changed. When the step is applied again without failures, both ways must reach the same state.
// rapid prints the seed of a failure; -rapid.seed repeats it.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawMeshHistory(rt, rapid.Bool().Draw(rt, "narrow"))
		dir, other := t.TempDir(), t.TempDir()
		var err error
		synctest.Test(t, func(*testing.T) { err = h.play(dir, other) })
		if err != nil {
			rt.Fatalf("%v\n%s", err, h)
		}
	})
}

// meshHistory is a sequence of meshes.
type meshHistory []*meshStep

type meshStep struct {
	*mesh
	second  map[string][]string // see mesh.files
	trouble string              // "", "fail" or "stop"
	object  string              // name of the object whose change fails or is interrupted
	workers int
	// vague is true if the two ways may store different dependencies. If an apply by instance was
	// interrupted, it may have created an object without storing a dependency that only the block
	// refers to.
	vague bool
}

func (h meshHistory) String() string {
	var b strings.Builder
	for i, s := range h {
		fmt.Fprintf(&b, "== step %d: %s %s, %d at a time\n", i+1, s.trouble, s.object, s.workers)
		files := s.files()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&b, "-- %s --\n%s", name, files[name])
		}
	}
	return b.String()
}

// files returns the files of the step's configuration.
func (s *meshStep) files() map[string]string { return s.mesh.files(s.second) }

// drawVersions draws which objects have the second version: those of none, some or all instances of a
// resource.
func (s *meshStep) drawVersions() {
	s.second = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(s.versioned)) {
		percent := rapid.SampledFrom([]int{50, 50, 0, 100}).Draw(s.T, "second version")
		for _, key := range s.versioned[name] {
			if s.odds("second", percent) {
				s.second[name] = append(s.second[name], key)
			}
		}
	}
}

// drawMeshHistory draws a history of meshes, which are narrow or not; see mesh.
func drawMeshHistory(t *rapid.T, narrow bool) meshHistory {
	shape := meshShape{}
	for _, name := range slices.Concat(meshModules, meshNames) {
		shape[name] = rapid.SampledFrom([]string{"", "count", "count", "for_each", "for_each"}).Draw(t, "mode")
	}
	for _, name := range meshModules {
		shape[name+" inner"] = rapid.SampledFrom([]string{"", "", "module"}).Draw(t, "inner module")
	}
	var h meshHistory
	for range rapid.SampledFrom([]int{2, 3, 4, 1}).Draw(t, "steps") {
		s, same := &meshStep{}, len(h) > 0 && rapid.IntRange(1, 3).Draw(t, "same mesh") > 1
		if same { // then many objects don't change
			s.mesh = h[len(h)-1].mesh
		} else {
			s.mesh = drawMesh(t, shape, narrow)
		}
		s.drawVersions()
		s.workers = rapid.SampledFrom([]int{1, 2, 50}).Draw(t, "workers")
		objects := s.objects()
		if same && s.odds("of new version", 80) {
			before := h[len(h)-1]
			objects = slices.DeleteFunc(objects, func(o string) bool { return s.isSecond(o) == before.isSecond(o) })
		}
		if len(objects) > 0 && s.odds("trouble", 70) {
			s.trouble, s.object = s.pick("trouble", "fail", "fail", "stop"), s.pick("object", objects...)
		}
		h = append(h, s)
	}
	return h
}

// objects returns the names of all objects of resources.
func (m *mesh) objects() []string {
	var out []string
	for _, b := range m.blocks {
		for _, key := range b.keys {
			switch {
			case b.data:
			case b.module:
				out = append(out, meshObject(b.name+"p", key), meshObject(b.name+"q", key))
			default:
				out = append(out, b.object(key))
			}
		}
	}
	return out
}

// isSecond reports whether an object has the second version.
func (s *meshStep) isSecond(object string) bool {
	name, key, _ := strings.Cut(object, ":")
	return slices.Contains(s.second[name], key)
}

// applier is a function that plans and applies a step in one of the two ways: byInstance or
// byBlocks.
type applier func(s *enginetest.Session, step *meshStep) (*meshRun, error)

// meshRun is the result of an apply.
type meshRun struct {
	plan     *plans.Plan
	planning []enginetest.Call
	calls    []enginetest.Call // calls made by the apply
	err      error             // error returned by the apply
}

func byInstance(s *enginetest.Session, step *meshStep) (*meshRun, error) {
	plan := func(ctx context.Context, cfg *configs.Config, env *engine.Env) (*plans.Plan, error) {
		return engine.Plan(ctx, cfg, s.State, env, nil)
	}
	return applyMesh(s, step, plan, func(ctx context.Context, r *meshInput) error {
		state, err := engine.Apply(ctx, r.cfg, r.plan, r.env, nil)
		s.State = state
		return err
	})
}

func byBlocks(s *enginetest.Session, step *meshStep) (*meshRun, error) {
	plan := func(ctx context.Context, cfg *configs.Config, env *engine.Env) (*plans.Plan, error) {
		return engine.PlanByBlocks(ctx, cfg, s.State, env)
	}
	return applyMesh(s, step, plan, func(ctx context.Context, r *meshInput) error {
		state, err := engine.ApplyByBlocks(ctx, r.cfg, r.plan, r.env)
		s.State = state
		return err
	})
}

func (h meshHistory) play(dir, other string) error {
	instances, blocks := enginetest.NewSession(dir), enginetest.NewSession(other)
	instances.Cloud.Delay, blocks.Cloud.Delay = enginetest.Delay, enginetest.Delay
	troubled := false
	for i, step := range h {
		troubled = troubled || step.trouble != ""
		step.vague = troubled
		if err := step.play(instances, blocks); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	empty := &meshStep{mesh: &mesh{}, workers: 50, vague: troubled}
	if err := empty.complete(instances, blocks); err != nil {
		return fmt.Errorf("destroying: %w", err)
	}
	if left := append(instances.Cloud.Objects(), blocks.Cloud.Objects()...); len(left) > 0 {
		return fmt.Errorf("destroying left %v", left)
	}
	return nil
}

// play applies a step. If the step has trouble, play first applies it with the failure or the
// interruption, and then without.
func (step *meshStep) play(instances, blocks *enginetest.Session) error {
	if step.trouble != "" {
		if err := step.interfere(instances, byInstance, true); err != nil {
			return fmt.Errorf("%s, by instance: %w", step.trouble, err)
		}
		if err := step.interfere(blocks, byBlocks, false); err != nil {
			return fmt.Errorf("%s, by blocks: %w", step.trouble, err)
		}
	}
	return step.complete(instances, blocks)
}

// complete applies a step in both ways and compares the plans, calls and states.
func (step *meshStep) complete(instances, blocks *enginetest.Session) error {
	got, err := byInstance(instances, step)
	if err != nil {
		return fmt.Errorf("by instance: %w", err)
	}
	want, err := byBlocks(blocks, step)
	if err != nil {
		return fmt.Errorf("by blocks: %w", err)
	}
	if got.err != nil || want.err != nil {
		return fmt.Errorf("by instance: %w; by blocks: %w", got.err, want.err)
	}
	if err := step.ordered(got); err != nil {
		return err
	}
	if got, want := step.describePlan(got), step.describePlan(want); step.trouble == "" && got != want {
		return fmt.Errorf("plan by instance\n%s\nby blocks\n%s", got, want)
	}
	if got, want := callsByObject(got.calls), callsByObject(openedByBoth(got, want)); step.trouble == "" && got != want {
		return fmt.Errorf("calls by instance\n%s\nby blocks\n%s", got, want)
	}
	if got, want := step.describe(instances.State), step.describe(blocks.State); got != want {
		return fmt.Errorf("state by instance\n%s\nby blocks\n%s", got, want)
	}
	return nil
}

// interfere applies a step with its failure or interruption, and checks the changes that were made.
// If exact is set, only changes that depend on the failed change may be left out.
func (step *meshStep) interfere(s *enginetest.Session, apply applier, exact bool) error {
	stop := make(chan struct{})
	s.Cloud.On, s.Cloud.Fail = map[string]func(){}, map[string]string{}
	create, update := "create "+step.object, "update "+step.object+"-1"
	switch step.trouble {
	case "fail":
		s.Cloud.Fail[create], s.Cloud.Fail[update] = "", ""
	case "stop":
		s.Stop = stop
		s.Cloud.On[create] = func() { close(stop) }
		s.Cloud.On[update] = s.Cloud.On[create]
	}
	run, err := apply(s, step)
	s.Cloud.On, s.Cloud.Fail, s.Stop = nil, nil, nil
	if err != nil {
		return err
	}
	if err := step.ordered(run); err != nil {
		return err
	}
	if step.trouble == "fail" && exact {
		return step.onlyReadersLeftOut(run)
	}
	return nil
}

// meshInput holds the arguments of an apply.
type meshInput struct {
	cfg  *configs.Config
	plan *plans.Plan
	env  *engine.Env
}

func applyMesh(
	s *enginetest.Session, step *meshStep,
	makePlan func(context.Context, *configs.Config, *engine.Env) (*plans.Plan, error),
	apply func(context.Context, *meshInput) error,
) (*meshRun, error) {
	cfg, err := s.Load(step.files(), nil, tfdiags.Drop)
	if err != nil {
		return nil, fmt.Errorf("loading: %w", err)
	}
	env := s.Env()
	env.Stop, env.Parallelism = nil, step.workers
	s.Cloud.Calls()
	plan, err := makePlan(context.Background(), cfg, env)
	if err != nil {
		return nil, fmt.Errorf("planning: %w", detailed(err))
	}
	planning := s.Cloud.Calls()
	env.Stop = s.Stop
	s.Cloud.Applying = true
	err = apply(context.Background(), &meshInput{cfg, plan, env})
	s.Cloud.Applying = false
	return &meshRun{plan, planning, s.Cloud.Calls(), err}, nil
}

// describe formats a state as text. If step.vague is set, it omits the stored dependencies.
func (step *meshStep) describe(s *states.State) string {
	text := enginetest.Describe(s)
	if step.vague {
		return storedDependencies.ReplaceAllString(text, "")
	}
	return text
}

var storedDependencies = regexp.MustCompile(` (deps|instances) .*`)

// describePlan describes a plan with all planned values, and the calls that were made to plan it.
func (step *meshStep) describePlan(r *meshRun) string {
	out := []string{enginetest.DescribePlan(r.plan), callsByObject(r.planning), step.describe(r.plan.Prior)}
	for _, c := range r.plan.Changes.Instances {
		out = append(out, fmt.Sprintf("%s: %#v", c.Addr, c.After))
	}
	for _, o := range r.plan.Changes.Outputs {
		out = append(out, fmt.Sprintf("output %s: %#v", o.Name, o.After))
	}
	slices.Sort(out[3:])
	return strings.Join(out, "\n")
}

// openedByBoth returns the calls of an apply by blocks, without those that open or close ephemeral
// objects that the apply by instance didn't open. It opens only the objects that changing instances
// read.
func openedByBoth(instances, blocks *meshRun) []enginetest.Call {
	opened := map[string]bool{}
	for _, c := range instances.calls {
		opened[c.What] = true
	}
	return slices.DeleteFunc(slices.Clone(blocks.calls), func(c enginetest.Call) bool {
		op, _, _ := strings.Cut(c.What, " ")
		return (op == "open" || op == "close") && !opened[c.What]
	})
}

// callsByObject returns the calls as text, grouped by object.
func callsByObject(calls []enginetest.Call) string {
	var out []string
	for _, c := range calls {
		what, object, _ := strings.Cut(c.What, " ")
		out = append(out, object+" "+what)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// meshChange is a call that changes an object.
type meshChange struct {
	op     string
	failed bool
	call   enginetest.Call
}

// changes returns the creations and updates by object, and the deletions.
func (r *meshRun) changes() (writes, deletions map[string]meshChange) {
	writes, deletions = map[string]meshChange{}, map[string]meshChange{}
	for _, c := range r.calls {
		what, failed := strings.CutPrefix(c.What, "fail ")
		op, who, _ := strings.Cut(what, " ")
		object := who
		if at := strings.LastIndexByte(who, '-'); at > 0 && who[at-1] != ':' {
			object = who[:at]
		}
		switch op {
		case "create", "update":
			writes[object] = meshChange{op, failed, c}
		case "delete":
			deletions[object] = meshChange{op, failed, c}
		}
	}
	return writes, deletions
}

// ordered checks that no object was changed before the objects that it reads, or after one of them
// failed.
func (step *meshStep) ordered(r *meshRun) error {
	writes, _ := r.changes()
	for object, c := range writes {
		for need := range step.exact[object] {
			n, changed := writes[need]
			switch {
			case !changed:
			case n.failed:
				return fmt.Errorf("%s %s, although %s failed", c.op, object, need)
			case n.call.End > c.call.Start:
				return fmt.Errorf("%s %s before %s was finished", c.op, object, need)
			}
		}
	}
	return nil
}

// onlyReadersLeftOut checks that all planned changes were made, except changes of objects that may
// wait for a failed object. If a deletion was left out, it checks nothing, because other changes
// may wait for that deletion.
func (step *meshStep) onlyReadersLeftOut(r *meshRun) error {
	writes, deletions := r.changes()
	for _, c := range r.plan.Changes.Instances {
		if c.Action != plans.Delete {
			continue
		}
		if _, done := deletions[c.Before.GetAttr("name").AsString()]; !done {
			return nil
		}
	}
	for _, c := range r.plan.Changes.Instances {
		if c.Action != plans.Create && c.Action != plans.Update {
			continue
		}
		before, _ := c.Before.UnmarkDeep()
		after, _ := c.After.UnmarkDeep()
		if c.Action == plans.Update && (!c.After.GetAttr("v").IsKnown() || before.RawEquals(after)) {
			continue // it may turn out that nothing changes, or only the sensitivity changes
		}
		object := c.After.GetAttr("name").AsString()
		_, done := writes[object]
		if !done && !step.mayWait(object, func(o string) bool { return writes[o].failed }) {
			return fmt.Errorf("%s was left out, which needs nothing that failed: %w", object, r.err)
		}
	}
	return nil
}

// mayWait reports whether an object may wait, directly or through others, for an object for which
// has returns true. The others may be objects that don't change.
func (step *meshStep) mayWait(object string, has func(string) bool) bool {
	needs := func(o string) []string { return slices.Collect(maps.Keys(step.loose[o])) }
	for need := range dag.Reachable([]string{object}, needs) {
		if has(need) {
			return true
		}
	}
	return false
}
