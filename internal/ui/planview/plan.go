package planview

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/ui/valuediff"
)

// Options control what a view contains.
type Options struct {
	ShowSensitive bool
	// Hide holds the names of top-level attributes whose differences are omitted, such as
	// "tags". It has no effect on deletions or on attributes that force a replacement.
	Hide []string
	// Spread, if not 0, is the number of columns on one line above which an added or removed value
	// is split: each of its parts becomes a field. Strings of several lines are then shown with all
	// their lines, regardless of their length.
	Spread int
}

// A Plan is a plan prepared for review.
type Plan struct {
	*Source
	Options Options
	Counts  Counts
	Changes []*Change // all objects that change, move or are imported, in the order of the module tree
	Drift   []*Change // changes made outside of OpenTofu that may matter to the plan
	Outputs []*Output // root outputs that change
	Renames []Rename  // hints about objects that seem to have been renamed
	Failed  []Problem // checks that have failed
	// Warnings holds the other warnings of the run that made a saved plan.
	Warnings []Problem

	modules map[addrs.ModuleInstance]*configs.Config // cache of the method change
	differ  *valuediff.Differ
	hidden  map[string]bool
	origins *origins
}

// A Change is a planned change of one object, or one that was made outside of OpenTofu.
type Change struct {
	*plans.InstanceChange
	Schema *providers.ResourceSchema // nil if it is not available
	Block  *configs.Resource         // nil if the configuration doesn't declare the resource
	Drift  bool                      // whether the change was made outside of OpenTofu

	plan *Plan
}

// An Output is a root output that changes.
type Output struct {
	*plans.OutputChange
	Fields []Field // differences; their paths start with the name of the output
}

// New prepares a plan for review. Methods of the changes compute the differences when they are
// called.
func New(s *Source, o Options) *Plan {
	p := &Plan{
		Source: s, Options: o, Counts: Count(s.Plan), hidden: make(map[string]bool),
		modules: make(map[addrs.ModuleInstance]*configs.Config),
		differ:  &valuediff.Differ{ShowSensitive: o.ShowSensitive, Review: true},
		origins: newOrigins(s),
	}
	for _, name := range o.Hide {
		p.hidden[name] = true
	}
	for _, c := range s.Listed() {
		if c.Action != plans.NoOp || c.MovedFrom != nil || c.Importing != nil {
			p.Changes = append(p.Changes, p.change(c, false))
		}
	}
	for _, c := range s.ReviewDrift() {
		p.Drift = append(p.Drift, p.change(c, true))
	}
	for _, o := range s.ChangedOutputs() {
		p.Outputs = append(p.Outputs, p.output(o))
	}
	p.Renames = renames(p)
	p.Failed, p.Warnings = s.problems()
	return p
}

// NotHidden compares Options.Hide with the attributes and blocks of changed objects. It returns
// the names in Hide that no object has, and all names that objects have. It returns nothing if
// any schema is not available.
func (p *Plan) NotHidden() (missing, names []string) {
	seen := make(map[*configschema.Block]bool)
	has := make(map[string]bool)
	for _, c := range p.Changes {
		if c.Schema == nil {
			return nil, nil
		}
		if block := c.Schema.Block; !seen[block] {
			seen[block] = true
			for name := range block.Attributes {
				has[name] = true
			}
			for name := range block.BlockTypes {
				has[name] = true
			}
		}
	}
	for _, name := range p.Options.Hide {
		if !has[name] {
			missing = append(missing, name)
		}
	}
	return missing, slices.Sorted(maps.Keys(has))
}

// View returns a change of the plan for review, even if views omit this change. Calls must not
// be concurrent.
func (p *Plan) View(c *plans.InstanceChange) *Change { return p.change(c, false) }

// ViewDrift is like View, for a change that was made outside of OpenTofu.
func (p *Plan) ViewDrift(c *plans.InstanceChange) *Change { return p.change(c, true) }

// change prepares a change. Calls must not be concurrent.
func (p *Plan) change(c *plans.InstanceChange, drift bool) *Change {
	module, known := p.modules[c.Addr.Module]
	if !known && p.Config != nil {
		module = p.Config.Descendant(c.Addr.Module.Module())
		p.modules[c.Addr.Module] = module
	}
	out := &Change{InstanceChange: c, Drift: drift, plan: p,
		Schema: p.Schema(c.Provider.Config.Provider, c.Addr.Resource)}
	if module != nil {
		out.Block = module.Module.Resources[c.Addr.Resource]
	}
	return out
}

func (p *Plan) output(o *plans.OutputChange) *Output {
	f := &flattener{plan: p}
	f.node(o.Name, OutputNode(p.differ, o), false)
	return &Output{o, f.out}
}

// OutputNode compares the values of an output that changes.
func OutputNode(d *valuediff.Differ, o *plans.OutputChange) *valuediff.Node {
	before, after := valuediff.AbsentIfNull(o.Before), o.After
	if o.Action == plans.Delete || before != cty.NilVal {
		after = valuediff.AbsentIfNull(after)
	}
	was, is := outputSensitivity(o)
	n := d.Value(secret(before, was), secret(after, is))
	n.ToNull = n.Action == plans.Delete
	if !n.Changed() { // value and sensitivity stay the same
		n.Action, n.Note = plans.Update, "only the deprecation message changes"
		n.Warnings = []string{"# Only the deprecation message changes."}
	}
	return n
}

// outputSensitivity reports whether an output is sensitive before and after its change. If it exists
// only on one side, both sides count as sensitive if that one is.
func outputSensitivity(o *plans.OutputChange) (before, after bool) {
	before, after = marks.Has(o.Before, marks.Sensitive), marks.Has(o.After, marks.Sensitive)
	if o.Before.IsNull() || o.After.IsNull() || !before && !after {
		return o.Sensitive, o.Sensitive
	}
	return before, after
}

// secret marks a value as sensitive if is is true and the value exists.
func secret(v cty.Value, is bool) cty.Value {
	if !is || v == cty.NilVal {
		return v
	}
	return v.Mark(marks.Sensitive)
}

// At returns the position of the resource block in the configuration. It is empty if there is no
// block.
func (c *Change) At() hcl.Range {
	if c.Block == nil {
		return hcl.Range{}
	}
	return c.Block.Range
}

// Name returns the address of the object, and its key if it is deposed.
func (c *Change) Name() string { return objectName(c.InstanceChange) }

// Why returns why the action was chosen, or "" if that is obvious.
func (c *Change) Why() string { return reasonText(c.InstanceChange) }

// Diff compares the object before and after the change. It returns nil if the schema is not
// available.
func (c *Change) Diff() *valuediff.Node {
	if c.Schema == nil {
		return nil
	}
	before := MarkPlanned(c.Before, c.Provider.Config.Provider, c.Addr.Resource)
	after := MarkPlanned(c.After, c.Provider.Config.Provider, c.Addr.Resource)
	action := c.Action
	if action == plans.Forget { // the object itself doesn't change
		after, action = before, plans.NoOp
	}
	return c.plan.differ.Resource(action, before, after, c.Schema.Block, c.RequiredReplace)
}

// Fields returns the differences of a change: attributes first, then blocks, each sorted by name.
// hidden is the number of differences that hide rules omit.
func (c *Change) Fields() (fields []Field, hidden int) {
	root := c.Diff()
	if root == nil {
		return nil, 0
	}
	f := &flattener{plan: c.plan, change: c}
	f.members("", root, false)
	return f.out, f.hidden
}

// RelevantFields returns the differences of a change made outside of OpenTofu that matter to
// the plan.
func (c *Change) RelevantFields() []Field {
	all, _ := c.Fields()
	names := c.plan.DriftNames(c.InstanceChange, true)
	return slices.DeleteFunc(all, func(f Field) bool { return !names[f.Name()] })
}
