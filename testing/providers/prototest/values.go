package prototest

import (
	"fmt"
	"maps"
	"math/big"
	"sort"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// proposed returns the configuration with two changes. A computed attribute that is not configured
// has the prior value; without one, it is unknown unless it is also optional. Write-only attributes
// are null. This is enough for the providers in this module, which compute everything else again.
func proposed(schema *tfprotov6.Schema, config, prior tftypes.Value) tftypes.Value {
	var cfg, old map[string]tftypes.Value
	if err := config.As(&cfg); err != nil {
		panic(err) // can't fail: values of the schema's type are objects
	}
	if err := prior.As(&old); err != nil || old == nil {
		old = map[string]tftypes.Value{}
	}
	cfg = maps.Clone(cfg) // As returns the map inside the value, which must not be changed
	for _, a := range schema.Block.Attributes {
		v, ok := old[a.Name]
		switch {
		case a.WriteOnly:
			cfg[a.Name] = tftypes.NewValue(a.ValueType(), nil)
		case !a.Computed || !cfg[a.Name].IsNull():
		case ok:
			cfg[a.Name] = v
		case !a.Optional:
			cfg[a.Name] = tftypes.NewValue(a.ValueType(), tftypes.UnknownValue)
		}
	}
	return tftypes.NewValue(config.Type(), cfg)
}

// Text returns an attribute of the object as text. The name a.b selects the nested attribute b of
// a. Lists are written as [x y], and maps as {a=x}. If o is nil, because the object doesn't exist,
// the text is "gone".
func (o *Object) Text(attribute string) string {
	if o == nil {
		return "gone"
	}
	v := o.Value
	for name := range strings.SplitSeq(attribute, ".") {
		var m map[string]tftypes.Value
		if err := v.As(&m); err != nil {
			return err.Error()
		}
		var ok bool
		v, ok = m[name]
		if !ok {
			return "no attribute " + name
		}
	}
	return text(v)
}

func text(v tftypes.Value) string {
	if v.IsNull() {
		return "null"
	}
	var list []tftypes.Value
	var m map[string]tftypes.Value
	var s string
	var n big.Float
	var b bool
	switch {
	case !v.IsKnown():
		return "unknown"
	case v.As(&s) == nil:
		return s
	case v.As(&b) == nil:
		return fmt.Sprint(b)
	case v.As(&n) == nil:
		return n.Text('g', 20)
	case v.As(&list) == nil:
		parts := make([]string, len(list))
		for i, e := range list {
			parts[i] = text(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	case v.As(&m) == nil:
		var parts []string
		for name, e := range m {
			parts = append(parts, name+"="+text(e))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, " ") + "}"
	}
	return v.String()
}
