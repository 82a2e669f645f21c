package carve

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/tfdiags"
)

// Module is a parsed root module.
type Module struct {
	files  map[string][]byte // by name
	blocks []*block          // in the order of files and positions
	byKey  map[string]*block
	sorted []string // names of files
	locals []*localsBlock
}

// localsBlock is a block with local values.
type localsBlock struct {
	file   string
	span   span // with the comments directly above it, and the line break
	values []*block
}

// block is a block of the root module, or one local value.
type block struct {
	file string
	key  string // such as aws_vpc.main, data.aws_ami.x, module.m, var.v, local.l, provider.aws.west; "" for others
	typ  string // the type of the block, or "local"
	rng  hcl.Range
	span // its text, with the comments directly above it, and the line break
	refs []ref
	body *hclsyntax.Body // nil for a local value
	name span            // of the last label with its quotes
	// providers has the keys of the provider configurations that it names.
	providers []string
}

// item reports whether the block has objects, so that it can be only in one part.
func (b *block) item() bool { return b.typ == "resource" || b.typ == "module" }

// ref is a reference to a block.
type ref struct {
	key  string // of the block to which it refers
	rng  hcl.Range
	head span   // the text that names the block, such as aws_vpc.main
	tail span   // the text of the attribute, such as .id; empty for a reference to the whole
	attr string // the attribute; "" for the whole
	// indexed says that an instance key is between head and tail, and splat that [*] is.
	indexed, splat bool
	use            usage
	element        span // of the element of depends_on
}

// usage is where a reference is.
type usage int

const (
	inExpr usage = iota
	inDependsOn
	inStatic // in an argument that needs an address in the same module
)

// span is a range of bytes in a file.
type span struct{ start, end int }

// Parse parses the files of the root module in a directory, by name. Override files and JSON are errors.
func Parse(dir string, files map[string][]byte) (*Module, error) {
	m := &Module{files: files, byKey: make(map[string]*block), sorted: slices.Sorted(maps.Keys(files))}
	var errs tfdiags.Diagnostics
	for _, name := range m.sorted {
		base := strings.TrimSuffix(strings.TrimSuffix(name, ".tf"), ".tofu")
		if strings.HasSuffix(name, ".json") || base == "override" || strings.HasSuffix(base, "_override") {
			errs.Add(tfdiags.Errorf("Configuration that can't be rewritten", "%s is JSON or an override file. Move its blocks "+
				"into other files, or change the configuration yourself and only write moved blocks.", path.Join(dir, name)))
			continue
		}
		f, diags := hclsyntax.ParseConfig(files[name], path.Join(dir, name), hcl.InitialPos)
		if diags.HasErrors() {
			errs = errs.AppendError(diags)
			continue
		}
		for _, b := range f.Body.(*hclsyntax.Body).Blocks {
			m.add(name, b)
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	for _, b := range m.blocks {
		b.refs = slices.DeleteFunc(b.refs, func(r ref) bool { return m.byKey[r.key] == nil })
	}
	return m, nil
}

func (m *Module) add(file string, hb *hclsyntax.Block) {
	if hb.Type == "locals" {
		in := &localsBlock{file: file, span: m.extent(file, hb.Range())}
		for _, attr := range inOrder(hb.Body.Attributes) {
			b := &block{file: file, typ: "local", key: "local." + attr.Name, rng: attr.SrcRange,
				span: m.extent(file, attr.SrcRange)}
			b.collect(attr.Expr, inExpr)
			m.blocks, m.byKey[b.key], in.values = append(m.blocks, b), b, append(in.values, b)
		}
		m.locals = append(m.locals, in)
		return
	}
	b := &block{file: file, typ: hb.Type, rng: hb.DefRange(), body: hb.Body, span: m.extent(file, hb.Range())}
	if n := len(hb.LabelRanges); n > 0 {
		b.name = of(hb.LabelRanges[n-1])
	}
	switch labels := hb.Labels; hb.Type {
	case "resource":
		b.key = strings.Join(labels, ".")
	case "data", "ephemeral":
		b.key = hb.Type + "." + strings.Join(labels, ".")
	case "module", "output":
		b.key = hb.Type + "." + labels[0]
	case "variable":
		b.key = "var." + labels[0]
	case "provider":
		b.key = "provider." + labels[0]
		if attr := hb.Body.Attributes["alias"]; attr != nil {
			if v, diags := attr.Expr.Value(nil); !diags.HasErrors() && v.Type().FriendlyName() == "string" {
				b.key += "." + v.AsString()
			}
		}
	}
	b.references(hb.Body, true)
	m.blocks = append(m.blocks, b)
	if b.key != "" {
		m.byKey[b.key] = b
	}
}

// extent extends the range of a block or argument to its whole lines and to the comments directly above it. If other
// code is on these lines, it returns the range as it is.
func (m *Module) extent(file string, r hcl.Range) span {
	src, s := m.files[file], of(r)
	comment := func(line []byte) bool {
		return bytes.HasPrefix(line, []byte("#")) || bytes.HasPrefix(line, []byte("//"))
	}
	start, end := bytes.LastIndexByte(src[:s.start], '\n')+1, len(src)
	if i := bytes.IndexByte(src[s.end:], '\n'); i >= 0 {
		end = s.end + i + 1
	}
	after := bytes.TrimSpace(src[s.end:end])
	if len(bytes.TrimSpace(src[start:s.start])) > 0 || len(after) > 0 && !comment(after) {
		return s
	}
	for start > 0 {
		line := bytes.LastIndexByte(src[:start-1], '\n') + 1
		if !comment(bytes.TrimSpace(src[line:start])) {
			break
		}
		start = line
	}
	return span{start, end}
}

// references collects the references in a body. top says that it is that of the block itself.
func (b *block) references(body *hclsyntax.Body, top bool) {
	for _, attr := range inOrder(body.Attributes) {
		name := attr.Name
		switch {
		case top && name == "provider" && (b.typ == "resource" || b.typ == "data" || b.typ == "ephemeral"):
			b.providers = append(b.providers, providerKey(attr.Expr))
		case top && name == "providers" && b.typ == "module":
			if object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr); ok {
				for _, item := range object.Items {
					b.providers = append(b.providers, providerKey(item.ValueExpr))
				}
			}
		case top && name == "depends_on":
			b.collect(attr.Expr, inDependsOn)
		case name == "replace_triggered_by", name == "ignore_changes",
			top && (b.typ == "moved" || b.typ == "removed" || b.typ == "import") && name != "id" && name != "for_each":
			b.collect(attr.Expr, inStatic)
		default:
			b.collect(attr.Expr, inExpr)
		}
	}
	for _, inner := range body.Blocks {
		b.references(inner.Body, false)
	}
}

func inOrder(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(x, y *hclsyntax.Attribute) int {
		return x.SrcRange.Start.Byte - y.SrcRange.Start.Byte
	})
}

// providerKey returns the key of the provider configuration that an expression names.
func providerKey(expr hclsyntax.Expression) string {
	tr, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() {
		return ""
	}
	key := "provider." + tr.RootName()
	if len(tr) > 1 {
		if attr, ok := tr[1].(hcl.TraverseAttr); ok {
			key += "." + attr.Name
		}
	}
	return key
}

// collect adds the references in an expression.
func (b *block) collect(expr hclsyntax.Expression, use usage) {
	elements := map[hclsyntax.Node]span{}
	if list, ok := expr.(*hclsyntax.TupleConsExpr); ok && use == inDependsOn {
		for _, e := range list.Exprs {
			elements[e] = of(e.Range())
		}
	}
	done := map[hclsyntax.Node]bool{}
	add := func(n *hclsyntax.ScopeTraversalExpr, tail hcl.Traversal, indexed, splat bool, whole hcl.Range) {
		done[n] = true
		r, rest, ok := head(n.Traversal)
		if !ok {
			return
		}
		r.rng, r.use, r.element, r.indexed, r.splat = whole, use, elements[n], indexed, splat
		if tail == nil {
			if len(rest) > 0 {
				if _, ok := rest[0].(hcl.TraverseIndex); ok {
					r.indexed, rest = true, rest[1:]
				}
			}
			tail = rest
		}
		if len(tail) > 0 {
			if attr, ok := tail[0].(hcl.TraverseAttr); ok {
				r.attr, r.tail = attr.Name, of(attr.SrcRange)
			}
		}
		b.refs = append(b.refs, r)
	}
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.RelativeTraversalExpr:
			if index, ok := n.Source.(*hclsyntax.IndexExpr); ok {
				if scope, ok := index.Collection.(*hclsyntax.ScopeTraversalExpr); ok && exact(scope.Traversal) {
					add(scope, n.Traversal, true, false, n.Range())
				}
			}
		case *hclsyntax.SplatExpr:
			scope, ok := n.Source.(*hclsyntax.ScopeTraversalExpr)
			each, relative := n.Each.(*hclsyntax.RelativeTraversalExpr)
			if ok && relative && exact(scope.Traversal) {
				add(scope, each.Traversal, false, true, n.Range())
			}
		case *hclsyntax.ScopeTraversalExpr:
			if !done[n] {
				add(n, nil, false, false, n.Range())
			}
		}
		return nil
	})
}

func of(r hcl.Range) span { return span{r.Start.Byte, r.End.Byte} }

// exact reports whether a traversal names a block and nothing in it.
func exact(tr hcl.Traversal) bool {
	_, rest, ok := head(tr)
	return ok && len(rest) == 0
}

// head splits a traversal into the part that names a block, and the rest.
func head(tr hcl.Traversal) (r ref, rest hcl.Traversal, ok bool) {
	n := 2
	switch tr.RootName() {
	case "data", "ephemeral":
		n = 3
	case "resource":
		n = 3
	case "each", "count", "self", "path", "terraform", "tofu":
		return r, nil, false
	}
	if len(tr) < n {
		return r, nil, false
	}
	names := []string{tr.RootName()}
	for _, step := range tr[1:n] {
		attr, isAttr := step.(hcl.TraverseAttr)
		if !isAttr {
			return r, nil, false
		}
		names = append(names, attr.Name)
	}
	if names[0] == "resource" {
		names = names[1:]
	}
	r.key = strings.Join(names, ".")
	r.head = span{tr.SourceRange().Start.Byte, tr[n-1].SourceRange().End.Byte}
	return r, tr[n:], true
}

// Items returns the addresses of the blocks that have objects, in the order of the files.
func (m *Module) Items() []string {
	var out []string
	for _, b := range m.blocks {
		if b.item() {
			out = append(out, b.key)
		}
	}
	return out
}

// Has reports whether the root module has the block of a resource or module.
func (m *Module) Has(item string) bool { return m.byKey[item] != nil && m.byKey[item].item() }

// Files returns the files of the root module by name. The caller must not change them.
func (m *Module) Files() map[string][]byte { return m.files }
