package refresh_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/refresh"
	"tofu/internal/tfdiags"
)

// TestMinimal plays random histories and then plans one more configuration twice: with a full
// refresh, and with a minimal one. First nothing has changed outside, and then some objects have. If
// the minimal plan has looked at all objects that have changed outside, both plans must be the same.
// No object may be read twice, and without changes outside, no data source.
func TestMinimal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &comparison{T: rt, s: enginetest.NewSession(t.TempDir())}
		h := enginetest.DrawHistory(rt, 3)
		if rapid.Bool().Draw(rt, "computed") { // changes outside of c then matter to readers
			for _, chapter := range h {
				for name, text := range chapter.Files {
					text = strings.ReplaceAll(text, ".id", ".c")
					chapter.Files[name] = strings.ReplaceAll(text, "data.fake_read.seen.c", "data.fake_read.seen.id")
				}
			}
		}
		last := h[len(h)-1]
		for _, chapter := range h[:len(h)-1] {
			c.play(chapter)
		}
		if rapid.IntRange(1, 4).Draw(rt, "few changes") > 1 {
			last.Fail = nil
			c.play(last)
			delete(last.Files, "imports.tf") // the objects may be gone
			c.play(last)
			c.addReaders(last)
		}
		c.last(last)
		if c.err != nil {
			rt.Fatalf("%v\n%s", c.err, h)
		}
	})
}

// comparison compares plans.
type comparison struct {
	*rapid.T
	s       *enginetest.Session
	inState map[string]bool // IDs of the objects in the state
	err     error
}

func (c *comparison) failf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// play applies a chapter with its failures, as far as possible.
func (c *comparison) play(chapter *enginetest.Chapter) {
	cfg, err := c.s.Load(chapter.Files, nil, tfdiags.Drop)
	if err != nil {
		c.failf("loading: %w", err)
		return
	}
	plan, err := engine.Plan(context.Background(), cfg, c.s.State, c.s.Env(), &engine.PlanOptions{})
	if err != nil {
		return
	}
	c.s.Cloud.Fail, c.s.Cloud.Applying = chapter.Fail, true
	c.s.State, _ = engine.Apply(context.Background(), cfg, plan, c.s.Env(), nil)
	c.s.Cloud.Fail, c.s.Cloud.Applying = nil, false
}

// addReaders changes a configuration that was applied in a few places: it adds resources that read
// some objects in different ways, and may replace an object.
func (c *comparison) addReaders(chapter *enginetest.Chapter) {
	var all []addrs.AbsInstance
	for _, r := range c.s.State.Sorted() {
		for _, key := range r.SortedKeys() {
			if r.Addr.Resource.Mode == addrs.Managed {
				all = append(all, r.Addr.Instance(key))
			}
		}
	}
	chapter.Options = engine.PlanOptions{}
	if len(all) == 0 {
		return
	}
	if rapid.IntRange(1, 4).Draw(c.T, "replace") == 1 {
		chapter.Options.ForceReplace = []addrs.AbsInstance{rapid.SampledFrom(all).Draw(c.T, "replaced")}
	}
	var b strings.Builder
	for i := range rapid.IntRange(0, 2).Draw(c.T, "readers") {
		of := rapid.SampledFrom(all).Draw(c.T, "read")
		one, whole := of.String()+".c", of.Abs().String()
		if !of.Module.IsRoot() {
			one, _, _ = strings.Cut(of.String(), ".fake_thing")
			one, whole = one+".out", one
		}
		how := rapid.SampledFrom(readers).Draw(c.T, "how")
		b.WriteString(strings.NewReplacer("ONE", one, "WHOLE", whole, "NAME", fmt.Sprint("extra", i)).Replace(how))
	}
	chapter.Files["readers.tf"] = b.String()
}

// readers are resources that read an object. ONE is a string of the object, and WHOLE is its resource
// or module call.
var readers = []string{
	"resource \"fake_thing\" \"NAME\" {\n  name = \"NAME::s\"\n  v = ONE\n}\n",
	"locals {\n  NAME = { a = ONE }\n}\nresource \"fake_thing\" \"NAME\" {\n  name = \"NAME::s\"\n" +
		"  v = local.NAME.a\n}\n",
	"resource \"fake_thing\" \"NAME\" {\n  name = \"NAME::s\"\n  v = jsonencode(WHOLE)\n}\n",
	"resource \"fake_thing\" \"NAME\" {\n  for_each = toset([ONE])\n  name = \"NAME::s\"\n}\n",
	"resource \"fake_thing\" \"NAME\" {\n  for_each = { for k in [\"x\", \"y\"] : k => ONE }\n" +
		"  name = \"NAME::${each.key}\"\n  v = each.value\n}\n",
	"data \"fake_find\" \"NAME\" {\n  name = ONE\n}\nresource \"fake_thing\" \"NAME\" {\n  name = \"NAME::s\"\n" +
		"  v = data.fake_find.NAME.text\n}\n",
	"resource \"fake_thing\" \"NAME\" {\n  name = \"NAME::s\"\n  lifecycle {\n    precondition {\n" +
		"      condition = ONE == \"1\"\n      error_message = \"it is ${ONE}\"\n    }\n  }\n}\n",
	"output \"NAME\" {\n  value = ONE\n}\n",
	"provider \"fake\" {\n  alias = \"NAME\"\n  label = ONE\n}\nresource \"fake_thing\" \"NAME\" {\n" +
		"  provider = fake.NAME\n  name = \"NAME::s\"\n}\n",
	"resource \"fake_thing\" \"NAME\" {\n  count = ONE == \"1\" ? 1 : 2\n  name = \"NAME::${count.index}\"\n}\n",
}

// last compares plans of a chapter.
func (c *comparison) last(chapter *enginetest.Chapter) {
	cfg, err := c.s.Load(chapter.Files, nil, tfdiags.Drop)
	if err != nil {
		c.failf("loading: %w", err)
		return
	}
	opts := chapter.Options
	opts.SkipRefresh, opts.Defer = false, true
	if opts.Mode == plans.RefreshOnly {
		opts.Mode = plans.Normal
	}
	full, reads := c.full(cfg, opts), c.minimal(cfg, opts, nil)
	c.inState = map[string]bool{}
	for _, id := range full.objects {
		c.inState[id] = true
	}
	if full.text != reads.text {
		c.failf("full:\n%s\nminimal:\n%s", full.text, reads.text)
	}
	if got, want := reads.data, full.data; !slices.Equal(got, want) {
		c.failf("data sources read: %q, but with a full refresh %q", got, want)
	}
	c.readEnough(chapter, reads)
	memory := &refresh.Data{}
	c.plan(cfg, opts, refresh.Options{}, memory)
	if remembered := c.minimal(cfg, opts, memory); remembered.text != full.text || !containsAll(full.data, remembered.data) {
		c.failf("full:\n%s\nminimal with remembered data:\n%s\n%q", full.text, remembered.text, remembered.data)
	}
	drifted := c.drift(reads.objects)
	full, reads = c.full(cfg, opts), c.minimal(cfg, opts, nil)
	for id := range drifted {
		if slices.Contains(full.objects, id) && !slices.Contains(reads.objects, id) {
			return
		}
	}
	if full.text != reads.text {
		c.failf("after changes of %v: full:\n%s\nminimal, which read %v:\n%s",
			slices.Sorted(maps.Keys(drifted)), full.text, reads.objects, reads.text)
	}
	remembered := c.minimal(cfg, opts, memory)
	for id := range drifted {
		if slices.Contains(full.objects, id) && !slices.Contains(remembered.objects, id) {
			return
		}
	}
	if containsAll(remembered.data, full.data) && remembered.text != full.text {
		c.failf("after changes of %v: full:\n%s\nminimal with remembered data:\n%s",
			slices.Sorted(maps.Keys(drifted)), full.text, remembered.text)
	}
}

// readEnough checks that a plan has read the objects that it changes, and those whose IDs are in the
// new values of these objects.
func (c *comparison) readEnough(chapter *enginetest.Chapter, p planned) {
	// A destruction of targets reads as much as a full refresh does: not what is destroyed with them.
	if p.plan == nil || p.plan.Errored || p.plan.Mode == plans.Destroy && len(p.plan.Targets) > 0 {
		return
	}
	indirect := false // data sources and whole objects have IDs of others
	for _, text := range chapter.Files {
		indirect = indirect || strings.Contains(text, "fake_find") || strings.Contains(text, "jsonencode")
	}
	for _, change := range p.plan.Changes.Instances {
		if change.Action == plans.NoOp || change.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		if id := change.Before; !id.IsNull() && !slices.Contains(p.objects, id.GetAttr("id").AsString()) {
			c.failf("%s %s, which was not read", change.Action, change.Addr)
		}
		values := fmt.Sprintf("%#v", change.After)
		for _, id := range c.s.Cloud.Objects() {
			if c.inState[id] && !indirect && strings.Contains(values, id) && !slices.Contains(p.objects, id) {
				c.failf("%s %s reads %s, which was not read", change.Action, change.Addr, id)
			}
		}
	}
}

// drift changes some objects outside, preferably those that a minimal plan reads. It returns their IDs.
func (c *comparison) drift(read []string) map[string]bool {
	out := map[string]bool{}
	for _, id := range c.s.Cloud.Objects() {
		percent := 1
		if slices.Contains(read, id) {
			percent = 40
		}
		if rapid.IntRange(1, 100).Draw(c.T, "drift") > percent {
			continue
		}
		attr := rapid.SampledFrom([]string{"c", "c", "v", "s", ""}).Draw(c.T, "attribute")
		c.s.Cloud.Edit(id, attr, "drift of "+id)
		out[id] = true
	}
	return out
}

// planned is a plan as text, with the objects and data sources that were read for it.
type planned struct {
	text          string
	objects, data []string
	plan          *plans.Plan
}

func (c *comparison) full(cfg *configs.Config, opts engine.PlanOptions) planned {
	c.s.Cloud.Calls()
	plan, err := engine.Plan(context.Background(), cfg, c.s.State, c.s.Env(), &opts)
	return c.planned(plan, err)
}

// containsAll reports whether every element of the list some is in the list all.
func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(e string) bool { return !slices.Contains(all, e) })
}

func (c *comparison) plan(
	cfg *configs.Config, opts engine.PlanOptions, how refresh.Options, memory *refresh.Data,
) planned {
	c.s.Cloud.Calls()
	run := &refresh.Run{Options: how, Data: memory, Now: time.Now()}
	plan, err := run.Plan(context.Background(), cfg, c.s.State, c.s.Env(), &opts)
	return c.planned(plan, err)
}

func (c *comparison) minimal(cfg *configs.Config, opts engine.PlanOptions, memory *refresh.Data) planned {
	out := c.plan(cfg, opts, refresh.Options{Minimal: true}, memory)
	for i, id := range out.objects[:max(0, len(out.objects)-1)] {
		if id == out.objects[i+1] && opts.Mode != plans.Destroy {
			c.failf("%s was read twice", id)
		}
	}
	return out
}

func (c *comparison) planned(plan *plans.Plan, err error) planned {
	out := planned{plan: plan}
	for _, call := range c.s.Cloud.Calls() {
		if id, ok := strings.CutPrefix(call.What, "read "); ok {
			out.objects = append(out.objects, id)
		}
		if name, ok := strings.CutPrefix(call.What, "data "); ok {
			out.data = append(out.data, name)
		}
	}
	slices.Sort(out.objects)
	slices.Sort(out.data)
	var lines []string
	for _, d := range tfdiags.FromError(err) {
		lines = append(lines, d.Summary+": "+d.Detail)
	}
	slices.Sort(lines)
	if plan != nil && err == nil {
		lines = append(lines, enginetest.DescribePlan(plan), enginetest.Describe(plan.Prior))
		for _, change := range plan.Changes.Instances {
			lines = append(lines, fmt.Sprintf("%s%s: %#v", change.Addr, change.Deposed, change.After))
		}
		for _, o := range plan.Changes.Outputs {
			lines = append(lines, fmt.Sprintf("output %s: %#v", o.Name, o.After))
		}
	}
	out.text = strings.Join(lines, "\n")
	return out
}
