package terragrunt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// inputs imports the inputs of a unit and of the files that it includes. Inputs for which the root
// module has no variable are left out, because they have no effect.
func (im *importer) inputs(r *root) {
	cfg := im.module(r.dir)
	if cfg == nil {
		im.leave(r.name, hcl.Range{}, "the inputs: the configuration in %s can't be read", im.relative(r.dir))
		return
	}
	declared := make(map[string]bool)
	for name := range cfg.Module.Variables {
		declared[name] = true
	}
	set := &inputSet{im: im, r: r, declared: declared, unused: make(map[string]hcl.Range)}
	set.reset()
	set.add(r.unit.own, false)
	if r.unit.auto != nil {
		set.add(r.unit.auto, false)
	}
	for name, v := range r.extra {
		declared[name] = true
		set.texts[name] = literal(v)
	}
	r.variables = set.expression()
	byPlace := make(map[hcl.Range][]string)
	for name, where := range set.unused {
		byPlace[where] = append(byPlace[where], name)
	}
	for where, names := range byPlace {
		slices.Sort(names)
		im.leave(r.name, where, "inputs for which the root module has no variable: %s", strings.Join(names, ", "))
	}
}

// inputSet collects inputs. Later inputs override earlier ones with the same name.
type inputSet struct {
	im       *importer
	r        *root
	declared map[string]bool      // names of the root module's variables
	unused   map[string]hcl.Range // ranges of inputs without a variable

	parts  []string          // expressions for objects that are merged before the inputs in the fields below
	texts  map[string]string // expressions by input name
	values map[string]cty.Value
	places map[string]hcl.Range // ranges of the "inputs" arguments that set them
}

func (s *inputSet) reset() {
	s.texts, s.values = make(map[string]string), make(map[string]cty.Value)
	s.places = make(map[string]hcl.Range)
}

// object returns the text of an object with the inputs that have a variable, or "" if there are
// none.
func (s *inputSet) object() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		if !s.declared[name] {
			s.unused[name] = s.places[name]
			continue
		}
		fmt.Fprintf(&b, "%s = %s\n", name, s.texts[name])
	}
	if b.Len() == 0 {
		return ""
	}
	return "{\n" + b.String() + "}"
}

// add adds the inputs of the files that a file includes, then the file's own inputs. If deep is
// set, objects are merged with earlier objects instead of replacing them.
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
			s.set(key.AsString(), value, attr.SrcRange, deep)
		}
		return
	}
	object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		text, err := c.rewrite(attr.Expr, s.r.needs)
		if err != nil {
			s.im.leave(s.r.name, attr.SrcRange, "the inputs: %s", s.im.reason(err, attr.SrcRange))
			return
		}
		if deep {
			s.im.leave(s.r.name, attr.SrcRange, "the inputs are not merged deeply, because they have outputs")
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
			s.im.leave(s.r.name, item.KeyExpr.Range(), "an input whose name is not known")
			continue
		}
		s.item(c, key.AsString(), item.ValueExpr, attr.SrcRange, deep)
	}
}

// item adds the input that an expression sets. at is the range of the file's "inputs" argument.
func (s *inputSet) item(c *config, name string, expr hclsyntax.Expression, at hcl.Range, deep bool) {
	if v, err := c.value(expr); err == nil {
		s.set(name, v, at, deep)
		return
	}
	text, err := c.rewrite(expr, s.r.needs)
	if err != nil {
		s.im.leave(s.r.name, expr.Range(), "the input %q: %s", name, s.im.reason(err, expr.Range()))
		delete(s.texts, name)
		delete(s.values, name)
		return
	}
	if before, ok := s.values[name]; deep && s.texts[name] != "" && (!ok || !before.Type().IsPrimitiveType()) {
		s.im.leave(s.r.name, expr.Range(), "the input %q is not merged deeply, because it has outputs", name)
	}
	s.texts[name], s.places[name] = text, at
	delete(s.values, name)
}

func (s *inputSet) set(name string, v cty.Value, at hcl.Range, deep bool) {
	before, ok := s.values[name]
	switch {
	case deep && ok:
		v = mergeDeeply(before, v)
	case deep && s.texts[name] != "" && !v.IsNull() && !v.Type().IsPrimitiveType():
		s.im.leave(s.r.name, at, "the input %q is not merged deeply, because it has outputs", name)
	}
	s.texts[name], s.values[name], s.places[name] = literal(v), v, at
}

// mergeDeeply merges objects recursively and concatenates lists, like merge_strategy = "deep".
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

// expression returns the text of the "variables" argument, or "" if there are no inputs.
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
