package terragrunt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
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
	all := set.read(r.unit.own)
	if r.unit.auto != nil {
		all = set.merge(all, set.read(r.unit.auto), false)
	}
	for name, text := range r.extra {
		declared[name] = true
		all.inputs[name] = input{text: text}
	}
	r.variables = set.expression(all)
	byPlace := make(map[hcl.Range][]string)
	for name, where := range set.unused {
		byPlace[where] = append(byPlace[where], name)
	}
	for where, names := range byPlace {
		slices.Sort(names)
		im.leave(r.name, where, "inputs for which the root module has no variable: %s", strings.Join(names, ", "))
	}
}

// inputSet collects the inputs of one unit.
type inputSet struct {
	im       *importer
	r        *root
	declared map[string]bool      // names of the root module's variables
	unused   map[string]hcl.Range // ranges of inputs without a variable
}

// layer holds the inputs of a file, or of several files that are merged.
type layer struct {
	parts  []string         // expressions for objects, which are merged before inputs
	at     hcl.Range        // the "inputs" argument that set the last of the parts
	inputs map[string]input // by name
}

// input is the value of one input. If it can't be imported, its text is "", and it hides the input of the
// same name in included files.
type input struct {
	text  string
	value cty.Value // NilVal if it has outputs
	at    hcl.Range // the expression
	place hcl.Range // the "inputs" argument
}

// object returns the text of an object with the inputs of a layer, other than its parts, that have a
// variable. It returns "" if there are none.
func (s *inputSet) object(l *layer) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.inputs)) {
		switch in := l.inputs[name]; {
		case in.text == "":
		case s.declared[name]:
			fmt.Fprintf(&b, "%s = %s\n", name, in.text)
		default:
			s.unused[name] = in.place
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "{\n" + b.String() + "}"
}

// read returns the inputs of a file merged with those of the files that it includes. Each included file is
// merged with its own strategy, the last one first.
func (s *inputSet) read(c *config) *layer {
	out := s.own(c)
	for _, in := range slices.Backward(c.includes) {
		if in.merge {
			out = s.merge(s.read(in.config), out, in.deep)
		}
	}
	return out
}

// own returns the inputs that a file sets itself.
func (s *inputSet) own(c *config) *layer {
	out := &layer{inputs: make(map[string]input)}
	attr := c.body.Attributes["inputs"]
	if attr == nil {
		return out
	}
	object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr)
	v, err := c.marked(attr.Expr)
	if !ok && err == nil && isObject(v) && !v.IsMarked() {
		for it := v.ElementIterator(); it.Next(); {
			key, value := it.Element()
			out.inputs[key.AsString()] = s.known(key.AsString(), value, attr.SrcRange, attr.SrcRange)
		}
		return out
	}
	if !ok {
		text, err := s.im.rewrite(c, attr.Expr, s.r.needs)
		if err != nil {
			s.im.leave(s.r.name, attr.SrcRange, "the inputs: %s", s.im.reason(err, attr.SrcRange))
			return out
		}
		if names, err := s.names(text); err != nil {
			s.im.leave(s.r.name, attr.SrcRange, "the inputs: %s", s.im.reason(err, attr.SrcRange))
		} else if names == nil {
			out.parts, out.at = []string{text}, attr.SrcRange
		} else {
			if _, ok := attr.Expr.(*hclsyntax.ConditionalExpr); ok {
				text = "(" + text + ")"
			}
			for _, name := range names {
				out.inputs[name] = input{text: fmt.Sprintf("%s[%q]", text, name), at: attr.SrcRange, place: attr.SrcRange}
			}
		}
		return out
	}
	for _, item := range object.Items {
		key, diags := item.KeyExpr.Value(c.ctx)
		key, _ = key.Unmark()
		if diags.HasErrors() || key.IsNull() || key.Type() != cty.String {
			s.im.leave(s.r.name, item.KeyExpr.Range(), "an input whose name is not known")
			continue
		}
		out.inputs[key.AsString()] = s.item(c, key.AsString(), item.ValueExpr, attr.SrcRange)
	}
	return out
}

// names returns the names of the inputs in an object with outputs of other units if they depend on
// which outputs there are, as in merge(root["a"], root["b"]), in any order. Otherwise it
// returns nil.
func (s *inputSet) names(text string) ([]string, error) {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	unknown, declared := make(map[string]cty.Value), make(map[string]cty.Value)
	for _, need := range s.r.needs {
		unknown[need.name] = cty.DynamicVal
		outputs := make(map[string]cty.Value)
		if cfg := s.im.module(need.dir); cfg != nil {
			for name := range cfg.Module.Outputs {
				outputs[name] = cty.DynamicVal
			}
		}
		declared[need.name] = cty.ObjectVal(outputs)
	}
	ctx := &hcl.EvalContext{Functions: language, Variables: map[string]cty.Value{"root": cty.ObjectVal(unknown)}}
	if v, diags := expr.Value(ctx); diags.HasErrors() || v.IsKnown() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	ctx.Variables["root"] = cty.ObjectVal(declared)
	v, diags := expr.Value(ctx)
	if diags.HasErrors() || !v.IsKnown() || !isObject(v) {
		return nil, tfdiags.FromHCL(diags).AppendError(tfdiags.Errorf("Unknown names",
			"The names depend on the values of outputs of other units.")).Err()
	}
	return slices.AppendSeq([]string{}, maps.Keys(v.AsValueMap())), nil
}

// item returns the input that an expression sets. place is the range of the file's "inputs" argument.
func (s *inputSet) item(c *config, name string, expr hclsyntax.Expression, place hcl.Range) input {
	at := expr.Range()
	if v, err := c.marked(expr); err == nil {
		return s.known(name, v, at, place)
	}
	text, err := s.im.rewrite(c, expr, s.r.needs)
	if err != nil {
		s.im.leave(s.r.name, at, "the input %q: %s", name, s.im.reason(err, at))
		return input{at: at, place: place}
	}
	return input{text: text, at: at, place: place}
}

// known returns the input with a value that is known.
func (s *inputSet) known(name string, v cty.Value, at, place hcl.Range) input {
	if err := public(v, at); err != nil && s.declared[name] {
		s.im.leave(s.r.name, at, "the input %q: %s: set it with TF_VAR_%[1]s", name, s.im.reason(err, at))
		return input{at: at, place: place}
	}
	v, _ = v.UnmarkDeep()
	return input{literal(v), v, at, place}
}

// merge returns the inputs of two layers. Those of over replace those of under with the same name or, if
// deep is set, are merged with them recursively.
func (s *inputSet) merge(under, over *layer, deep bool) *layer {
	if len(over.parts) > 0 {
		if deep {
			s.im.leave(s.r.name, over.at, "the inputs are not merged deeply, because they have outputs")
		}
		out := &layer{slices.Clone(under.parts), over.at, over.inputs}
		if before := s.object(under); before != "" {
			out.parts = append(out.parts, before)
		}
		out.parts = append(out.parts, over.parts...)
		return out
	}
	out := &layer{under.parts, under.at, maps.Clone(under.inputs)}
	for _, name := range slices.Sorted(maps.Keys(over.inputs)) {
		in := over.inputs[name]
		if before := out.inputs[name]; deep && before.text != "" && in.text != "" {
			in = s.mergeInput(name, before, in)
		}
		out.inputs[name] = in
	}
	return out
}

// mergeInput merges an input with one of the same name in an included file. It returns the input
// unchanged if one of them has outputs.
func (s *inputSet) mergeInput(name string, under, over input) input {
	simple := func(in input) bool {
		return in.value != cty.NilVal && (in.value.IsNull() || in.value.Type().IsPrimitiveType())
	}
	switch {
	case under.value != cty.NilVal && over.value != cty.NilVal:
		over.value = mergeDeeply(under.value, over.value)
		over.text = literal(over.value)
	case !simple(under) && !simple(over):
		s.im.leave(s.r.name, over.at, "the input %q is not merged deeply, because it has outputs", name)
	}
	return over
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
func (s *inputSet) expression(l *layer) string {
	last, parts := s.object(l), l.parts
	if len(parts) == 0 {
		return last
	}
	if last != "" {
		parts = append(slices.Clip(parts), last)
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.declared)) {
		list = append(list, quoted(name))
	}
	return fmt.Sprintf("{\nfor name, value in merge(%s) : name => value\nif contains([%s], name)\n}",
		strings.Join(parts, ", "), strings.Join(list, ", "))
}

func isObject(v cty.Value) bool {
	return !v.IsNull() && (v.Type().IsObjectType() || v.Type().IsMapType())
}
