package terragrunt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// inputs imports the inputs of a unit and of the files that it includes. Inputs without a variable
// in the root module are left out: they have no effect.
func (im *importer) inputs(r *root, own *config, names map[string]string) {
	cfg, err := configs.LoadRootModule(r.dir, &configs.LoadOptions{Parser: im.parser}, tfdiags.Drop)
	if cfg == nil || err != nil {
		im.leave(r.name, "the inputs: the configuration in %s can't be read", im.name(r.dir))
		return
	}
	set := &inputSet{im: im, r: r, names: names, declared: cfg.Module.Variables, unused: make(map[string]bool)}
	set.reset()
	set.add(own, false)
	r.variables = set.expression()
	if len(set.unused) > 0 {
		im.leave(r.name, "inputs for which the root module has no variable: %s",
			strings.Join(slices.Sorted(maps.Keys(set.unused)), ", "))
	}
}

// inputSet collects inputs. Later ones override earlier ones.
type inputSet struct {
	im       *importer
	r        *root
	names    map[string]string // of root modules, by dependency
	declared map[string]*configs.Variable
	unused   map[string]bool // inputs for which there is no variable

	parts  []string          // objects before those of the fields below; some with names that are not known
	texts  map[string]string // expressions, by name of the input
	values map[string]cty.Value
}

func (s *inputSet) reset() {
	s.texts, s.values = make(map[string]string), make(map[string]cty.Value)
}

// object returns the text of an object with the inputs for which there are variables; "" if there
// are none.
func (s *inputSet) object() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		if s.declared[name] == nil {
			s.unused[name] = true
			continue
		}
		fmt.Fprintf(&b, "%s = %s\n", name, s.texts[name])
	}
	if b.Len() == 0 {
		return ""
	}
	return "{\n" + b.String() + "}"
}

// add adds the inputs of a file after those of the files that it includes. deep says that objects
// are merged with those before.
func (s *inputSet) add(c *config, deep bool) {
	for _, in := range c.includes {
		if in.merge {
			s.add(in.config, false)
			deep = deep || in.deep
		}
	}
	attr := c.body.Attributes["inputs"]
	if attr == nil {
		return
	}
	v, err := c.value(attr.Expr)
	if err == nil && isObject(v) {
		for it := v.ElementIterator(); it.Next(); {
			key, value := it.Element()
			s.set(key.AsString(), value, deep)
		}
		return
	}
	object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		text, err := c.rewrite(attr.Expr, s.names)
		if err != nil {
			s.im.leave(s.r.name, "the inputs: %s", s.im.oneLine(err))
			return
		}
		if before := s.object(); before != "" {
			s.parts = append(s.parts, before)
		}
		s.parts = append(s.parts, text)
		s.reset()
		return
	}
	for _, item := range object.Items {
		key, diags := item.KeyExpr.Value(c.ctx)
		if diags.HasErrors() || key.IsNull() || key.Type() != cty.String {
			s.im.leave(s.r.name, "an input whose name is not known (%s)", tfdiags.Place(item.KeyExpr.Range()))
			continue
		}
		name := key.AsString()
		if v, err := c.value(item.ValueExpr); err == nil {
			s.set(name, v, deep)
			continue
		}
		text, err := c.rewrite(item.ValueExpr, s.names)
		if err != nil {
			s.im.leave(s.r.name, "the input %q: %s", name, s.im.oneLine(err))
			delete(s.texts, name)
			continue
		}
		s.texts[name] = text
		delete(s.values, name)
	}
}

func (s *inputSet) set(name string, v cty.Value, deep bool) {
	if before, ok := s.values[name]; deep && ok {
		v = mergeDeeply(before, v)
	}
	s.texts[name], s.values[name] = literal(v), v
}

// mergeDeeply merges objects by attribute and concatenates lists, as merge_strategy = "deep" does.
func mergeDeeply(a, b cty.Value) cty.Value {
	isList := func(v cty.Value) bool { return !v.IsNull() && (v.Type().IsTupleType() || v.Type().IsListType()) }
	switch {
	case isObject(a) && isObject(b):
		all := maps.Clone(a.AsValueMap())
		if all == nil {
			return b
		}
		for name, v := range b.AsValueMap() {
			if before, ok := all[name]; ok {
				v = mergeDeeply(before, v)
			}
			all[name] = v
		}
		return cty.ObjectVal(all)
	case isList(a) && isList(b):
		return cty.TupleVal(append(a.AsValueSlice(), b.AsValueSlice()...))
	}
	return b
}

// expression returns the value of the argument "variables"; "" without inputs.
func (s *inputSet) expression() string {
	last := s.object()
	if len(s.parts) == 0 {
		return last
	}
	if last != "" {
		s.parts = append(s.parts, last)
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.declared)) {
		list = append(list, quoted(name))
	}
	return fmt.Sprintf("{\nfor name, value in merge(%s) : name => value\nif contains([%s], name)\n}",
		strings.Join(s.parts, ", "), strings.Join(list, ", "))
}

func isObject(v cty.Value) bool {
	return !v.IsNull() && (v.Type().IsObjectType() || v.Type().IsMapType())
}
