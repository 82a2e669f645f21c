package rootsfile

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang"
	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// scope holds the names that expressions in the file can refer to.
type scope struct {
	base   *hcl.EvalContext                // functions, path and, after resolveAll, local values
	attrs  map[string]*hclsyntax.Attribute // definitions of local values
	locals map[string]cty.Value
	open   []string // local values that are being evaluated, to find cycles
	top    string   // absolute path of the top directory
	dir    string
}

func newScope(dir string, locals map[string]*hclsyntax.Attribute) *scope {
	top, err := filepath.Abs(dir)
	if err != nil {
		top = dir
	}
	s := &scope{attrs: locals, locals: make(map[string]cty.Value), top: top, dir: dir}
	s.base = &hcl.EvalContext{Functions: funcs.Table(funcs.Options{BaseDir: dir}), Variables: map[string]cty.Value{
		"path": cty.ObjectVal(map[string]cty.Value{"root": cty.StringVal(filepath.ToSlash(top))}),
	}}
	return s
}

// resolve evaluates a local value and the local values that it refers to, each only once.
func (s *scope) resolve(name string) error {
	if _, done := s.locals[name]; done {
		return nil
	}
	expr := s.attrs[name].Expr
	for i, other := range s.open {
		if other == name {
			cycle := strings.Join(append(s.open[i:], name), ", ")
			return tfdiags.Errorf("Local values refer to each other",
				"These local values depend on themselves: %s.", cycle).At(expr.Range())
		}
	}
	s.open = append(s.open, name)
	defer func() { s.open = s.open[:len(s.open)-1] }()
	needed := make(map[string]cty.Value)
	for _, tr := range expr.Variables() {
		other, ok := localName(tr)
		if _, defined := s.attrs[other]; !ok || !defined {
			continue
		}
		if err := s.resolve(other); err != nil {
			return err
		}
		needed[other] = s.locals[other]
	}
	ctx := s.base.NewChild()
	ctx.Variables = map[string]cty.Value{"local": cty.ObjectVal(needed)}
	v, diags := expr.Value(ctx)
	s.locals[name] = v
	return tfdiags.FromHCL(diags).Err()
}

// needed returns the names of the local values that references read, also through other local values, sorted.
func (s *scope) needed(read []hcl.Traversal) []string {
	found := make(map[string]bool)
	for len(read) > 0 {
		name, ok := localName(read[0])
		if !ok && read[0].RootName() == "local" { // all of them
			return slices.Sorted(maps.Keys(s.attrs))
		}
		read = read[1:]
		if attr := s.attrs[name]; attr != nil && !found[name] {
			found[name] = true
			read = append(read, attr.Expr.Variables()...)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// localName returns the name of the local value that a traversal refers to.
func localName(tr hcl.Traversal) (string, bool) {
	if tr.RootName() != "local" || len(tr) < 2 {
		return "", false
	}
	attr, ok := tr[1].(hcl.TraverseAttr)
	return attr.Name, ok
}

// resolveAll evaluates all local values.
func (s *scope) resolveAll() error {
	var errs tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(s.attrs)) {
		errs = errs.AppendError(s.resolve(name))
	}
	s.base.Variables["local"] = cty.ObjectVal(s.locals)
	return errs.Err()
}

// context returns the evaluation context for the expressions of a root module and of one element of
// its for_each. Both may be nil.
func (s *scope) context(each *lang.Element, r *Root) *hcl.EvalContext {
	ctx := s.base.NewChild()
	ctx.Variables = make(map[string]cty.Value)
	if each != nil {
		ctx.Variables["each"] = cty.ObjectVal(map[string]cty.Value{"key": each.Key, "value": each.Value})
	}
	if r != nil {
		rel, err := filepath.Rel(s.dir, r.Dir)
		if err != nil {
			rel = r.Dir
		}
		ctx.Variables["self"] = cty.ObjectVal(map[string]cty.Value{
			"name": cty.StringVal(r.Name), "path": cty.StringVal(filepath.ToSlash(rel))})
	}
	return ctx
}
