package page

import (
	"runtime"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/graphview"
	"tofu/internal/parallel"
	"tofu/internal/plans"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// addition adds the content of one root module to a document.
type addition struct {
	*Content
	doc     *document
	root    *rootJSON
	plan    *planview.Plan // nil for a configuration
	modules map[addrs.Module]int
	changes []change
	lines   map[addrs.ConfigResource]map[string]int // results of linesOf
}

// change is a planned change or a deferred one.
type change struct {
	*plans.InstanceChange
	deferred *plans.Deferred // nil for a planned change
}

// longValue is the number of columns above which a value is shown on several lines.
const longValue = 100

// add adds the content of a root module. root is its position in the overview.
func (d *document) add(root int, c *Content) error {
	a := &addition{Content: c, doc: d, root: &d.out.Roots[root], modules: make(map[addrs.Module]int),
		lines: make(map[addrs.ConfigResource]map[string]int)}
	a.modules[""] = a.root.Module
	a.root.Unknown = c.Unknown
	if c.View != nil {
		a.plan = planview.New(c.View.Source(), planview.Options{Spread: longValue})
		d.out.Mode = modeNames[c.View.Plan.Mode]
	}
	nodes, changes := len(d.out.Nodes), len(d.out.Changes)
	for i := range c.Graph.Nodes {
		a.node(&c.Graph.Nodes[i])
	}
	for _, e := range c.Graph.Edges {
		d.edge(nodes+e.From, nodes+e.To, e.At)
	}
	if c.Run != nil {
		at := make(map[*plans.InstanceChange]int, len(a.changes))
		for i, one := range a.changes {
			at[one.InstanceChange] = changes + i
		}
		for _, one := range c.Graph.CriticalPath(c.Run) {
			d.out.Critical = append(d.out.Critical, at[one])
		}
	}
	if a.plan == nil {
		return nil
	}
	a.renames()
	a.past(changes)
	a.root.Failed, a.root.Warnings = problemsOf(a.plan.Failed), problemsOf(a.plan.Warnings)
	if l := a.View.Plan.Looked; l != nil {
		a.root.Warnings = append(a.root.Warnings, Problem{Summary: l.Text(a.View.Plan.Timestamp)})
	}
	for _, g := range planview.Groups(a.plan.Drift) {
		a.root.Outside = append(a.root.Outside, Problem{Summary: termtext.Printable(g.Title()),
			Detail: termtext.Printable(g.Outside())})
	}
	for inv := range a.View.Plan.Changes.Invocations() {
		text := planview.InvocationText(inv)
		if inv.Trigger != nil {
			text = inv.Trigger.Caller.String() + ": " + text
		}
		one := Problem{Summary: termtext.Printable(inv.Addr.String()), Detail: termtext.Printable(text)}
		a.root.Actions = append(a.root.Actions, one)
	}
	if err := a.outputs(); err != nil {
		return err
	}
	return a.differences()
}

func (a *addition) module(m addrs.Module) int {
	if id, ok := a.modules[m]; ok {
		return id
	}
	parent, name := m.Parent()
	at := moduleJSON{Name: name, Parent: a.module(parent)}
	id := len(a.doc.out.Modules)
	a.modules[m] = id
	a.doc.out.Modules = append(a.doc.out.Modules, at)
	return id
}

func (a *addition) node(n *graphview.Node) {
	d := a.doc
	out := nodeJSON{Kind: n.Kind, Address: n.Address, Module: a.module(n.Module), Type: n.Type, Of: n.Resource}
	out.File, out.Line = d.place(n.At)
	out.First = len(d.out.Changes)
	if n.Kind.HasObjects() {
		for _, c := range n.Changes {
			a.change(change{InstanceChange: c})
		}
		for _, c := range n.Deferred {
			a.change(change{&c.InstanceChange, c})
		}
	}
	out.Count = len(d.out.Changes) - out.First
	d.out.Nodes = append(d.out.Nodes, out)
}

func (a *addition) change(c change) {
	out := changeJSON{Address: c.Addr.String(), Class: graphview.Class(c.Action)}
	if c.Deposed != addrs.NotDeposed {
		out.Address += " (deposed " + string(c.Deposed) + ")"
	}
	if c.Action == plans.NoOp && c.MovedFrom != nil {
		out.Class = "move"
	}
	if c.Action == plans.NoOp && c.Importing != nil {
		out.Class = "import"
	}
	if c.deferred != nil {
		out.Class = graphview.Deferred
	}
	if span, ok := a.Run.Span(c.InstanceChange); ok {
		out.Began, out.Took = span.Began.Seconds(), (span.Ended - span.Began).Seconds()
	}
	a.changes = append(a.changes, c)
	a.doc.out.Changes = append(a.doc.out.Changes, out)
}

// differences adds the differences of all changes to the document, one chunk at a time.
func (a *addition) differences() error {
	for left := a.changes; len(left) > 0; {
		part := left[:min(len(left), a.doc.objects.room())]
		left = left[len(part):]
		places := make([]map[string]int, len(part))
		views := make([]*planview.Change, len(part))
		for i, c := range part {
			places[i] = a.linesOf(c.Addr.Config())
			views[i] = a.plan.View(c.InstanceChange)
		}
		out := make([]*details, len(part))
		parallel.Each(len(part), runtime.GOMAXPROCS(0), func(i int) { out[i] = part[i].details(views[i], places[i]) })
		if err := a.doc.objects.add(out...); err != nil {
			return err
		}
	}
	return nil
}

// linesOf maps the attributes and nested blocks of a resource block to the lines where they first
// occur. The result is empty if the block or its schema is not available.
func (a *addition) linesOf(addr addrs.ConfigResource) map[string]int {
	if lines, ok := a.lines[addr]; ok {
		return lines
	}
	lines := map[string]int{}
	a.lines[addr] = lines
	module := a.View.Config
	for _, name := range addr.Module.Names() {
		if module != nil {
			module = module.Children[name]
		}
	}
	if module == nil || module.Module.Resources[addr.Resource] == nil {
		return lines
	}
	schema := a.View.Source().Schema(module.Module.Resources[addr.Resource].ProviderAddr, addr.Resource)
	if schema == nil {
		return lines
	}
	for name, at := range configs.Places(module.Module.Resources[addr.Resource].Config, schema.Block) {
		lines[name] = at[0].Start.Line
	}
	return lines
}

// outputJSON is a root output that changes.
type outputJSON struct {
	Name  string `json:"a"`
	Class string `json:"x"`
}

// outputs adds the root outputs that change, and their differences.
func (a *addition) outputs() error {
	a.root.First = a.doc.outputs.n*chunkSize + len(a.doc.outputs.ready)
	for _, o := range a.plan.Outputs {
		a.root.Outputs = append(a.root.Outputs, outputJSON{termtext.Printable(o.Name), graphview.Class(o.Action)})
		about := &details{}
		for _, l := range planview.Text(o.Fields) {
			about.Lines = append(about.Lines, line(l))
		}
		if err := a.doc.outputs.add(about); err != nil {
			return err
		}
	}
	return nil
}

// renameJSON is a hint about objects that seem to have been renamed.
type renameJSON struct {
	Module string `json:"m,omitempty"`
	From   string `json:"a"`
	To     string `json:"b"`
	Count  int    `json:"n"`
	Block  string `json:"t"` // the moved block to add to the module
}

func (a *addition) renames() {
	for _, r := range a.plan.Renames {
		a.root.Renames = append(a.root.Renames, renameJSON{Module: termtext.Printable(r.Module.String()),
			From: termtext.Printable(r.From), To: termtext.Printable(r.To), Count: r.Objects,
			Block: termtext.Printable(r.MovedBlock())})
	}
}

// problemsOf returns failed checks or warnings for the page.
func problemsOf(list []planview.Problem) (out []Problem) {
	for _, p := range list {
		out = append(out, Problem{Summary: termtext.Printable(p.Name), Detail: termtext.Printable(p.Text),
			At: termtext.Printable(p.Place)})
	}
	return out
}

// pastJSON holds the time that a plan goes back to, and what the plan can't restore.
type pastJSON struct {
	When string     `json:"w"`
	Lost []lostJSON `json:"l,omitempty"`
}

// lostJSON is a part of an object that a plan can't restore.
type lostJSON struct {
	Address string `json:"a"`
	Text    string `json:"t"` // remaining text of the sentence after the address
	Change  int    `json:"c"` // position of the object's change; -1 if none exists
}

// past adds what a plan that goes back to an earlier time can't restore. first is the position
// of the first change in the root module.
func (a *addition) past(first int) {
	past := a.View.Plan.Past
	if past == nil {
		return
	}
	at := make(map[addrs.AbsInstance]int)
	for i, c := range a.changes {
		if c.Deposed == addrs.NotDeposed {
			at[c.Addr] = first + i
		}
	}
	out := &pastJSON{When: past.When()}
	for _, lost := range past.Lost {
		one := lostJSON{Address: lost.Addr.String(), Text: termtext.Printable(lost.Text()), Change: -1}
		if i, ok := at[lost.Addr]; ok {
			one.Change = i
		}
		out.Lost = append(out.Lost, one)
	}
	a.root.Past = out
}
