package lsp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/ui"
)

// A point is an instance of a block, in which an expression has one value.
type point struct {
	in    addrs.ModuleInstance
	cfg   *configs.Config
	key   addrs.InstanceKey
	each  cty.Value // each.value, or NilVal
	label string    // the keys that distinguish the point from others, such as module.net[0] and ["a"]
}

// maxPoints is the number of instances for which values are shown.
const maxPoints = 8

// points returns at most most instances of a block in a directory, and the number of the others. owner is the
// address that the block declares, or nil.
func (v *view) points(dir string, owner any, most int) (list []point, more int) {
	if v.values == nil {
		return nil, 0
	}
	for _, cfg := range v.modules(dir) {
		for _, in := range v.values.Modules(cfg.Path) {
			for _, p := range v.keys(point{in: in, cfg: cfg, label: in.String()}, owner) {
				if len(list) == most {
					more++
				} else {
					list = append(list, p)
				}
			}
		}
	}
	return list, more
}

// keys returns a point for each instance of a block in a module instance.
func (v *view) keys(p point, owner any) []point {
	var forEach hcl.Expression
	var keys []addrs.InstanceKey
	switch of := owner.(type) {
	case addrs.Resource:
		r := p.cfg.Module.Resources[of]
		if r == nil {
			return []point{p}
		}
		forEach = r.ForEach
		keys = slices.Collect(maps.Keys(v.values.Objects(p.in, of)))
	case addrs.ModuleCall:
		call := p.cfg.Module.Calls[of.Name]
		if call == nil {
			return []point{p}
		}
		forEach = call.ForEach
		for _, in := range v.values.Modules(p.cfg.Path.Child(of.Name)) {
			if parent, step := in.Parent(); parent == p.in {
				keys = append(keys, step.Key)
			}
		}
	default:
		return []point{p}
	}
	slices.SortFunc(keys, addrs.InstanceKey.Compare)
	elements := map[addrs.InstanceKey]cty.Value{}
	if forEach != nil {
		if val, err := v.eval(p, forEach); err == nil {
			list, _ := lang.ForEach(val)
			for _, e := range list {
				if key, err := addrs.KeyFromValue(e.Key); err == nil {
					elements[key] = e.Value
				}
			}
		}
	}
	out := make([]point, 0, len(keys))
	for _, key := range keys {
		one := p
		one.key, one.each, one.label = key, elements[key], p.label+key.String()
		out = append(out, one)
	}
	return out
}

// eval evaluates an expression at a point.
func (v *view) eval(p point, expr hcl.Expression) (cty.Value, error) {
	v.evaluating.Lock()
	defer v.evaluating.Unlock()
	scope := v.plan.Scope(context.Background(), v.values, p.in)
	if scope == nil {
		return cty.DynamicVal, fmt.Errorf("there is no module instance %s", p.in)
	}
	own := *scope
	own.Data = pointData{scope.Data, p}
	return own.EvalExpr(expr, cty.DynamicPseudoType)
}

// evalText is like eval for the text of an expression.
func (v *view) evalText(p point, text string) (cty.Value, error) {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return v.eval(p, expr)
}

// pointData adds count and each to the data of a module instance.
type pointData struct {
	lang.Data
	point
}

func (d pointData) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	switch s := subject.(type) {
	case addrs.CountAttr:
		if n, ok := d.key.IsInt(); ok {
			return cty.NumberIntVal(int64(n)), nil
		}
	case addrs.ForEachAttr:
		if key, ok := d.key.IsString(); ok && s.Name == "key" {
			return cty.StringVal(key), nil
		} else if d.each != cty.NilVal && s.Name == "value" {
			return d.each, nil
		}
	}
	return d.Data.Value(subject, rng)
}

// shown returns a value as an expression of the language, without what is secret.
func shown(v cty.Value) string {
	switch {
	case v == cty.NilVal:
		return "(not known)"
	case marks.Contains(v, marks.Ephemeral):
		return "(ephemeral value)"
	}
	return ui.FormatValue(v)
}

// short returns a value in one line of a limited length, or false if it isn't worth showing.
func short(v cty.Value) (string, bool) {
	if v == cty.NilVal || !v.IsKnown() || marks.Contains(v, marks.Ephemeral) || marks.Contains(v, marks.Sensitive) {
		return "", false
	}
	text := strings.Join(strings.Fields(ui.FormatValue(v)), " ")
	if r := []rune(text); len(r) > 50 {
		text = string(r[:49]) + "…"
	}
	return text, true
}

// table shows the values that get returns for the instances of a block.
func (v *view) table(points []point, more int, get func(point) (cty.Value, bool)) string {
	var b strings.Builder
	for _, p := range points {
		val, ok := get(p)
		if !ok {
			continue
		}
		if p.label != "" {
			fmt.Fprintf(&b, "# %s\n", p.label)
		}
		b.WriteString(clip(shown(val)) + "\n")
	}
	if b.Len() > 0 && more > 0 {
		fmt.Fprintf(&b, "# and %d more\n", more)
	}
	return b.String()
}

// clip limits the length of a text that an editor shows.
func clip(text string) string {
	const limit = 2000
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
