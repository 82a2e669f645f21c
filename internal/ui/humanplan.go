package ui

import (
	"bufio"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/parallel"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/ui/plantext"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// legend explains the symbols before resource headers, in the order in which they are listed.
var legend = []struct {
	action       plans.Action
	symbol, text string
	color        termtext.Color
}{
	{plans.Create, "  +", "create", termtext.Green},
	{plans.Update, "  ~", "change in place (old -> new)", termtext.Yellow},
	{plans.Delete, "  -", "destroy", termtext.Red},
	{plans.DeleteThenCreate, "-/+", "replace: destroy, then create", termtext.Red},
	{plans.CreateThenDelete, "+/-", "replace: create, then destroy", termtext.Green},
	{plans.Read, " <=", "read (data resources)", termtext.Cyan},
	{plans.ForgetThenCreate, "./+", "replace: forget, then create", termtext.Yellow},
	{plans.Forget, "  .", "forget", termtext.Yellow},
}

// onlyOutputs is printed if a plan changes only outputs. Other programs search for this text.
const onlyOutputs = "You can apply this plan to save these new output values to the OpenTofu state, without " +
	"changing any real infrastructure."

func headerSymbol(s termtext.Style, action plans.Action) string {
	for _, l := range legend {
		if l.action == action {
			return s.As(l.color, l.symbol)
		}
	}
	return "   "
}

// planText renders a plan for humans. It writes the output piece by piece, because the whole output
// of a large plan may need as much memory as the plan itself.
type planText struct {
	*PlanView
	style  termtext.Style
	differ *valuediff.Differ
	width  int
	out    *bufio.Writer
	full   bool // whether the view is the full one
}

// write writes text. It ignores errors, because out.Flush returns them.
func (p *planText) write(text string) { _, _ = p.out.WriteString(text) }

func (p *planText) para(text string) { p.write(termtext.Wrap(text, p.width-1) + "\n") }

// render writes the whole plan.
func (p *planText) render() {
	drift := p.driftSection()
	counts := planview.Count(p.Plan)
	changes := p.shownChanges()
	outputs := p.Source().ChangedOutputs()
	if len(p.Plan.Changes.Invoked) > 0 {
		p.screen("").Invoked(p.Source())
		p.screen("").Summary(counts)
		return
	}
	if len(changes) == 0 && len(outputs) == 0 && (len(p.Plan.Deferred) == 0 || p.Plan.Errored) {
		p.noChanges(drift)
		return
	}
	if drift && p.Plan.Mode == plans.RefreshOnly {
		p.refreshOnly(outputs)
		return
	}
	if drift {
		p.write("\n\n")
		p.para("Unless you have made equivalent changes to your configuration, or named the attributes in " +
			"ignore_changes, the plan below may change them back.")
		p.write("\n" + rule(p.width) + "\n")
	}
	if len(changes) > 0 {
		p.legend(changes)
		if p.Plan.Errored {
			p.write("\n" + p.style.As(termtext.Bold, problemText) + "\n")
		} else {
			p.write("\nOpenTofu will perform the following actions:\n")
		}
		p.changes(changes)
	}
	p.screen("").Deferred(p.Source())
	if len(changes)+len(p.Plan.Deferred) > 0 {
		p.screen("").Summary(counts)
	}
	p.outputSection(outputs)
	if !counts.Changes() && len(outputs) > 0 && !p.Plan.Errored {
		p.write("\n")
		p.para(onlyOutputs)
	}
}

// problemText is the line above the changes in a plan with errors.
const problemText = "OpenTofu planned the following actions, but then encountered a problem:"

// hasView reports whether a view other than the full one has anything to show. Of refresh-only plans,
// only the brief view shows the changes.
func (p *planText) hasView(name string) bool {
	if len(p.Plan.Changes.Invoked) > 0 {
		return true
	}
	if p.Plan.Mode == plans.RefreshOnly {
		return name == "brief" && len(p.Source().RealDrift()) > 0
	}
	return len(p.shownChanges())+len(p.Source().ChangedOutputs())+len(p.Plan.Deferred) > 0
}

// view writes the plan in a view other than the full one.
func (p *planText) view(v PlanTextView) {
	if p.Plan.Errored {
		p.write("\n")
		p.para(problemText)
	}
	plan := planview.New(p.Source(), planview.Options{ShowSensitive: p.differ.ShowSensitive, Hide: v.Hide})
	plantext.Views[v.Name](p.screen(v.Sort), plan)
}

// later writes what the run that made the plan has printed beside it.
func (p *planText) later() {
	plan := planview.New(p.Source(), planview.Options{})
	if p.full && !p.differ.Review {
		shown := make(map[*plans.InstanceChange]bool)
		for _, c := range p.Source().RelevantDrift() {
			shown[c] = true
		}
		p.screen("").Outside(slices.DeleteFunc(plan.Drift, func(c *planview.Change) bool { return shown[c.InstanceChange] }))
	}
	p.screen("").Problems(planview.FailedTitle(plan.Failed), plan.Failed)
	p.screen("").Problems(planview.WarningsTitle(plan.Warnings), plan.Warnings)
}

func (p *planText) screen(sort string) *plantext.Screen {
	return &plantext.Screen{Out: p.out, Style: p.style, Width: p.width, Sort: sort, Terminal: p.differ.Review}
}

// hints writes moved blocks for objects that look renamed.
func (p *planText) hints() {
	p.screen("").Renames(planview.New(p.Source(), planview.Options{}))
}

// shownChanges returns the listed changes that change, move or import an object.
func (p *planText) shownChanges() []*plans.InstanceChange {
	var out []*plans.InstanceChange
	for _, c := range p.Source().Listed() {
		if c.Action != plans.NoOp || c.MovedFrom != nil || c.Importing != nil {
			out = append(out, c)
		}
	}
	return out
}

func (p *planText) legend(changes []*plans.InstanceChange) {
	used := make(map[plans.Action]bool)
	for _, c := range changes {
		used[c.Action] = c.Action != plans.NoOp
	}
	if len(used) == 1 && !used[changes[0].Action] {
		return
	}
	p.write("\n")
	p.para("OpenTofu used the selected providers to generate the following execution plan. Resource actions are " +
		"indicated with the following symbols:")
	for _, l := range legend {
		if used[l.action] {
			p.write(p.style.As(l.color, l.symbol) + " " + l.text + "\n")
		}
	}
}

// changes writes what happens to each object. It renders a few hundred objects at a time,
// concurrently, so that it needs little memory.
func (p *planText) changes(all []*plans.InstanceChange) {
	for some := range slices.Chunk(all, 512) {
		texts := make([]string, len(some))
		schemas := make([]*providers.ResourceSchema, len(some))
		for i, c := range some {
			schemas[i] = p.schema(c)
		}
		parallel.Each(len(some), runtime.GOMAXPROCS(0), func(i int) { texts[i] = p.change(some[i], schemas[i], false) })
		for _, text := range texts {
			p.write("\n" + text)
		}
	}
}

func (p *planText) schema(c *plans.InstanceChange) *providers.ResourceSchema {
	return p.Schemas.Resource(c.Provider.Config.Provider, c.Addr.Resource)
}

// change renders one change with its heading.
func (p *planText) change(c *plans.InstanceChange, sch *providers.ResourceSchema, drift bool) string {
	r := &renderer{style: p.style, margin: 4, review: p.differ.Review, width: p.width}
	heading, notes := planview.Heading(c, drift)
	r.b.WriteString("  " + p.style.As(termtext.Bold, "# "+termtext.Printable(heading)) + "\n")
	for _, note := range notes {
		for text := range strings.SplitSeq(termtext.Printable(note), "\n") {
			r.b.WriteString("  # " + text + "\n")
		}
	}
	action := c.Action
	// Show the whole object if it is imported or forgotten. The user may not know an imported
	// object, and sees a forgotten one for the last time.
	if c.Importing != nil || action == plans.Forget {
		r.full = true
	}
	word := map[addrs.ResourceMode]string{addrs.Managed: "resource", addrs.Data: "data",
		addrs.Ephemeral: "ephemeral"}[c.Addr.Resource.Mode]
	fmt.Fprintf(&r.b, "%s %s %s %s ", headerSymbol(p.style, c.Action), word, quoted(c.Addr.Resource.Type),
		quoted(c.Addr.Resource.Name))
	if sch == nil {
		r.b.WriteString("{\n        # (the schema of the provider is not available)\n    }\n")
		return r.b.String()
	}
	shown := func(v cty.Value) cty.Value {
		return planview.MarkPlanned(v, c.Provider.Config.Provider, c.Addr.Resource)
	}
	before, after := shown(c.Before), shown(c.After)
	if action == plans.Forget { // the object itself doesn't change
		after, action = before, plans.NoOp
	}
	n := p.differ.Resource(action, before, after, sch.Block, c.RequiredReplace)
	if drift {
		p.differ.Only(n, before, sch.Block, p.Source().DriftNames(c, p.differ.Review))
	}
	r.block(n, 0)
	r.b.WriteString("\n")
	return r.b.String()
}

// outputSection lists the outputs that change.
func (p *planText) outputSection(outputs []*plans.OutputChange) {
	if len(outputs) == 0 {
		return
	}
	n := &valuediff.Node{Form: valuediff.ObjectForm, Action: plans.Update}
	changing := make(map[*plans.OutputChange]bool)
	for _, o := range outputs {
		changing[o] = true
	}
	// Unchanged outputs are hidden, but their names count for the alignment of the others.
	for _, o := range p.Plan.Changes.Outputs {
		m := &valuediff.Member{Name: o.Name, Node: valuediff.Leaf(plans.NoOp, "")}
		if changing[o] {
			m.Node = planview.OutputNode(p.differ, o)
		}
		n.Members = append(n.Members, m)
	}
	r := &renderer{style: p.style, margin: 4, review: p.differ.Review, width: p.width, strict: true}
	r.members(n, 0)
	p.write("\nChanges to Outputs:\n" + r.b.String())
}

// driftSection writes the changes made outside of OpenTofu, and reports whether there were any.
func (p *planText) driftSection() bool {
	drift := p.Source().RelevantDrift()
	if p.differ.Review {
		drift = p.Source().ReviewDrift()
	}
	if len(drift) == 0 {
		return false
	}
	p.write("\n" + p.style.As(termtext.Bold, p.style.As(termtext.Cyan, "Note:")+
		" Objects have changed outside of OpenTofu") + "\n\n")
	p.para("These changes since the last apply were not made by tofu, and they may matter for this plan:")
	for _, c := range drift {
		p.write("\n" + p.change(c, p.schema(c), true))
	}
	if n := len(p.Source().ShownDrift()) - len(drift); n > 0 && p.Plan.Mode == plans.RefreshOnly {
		p.write("\n")
		p.para("In " + Count(n, "more object") + " only details differ, such as null instead of an empty value.")
	}
	return true
}

// rule returns a horizontal line that is one column shorter than the screen.
func rule(width int) string { return strings.Repeat("─", max(width-1, 1)) }

// text returns the message in lines of at most width columns, but never breaks the path. A path
// that is too long is on the line after "Saved the plan to:", because programs search for it there.
func (m PlanSaved) text(width int) string {
	path, space := termtext.Printable(m.Path), " "
	if len("Saved the plan to: ")+utf8.RuneCountInString(path) >= width {
		space = "\n"
	}
	return fmt.Sprintf("\nSaved the plan to:%s%s\n\n"+
		"To perform exactly these actions, run the following command to apply:\n    tofu apply %q\n", space,
		path, m.Path)
}

// noChanges writes the end of a plan without changes: that there is nothing to do and, if it isn't
// obvious, what that means, or that planning failed.
func (p *planText) noChanges(drift bool) {
	none := func(what, detail string) {
		p.write("\n" + p.style.As(termtext.Bold, p.style.As(termtext.Green, "No changes.")+" "+what) + "\n")
		if detail != "" {
			p.write("\n")
			p.para(detail)
		}
	}
	switch {
	case p.Plan.Errored:
		p.write("\n" + p.style.As(termtext.Bold, p.style.As(termtext.Red, "Planning failed.")+
			" No plan could be made because of errors.") + "\n")
	case p.Plan.Mode == plans.RefreshOnly && drift:
		p.refreshNote()
	case p.Plan.Mode == plans.RefreshOnly && p.Plan.Applyable:
		none("The objects match the state.", "All objects were refreshed, and none was changed outside of OpenTofu. "+
			"Applying this plan only updates what the state records about them beside their values, such as which "+
			"values are sensitive or null instead of empty.")
	case p.Plan.Mode == plans.RefreshOnly:
		none("The objects match the state.", "All objects were refreshed, and none was changed outside of OpenTofu.")
	case p.Plan.Mode == plans.Destroy:
		none("No objects need to be destroyed.",
			"The state has no existing objects: none were created, or all were destroyed before.")
	case p.Plan.Past != nil:
		none("There is nothing to bring back.", "The objects that the configuration declares are as they were, as far "+
			"as that depends on the configuration.")
	case drift:
		p.write("\n" + rule(p.width) + "\n")
		none("Your infrastructure matches the configuration.",
			"The configuration already matches the changes above. Applying this plan only records them in the state.")
	case len(p.Plan.Targets)+len(p.Plan.Excludes) > 0:
		none("Your infrastructure matches the configuration.",
			"The plan covers only what -target and -exclude select. If you expected changes, check the "+
				"addresses in these options.")
	default:
		none("Your infrastructure matches the configuration.", "")
	}
}

func (p *planText) refreshNote() {
	p.write("\n\n")
	p.para("A refresh-only plan reverts none of them. If they are expected, apply the plan to record them in " +
		"the state. The objects are not changed.")
}

// refreshOnly writes the last part of a refresh-only plan that changes outputs.
func (p *planText) refreshOnly(outputs []*plans.OutputChange) {
	p.refreshNote()
	p.write("\n" + rule(p.width) + "\n")
	p.outputSection(outputs)
	p.write("\n")
	p.para(onlyOutputs)
}
