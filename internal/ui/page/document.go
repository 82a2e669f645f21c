package page

import (
	"fmt"
	"io"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/graphview"
	"tofu/internal/plans"
)

// chunkSize is the number of objects, or of outputs, whose differences are in one element.
const chunkSize = 200

// overview is the part of the content that the script reads when the page opens. Lists refer to one
// another by position, to keep the page small.
type overview struct {
	Title    string       `json:"title"`
	Mode     string       `json:"mode"` // of the plan: normal, destroy, refresh-only; "" for a configuration
	Version  string       `json:"version"`
	Summary  string       `json:"summary,omitempty"` // only for a run of many root modules
	Many     bool         `json:"many,omitempty"`    // the page is about many root modules
	Chunk    int          `json:"chunk"`
	Files    []string     `json:"files"`
	Roots    []rootJSON   `json:"roots"`
	Modules  []moduleJSON `json:"modules"` // a tree; parents come before their children
	Nodes    []nodeJSON   `json:"nodes"`
	Edges    []int        `json:"edges"`           // from, to, file and line of each; file is -1 if there is none
	Reads    []readJSON   `json:"reads,omitempty"` // what edges between root modules mean
	Changes  []changeJSON `json:"changes"`         // sorted by node
	Critical []int        `json:"critical,omitempty"`
}

// rootOfTree is the position of the root of the tree of modules.
const rootOfTree = 0

// moduleJSON is a node of the tree: a module or, on a page about many root modules, a root module, a
// folder of root modules whose names begin alike, or the root of the tree.
type moduleJSON struct {
	Name   string `json:"n"` // of the call or the root module, or the part of the name
	Parent int    `json:"p"`
	Root   *int   `json:"r,omitempty"` // of the root module of many
	Folder bool   `json:"f,omitempty"` // root modules whose names have the same beginning
}

// rootJSON is what the page says about a root module in addition to its graph.
type rootJSON struct {
	Name    string       `json:"n,omitempty"`
	Dir     string       `json:"d,omitempty"`
	Module  int          `json:"m"` // its position in the tree
	Node    int          `json:"k"` // the node that stands for it in paths; -1 for the only root module
	Status  Status       `json:"s,omitempty"`
	Why     string       `json:"w,omitempty"`
	Errors  []Problem    `json:"e,omitempty"`
	Unknown []string     `json:"u,omitempty"`
	Outputs []outputJSON `json:"o,omitempty"` // that change
	First   int          `json:"f,omitempty"` // the position of the first output among those of all root modules
	Renames []renameJSON `json:"h,omitempty"`
	Past    *pastJSON    `json:"p,omitempty"`
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

// readJSON says what a root module needs of another one.
type readJSON struct {
	Edge    int      `json:"e"`
	Kind    string   `json:"k"`
	User    string   `json:"u,omitempty"`
	All     bool     `json:"all,omitempty"`
	Outputs []string `json:"o,omitempty"`
}

// document collects the overview of a page, and writes the differences of objects and outputs as
// they come.
type document struct {
	to      io.Writer
	out     *overview
	files   map[string]int
	objects chunks
	outputs chunks
}

func newDocument(to io.Writer, about *overview) *document {
	about.Chunk, about.Files, about.Nodes, about.Edges = chunkSize, []string{}, []nodeJSON{}, []int{}
	about.Changes = []changeJSON{}
	return &document{to: to, out: about, files: make(map[string]int),
		objects: chunks{to: to, name: "details"}, outputs: chunks{to: to, name: "outputs"}}
}

// end writes the remaining differences and the overview.
func (d *document) end() error {
	if err := d.objects.flush(); err != nil {
		return err
	}
	if err := d.outputs.flush(); err != nil {
		return err
	}
	return element(d.to, "data", d.out)
}

// place returns the position of a file, and a line in it.
func (d *document) place(at *hcl.Range) (file, line int) {
	if at == nil || at.Filename == "" {
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

// edgeSize is the number of elements of overview.Edges for each edge.
const edgeSize = 4

// edge adds an edge and returns its position.
func (d *document) edge(from, to int, at *hcl.Range) int {
	file, line := d.place(at)
	d.out.Edges = append(d.out.Edges, from, to, file, line)
	return len(d.out.Edges)/edgeSize - 1
}

var modeNames = [...]string{plans.Normal: "normal", plans.Destroy: "destroy", plans.RefreshOnly: "refresh-only"}

// chunks writes differences, chunkSize of them in an element.
type chunks struct {
	to    io.Writer
	name  string // of the elements, without their numbers
	n     int    // elements that are written
	ready []*details
}

// room returns how many differences the present element has room for.
func (c *chunks) room() int { return chunkSize - len(c.ready) }

// add adds differences, at most as many as there is room for.
func (c *chunks) add(list ...*details) error {
	c.ready = append(c.ready, list...)
	if c.room() > 0 {
		return nil
	}
	return c.flush()
}

// flush writes an element.
func (c *chunks) flush() error {
	if len(c.ready) == 0 {
		return nil
	}
	err := element(c.to, fmt.Sprintf("%s-%d", c.name, c.n), c.ready)
	c.n++
	c.ready = c.ready[:0]
	return err
}
