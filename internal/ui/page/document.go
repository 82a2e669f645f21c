package page

import (
	"runtime"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/graphview"
	"tofu/internal/parallel"
	"tofu/internal/plans"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// chunkSize is the number of changes whose differences are in one element.
const chunkSize = 200

// overview is the part of the content that the script reads when the page opens. Lists refer to one
// another by position, to keep the page small.
type overview struct {
	Title    string       `json:"title"`
	Mode     string       `json:"mode"` // of the plan: normal, destroy, refresh-only; "" for a configuration
	Version  string       `json:"version"`
	Chunk    int          `json:"chunk"`
	Files    []string     `json:"files"`
	Modules  []moduleJSON `json:"modules"` // the root module is the first
	Nodes    []nodeJSON   `json:"nodes"`
	Edges    []int        `json:"edges"`   // from, to, file and line of each; file is -1 if there is none
	Changes  []changeJSON `json:"changes"` // sorted by node
	Critical []int        `json:"critical,omitempty"`
}

type moduleJSON struct {
	Name   string `json:"n"` // name of the call
	Parent int    `json:"p"`
}

type nodeJSON struct {
	Kind    graphview.Kind `json:"k"`
	Address string         `json:"a"`
	Module  int            `json:"m"`
	Type    string         `json:"t,omitempty"`
	Of      string         `json:"r,omitempty"` // the resource, if the node is some of its instances
	File    int            `json:"f"`           // -1 if the configuration has no such block
	Line    int            `json:"l,omitempty"`
	First   int            `json:"c,omitempty"` // the first of its changes
	Count   int            `json:"n,omitempty"`
}

type changeJSON struct {
	Address string  `json:"a"`
	Class   string  `json:"x"` // see graphview.Class; "move" and "import" for objects that don't change
	Began   float64 `json:"b,omitempty"`
	Took    float64 `json:"d,omitempty"` // seconds
}

// details is the difference of one object.
type details struct {
	Heading string     `json:"h"`
	Notes   []string   `json:"n,omitempty"`
	Lines   []lineJSON `json:"l,omitempty"`
}

type lineJSON struct {
	Sign   string   `json:"s,omitempty"`
	Indent int      `json:"i,omitempty"`
	Parts  []string `json:"t"`           // every second part is changed words
	Line   int      `json:"n,omitempty"` // where the configuration sets the attribute
	Forces bool     `json:"r,omitempty"`
}

// document collects the content of a page.
type document struct {
	*Content
	plan    *planview.Plan // nil for a configuration
	modules map[addrs.Module]int
	files   map[string]int
	changes []change
	lines   map[addrs.ConfigResource]map[string]int // see linesOf
	out     overview
}

// change is a planned change, or one that can't be planned yet.
type change struct {
	*plans.InstanceChange
	deferred *plans.Deferred // nil for a planned one
}

func newDocument(c *Content) *document {
	d := &document{Content: c, modules: map[addrs.Module]int{}, files: map[string]int{},
		lines: map[addrs.ConfigResource]map[string]int{}}
	if c.View != nil {
		d.plan = planview.New(c.View.Source(), planview.Options{Spread: longValue})
	}
	return d
}

// longValue is the number of characters from which a value takes several lines.
const longValue = 100

var modeNames = [...]string{plans.Normal: "normal", plans.Destroy: "destroy", plans.RefreshOnly: "refresh-only"}

// overview returns the overview, and sets the changes in its order.
func (d *document) overview() *overview {
	d.out = overview{Title: d.Title, Version: d.Version, Chunk: chunkSize, Nodes: []nodeJSON{}, Edges: []int{},
		Changes: []changeJSON{}}
	if d.View != nil {
		d.out.Mode = modeNames[d.View.Plan.Mode]
	}
	d.module("")
	for i := range d.Graph.Nodes {
		d.node(&d.Graph.Nodes[i])
	}
	for _, e := range d.Graph.Edges {
		file, line := d.place(e.At)
		d.out.Edges = append(d.out.Edges, e.From, e.To, file, line)
	}
	if d.Run != nil {
		at := make(map[*plans.InstanceChange]int, len(d.changes))
		for i, c := range d.changes {
			at[c.InstanceChange] = i
		}
		for _, c := range d.Graph.CriticalPath(d.Run) {
			d.out.Critical = append(d.out.Critical, at[c])
		}
	}
	return &d.out
}

func (d *document) module(m addrs.Module) int {
	if id, ok := d.modules[m]; ok {
		return id
	}
	at := moduleJSON{Parent: -1}
	if !m.IsRoot() {
		var parent addrs.Module
		parent, at.Name = m.Parent()
		at.Parent = d.module(parent)
	}
	id := len(d.out.Modules)
	d.modules[m] = id
	d.out.Modules = append(d.out.Modules, at)
	return id
}

func (d *document) place(at *hcl.Range) (file, line int) {
	if at == nil {
		return -1, 0
	}
	id, ok := d.files[at.Filename]
	if !ok {
		id = len(d.files)
		d.files[at.Filename] = id
		d.out.Files = append(d.out.Files, at.Filename)
	}
	return id, at.Start.Line
}

func (d *document) node(n *graphview.Node) {
	out := nodeJSON{Kind: n.Kind, Address: n.Address, Module: d.module(n.Module), Type: n.Type, Of: n.Resource}
	out.File, out.Line = d.place(n.At)
	out.First = len(d.changes)
	if n.Kind.HasObjects() {
		for _, c := range n.Changes {
			d.change(change{InstanceChange: c})
		}
		for _, c := range n.Deferred {
			d.change(change{&c.InstanceChange, c})
		}
	}
	out.Count = len(d.changes) - out.First
	d.out.Nodes = append(d.out.Nodes, out)
}

func (d *document) change(c change) {
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
	if span, ok := d.Run.Span(c.InstanceChange); ok {
		out.Began, out.Took = span.Began.Seconds(), (span.Ended - span.Began).Seconds()
	}
	d.changes = append(d.changes, c)
	d.out.Changes = append(d.out.Changes, out)
}

// chunk returns the differences of the changes in an element.
func (d *document) chunk(i int) []*details {
	part := d.changes[i*chunkSize : min((i+1)*chunkSize, len(d.changes))]
	out := make([]*details, len(part))
	places := make([]map[string]int, len(part))
	views := make([]*planview.Change, len(part))
	for j, c := range part {
		places[j] = d.linesOf(c.Addr.Config())
		views[j] = d.plan.View(c.InstanceChange)
	}
	parallel.Each(len(part), runtime.GOMAXPROCS(0), func(j int) { out[j] = part[j].details(views[j], places[j]) })
	return out
}

// details describes a change. Objects without a change have no difference. places has the lines of
// the attributes in the configuration.
func (c change) details(view *planview.Change, places map[string]int) *details {
	if c.deferred != nil {
		return &details{Heading: c.Addr.String() + " is deferred until after an apply", Notes: []string{"because " +
			c.deferred.Because()}}
	}
	if c.Action == plans.NoOp && c.MovedFrom == nil && c.Importing == nil {
		return &details{Heading: c.Addr.String() + " does not change"}
	}
	heading, notes := planview.Heading(c.InstanceChange, false)
	out := &details{Heading: termtext.Printable(heading)}
	for _, note := range notes {
		out.Notes = append(out.Notes, strings.Split(termtext.Printable(note), "\n")...)
	}
	if view.Schema == nil {
		out.Notes = append(out.Notes, planview.NoSchemaText)
	}
	fields, _ := view.Fields()
	for _, l := range planview.Text(fields) {
		line := lineJSON{Sign: signs[l.Action], Parts: parts(l), Forces: l.Forces}
		if l.Nested {
			line.Indent = nestedIndent
		} else {
			line.Line = places[l.Name]
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// nestedIndent is the indentation of the lines of a long value.
const nestedIndent = 2

// parts divides a line at its changed words.
func parts(l planview.TextLine) []string {
	var out []string
	end := 0
	for _, w := range l.Changed {
		out = append(out, termtext.Printable(l.Text[end:w.Start]), termtext.Printable(l.Text[w.Start:w.End]))
		end = w.End
	}
	return append(out, termtext.Printable(l.Text[end:]))
}

// signs maps an action to the sign at the start of its lines.
var signs = map[plans.Action]string{plans.Create: "+", plans.Delete: "-", plans.Update: "~"}

// linesOf returns the lines of the attributes and blocks of a resource block, by name.
func (d *document) linesOf(addr addrs.ConfigResource) map[string]int {
	if lines, ok := d.lines[addr]; ok {
		return lines
	}
	lines := map[string]int{}
	d.lines[addr] = lines
	module := d.View.Config
	for _, name := range addr.Module.Names() {
		if module != nil {
			module = module.Children[name]
		}
	}
	if module == nil || module.Module.Resources[addr.Resource] == nil {
		return lines
	}
	schema := d.View.Source().Schema(module.Module.Resources[addr.Resource].ProviderAddr, addr.Resource)
	if schema == nil {
		return lines
	}
	for name, at := range configs.Places(module.Module.Resources[addr.Resource].Config, schema.Block) {
		lines[name] = at[0].Start.Line
	}
	return lines
}
