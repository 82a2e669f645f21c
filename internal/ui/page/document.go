package page

import (
	"fmt"
	"io"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/graphview"
	"tofu/internal/plans"
)

// chunkSize is the number of objects, or of outputs, whose differences are in one script
// element.
const chunkSize = 200

// overview is the part of the content that the script reads when the page opens. Its lists
// refer to entries of other lists by position, to keep the page small.
type overview struct {
	Title string `json:"title"`
	// Mode of the plan: normal, destroy or refresh-only; "" for a configuration.
	Mode    string       `json:"mode"`
	Program string       `json:"program"`
	Summary string       `json:"summary,omitempty"` // only set for a run of many root modules
	Moves   []string     `json:"moves,omitempty"`   // between root modules
	Many    bool         `json:"many,omitempty"`    // whether the page is about many root modules
	Chunk   int          `json:"chunk"`
	Files   []string     `json:"files"`
	Roots   []rootJSON   `json:"roots"`
	Modules []moduleJSON `json:"modules"` // tree of modules; parents come before their children
	Nodes   []nodeJSON   `json:"nodes"`
	// Four numbers for each edge: from, to, file and line; file is -1 if unknown.
	Edges    []int        `json:"edges"`
	Reads    []readJSON   `json:"reads,omitempty"` // outputs that root modules read, by edge
	Changes  []changeJSON `json:"changes"`         // sorted by node
	Critical []int        `json:"critical,omitempty"`
}

// rootOfTree is the position of the root of the tree of modules.
const rootOfTree = 0

// moduleJSON is a node of the tree of modules. It is usually a module. On a page about many root
// modules, it may also be a root module, a folder of root modules whose names have the same
// beginning, or the root of the tree.
type moduleJSON struct {
	Name   string `json:"n"` // name of the module call or root module, or part of a name for a folder
	Parent int    `json:"p"`
	Root   *int   `json:"r,omitempty"` // position of the root module, on a page about many root modules
	Folder bool   `json:"f,omitempty"` // whether this is a folder of root modules
}

// rootJSON holds what the page shows about a root module in addition to its graph.
type rootJSON struct {
	Name   string `json:"n,omitempty"`
	Dir    string `json:"d,omitempty"`
	Module int    `json:"m"` // position in the tree of modules
	// Position of the node that represents the root module in paths; -1 if there is only one root
	// module.
	Node    int          `json:"k"`
	Status  Status       `json:"s,omitempty"`
	Why     string       `json:"w,omitempty"`
	Errors  []Problem    `json:"e,omitempty"`
	Unknown []string     `json:"u,omitempty"`
	Outputs []outputJSON `json:"o,omitempty"` // outputs that change
	First   int          `json:"f,omitempty"` // position of its first output in the list of all outputs
	Renames []renameJSON `json:"h,omitempty"`
	Past    *pastJSON    `json:"p,omitempty"`
	// Failed and Warnings are the failed checks and the warnings of the plan. Outside has what was
	// changed outside of OpenTofu.
	Failed   []Problem `json:"x,omitempty"`
	Warnings []Problem `json:"y,omitempty"`
	Outside  []Problem `json:"z,omitempty"`
	Actions  []Problem `json:"v,omitempty"` // the actions that are invoked
}

type nodeJSON struct {
	Kind    graphview.Kind `json:"k"`
	Address string         `json:"a"`
	Module  int            `json:"m"`
	Type    string         `json:"t,omitempty"`
	// Address of the resource, if the node represents some of its instances.
	Of    string `json:"r,omitempty"`
	File  int    `json:"f"` // -1 if the configuration has no such block
	Line  int    `json:"l,omitempty"`
	First int    `json:"c,omitempty"` // position of the first change of the node
	Count int    `json:"n,omitempty"`
}

type changeJSON struct {
	Address string  `json:"a"`
	Class   string  `json:"x"` // see graphview.Class; "move" or "import" if the object doesn't change
	Began   float64 `json:"b,omitempty"`
	Took    float64 `json:"d,omitempty"` // duration in seconds
}

// readJSON describes what a root module reads from another one.
type readJSON struct {
	Edge    int      `json:"e"`
	Kind    string   `json:"k"`
	User    string   `json:"u,omitempty"`
	All     bool     `json:"all,omitempty"`
	Outputs []string `json:"o,omitempty"`
}

// document collects the overview of a page. It writes the differences of objects and outputs as
// soon as a chunk is complete.
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

// place returns the position of a range's file in the list of files, and the line in the file.
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

// edgeSize is the number of elements in overview.Edges for each edge.
const edgeSize = 4

// edge adds an edge and returns its position.
func (d *document) edge(from, to int, at *hcl.Range) int {
	file, line := d.place(at)
	d.out.Edges = append(d.out.Edges, from, to, file, line)
	return len(d.out.Edges)/edgeSize - 1
}

var modeNames = [...]string{plans.Normal: "normal", plans.Destroy: "destroy", plans.RefreshOnly: "refresh-only"}

// chunks writes script elements with up to chunkSize differences each.
type chunks struct {
	to    io.Writer
	name  string // ID of the elements, without their numbers
	n     int    // number of elements that were written
	ready []*details
}

// room returns how many more differences fit into the current element.
func (c *chunks) room() int { return chunkSize - len(c.ready) }

// add adds differences. There must be room for them in the current element.
func (c *chunks) add(list ...*details) error {
	c.ready = append(c.ready, list...)
	if c.room() > 0 {
		return nil
	}
	return c.flush()
}

// flush writes the current element.
func (c *chunks) flush() error {
	if len(c.ready) == 0 {
		return nil
	}
	err := element(c.to, fmt.Sprintf("%s-%d", c.name, c.n), c.ready)
	c.n++
	c.ready = c.ready[:0]
	return err
}
