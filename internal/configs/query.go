package configs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

var queryExtensions = extensions{{".tfquery.hcl", ""}}

// A list block of a query file is decoded as a data source of a type of its own, so that it is
// evaluated, ordered and repeated like one. The name of this type is listPrefix and the name of the
// type in the block. References to lists become references to these data sources.
const listPrefix = "list-"

// ListType returns the name of the data source that stands for a list block of a resource type.
func ListType(typ string) string { return listPrefix + typ }

// ListedType returns the resource type of a list block from the name that ListType has returned.
func ListedType(dataSource string) (typ string, isList bool) {
	return strings.CutPrefix(dataSource, listPrefix)
}

// ListAddress returns the address of a list block, or of one of its instances, from the address of
// the data source that stands for it.
func ListAddress(dataSource string) string {
	return strings.ReplaceAll(dataSource, "data."+listPrefix, "list.")
}

// queryBlocks lists the block types of a query file.
var queryBlocks = []blockKind{
	{"list", []string{"type", "name"}, decodeList},
	{"provider", []string{"name"}, decodeProvider},
	{"variable", []string{"name"}, decodeVariable},
	{"locals", nil, decodeLocals},
}

var (
	querySchema   = schemaOf(queryBlocks)
	queryDecoders = decodersOf(queryBlocks)
)

// QueryFiles returns the paths of the query files in a directory, sorted.
func (p *Parser) QueryFiles(dir string) []string {
	entries, err := p.fs.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil // loading the module reports the error
	}
	var out []string
	for name := range queryExtensions.among(entries) {
		out = append(out, filepath.Join(dir, name))
	}
	slices.Sort(out)
	return out
}

// decodeQuery parses and decodes a query file.
func (p *Parser) decodeQuery(name string) *file {
	f := &file{name: name}
	d := &decoder{file: f, warn: f.warnings.Add}
	source, err := p.ParseFile(name)
	d.addError(err)
	d.source = p.Source(name)
	if source != nil {
		if body, ok := source.Body.(*hclsyntax.Body); ok {
			_ = hclsyntax.VisitAll(body, renameLists)
		}
		for _, block := range d.content(source.Body, querySchema).Blocks {
			queryDecoders[block.Type](d, block)
		}
	}
	f.errs = d.errs
	return f
}

// renameLists makes a reference to a list block one to the data source that stands for it.
func renameLists(node hclsyntax.Node) hcl.Diagnostics {
	expr, ok := node.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(expr.Traversal) < 3 || expr.Traversal.RootName() != "list" {
		return nil
	}
	root, _ := expr.Traversal[0].(hcl.TraverseRoot)
	typ, isType := expr.Traversal[1].(hcl.TraverseAttr)
	if _, isName := expr.Traversal[2].(hcl.TraverseAttr); !isType || !isName {
		return nil
	}
	root.Name, typ.Name = "data", ListType(typ.Name)
	expr.Traversal[0], expr.Traversal[1] = root, typ
	return nil
}

func decodeList(d *decoder, block *hcl.Block) {
	if !d.identifier(block.Labels[0], block.LabelRanges[0], "resource type name") ||
		!d.identifier(block.Labels[1], block.LabelRanges[1], "list name") {
		return
	}
	before := len(d.errs)
	d.refuseListBlocks(block)
	if len(d.errs) > before {
		return // as data sources, they would cause further errors
	}
	as := *block
	as.Labels = []string{ListType(block.Labels[0]), block.Labels[1]}
	r := d.resource(dataKind, &as, nil)
	if r.Provider == nil && len(d.errs) == 0 {
		d.errorf(block.DefRange, "Missing provider argument", "A list block must name the provider configuration "+
			"that lists the objects, for example provider = %s.", addrs.Resource{Type: block.Labels[0]}.ImpliedProvider())
	}
}

// refuseListBlocks adds an error for each block in a list block that only resources or data sources have.
func (d *decoder) refuseListBlocks(block *hcl.Block) {
	body, _ := block.Body.(*hclsyntax.Body)
	if body == nil {
		return
	}
	for _, inner := range body.Blocks {
		switch inner.Type {
		case "lifecycle", "connection", "provisioner":
			d.errorf(inner.DefRange(), fmt.Sprintf("Invalid %s block", inner.Type),
				"List blocks can't have %q blocks, because they only find objects. Remove it.", inner.Type)
		}
	}
}

// Lists returns the data sources that stand for list blocks, in the order of their addresses.
func (m *Module) Lists() []*Resource {
	var out []*Resource
	for _, addr := range m.sorted {
		if _, ok := ListedType(addr.Type); ok {
			out = append(out, m.Resources[addr])
		}
	}
	return out
}

// CheckQueries returns an error for each query file of a module that is called by a local path.
// Only the query files of the root module are used.
func (c *Config) CheckQueries() error {
	var errs tfdiags.Diagnostics
	seen := make(map[string]bool)
	for called := range c.AllModules() {
		if called.Parent == nil || seen[called.Module.Dir] || !called.Local() {
			continue
		}
		seen[called.Module.Dir] = true
		for _, name := range c.static.env.parser.QueryFiles(called.Module.Dir) {
			errs.Add(tfdiags.Errorf("Query file in a module", "Query files belong in the directory of the root module, "+
				"and %s is in that of %s. Move it, or run the command in its directory.", name, called.Path).
				At(called.Call.Range))
		}
	}
	return errs.Err()
}
