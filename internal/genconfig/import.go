package genconfig

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
)

// An Import is an object to import.
type Import struct {
	To       addrs.AbsInstance
	Provider string    // the provider argument; "" for the default configuration
	ID       string    // "" if the object is imported by its identity
	Identity cty.Value // attributes that are null are left out
}

// ImportBlock returns the block that imports the objects of one resource, sorted by key. For several objects
// it has for_each.
func ImportBlock(objects []Import) string {
	var b strings.Builder
	first := objects[0]
	keyed := len(objects) > 1
	b.WriteString("import {\n")
	to, target := first.To.String(), string(hclwrite.TokensForValue(first.target()).Bytes())
	if keyed {
		to, target = first.To.Abs().String()+"[each.key]", "each.value"
		b.WriteString("for_each = {\n")
		for _, o := range objects {
			fmt.Fprintf(&b, "%s = %s\n", hclwrite.TokensForValue(o.To.Key.Value()).Bytes(), hclwrite.TokensForValue(o.target()).Bytes())
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b, "to = %s\n", to)
	if first.Provider != "" && first.Provider != first.To.Resource.ImpliedProvider() {
		fmt.Fprintf(&b, "provider = %s\n", first.Provider)
	}
	name := "id"
	if first.ID == "" {
		name = "identity"
	}
	fmt.Fprintf(&b, "%s = %s\n}\n", name, target)
	return string(hclwrite.Format([]byte(b.String())))
}

// target returns the value that identifies the object.
func (o *Import) target() cty.Value {
	if o.ID != "" {
		return cty.StringVal(o.ID)
	}
	attrs := o.Identity.AsValueMap()
	maps.DeleteFunc(attrs, func(_ string, v cty.Value) bool { return v.IsNull() })
	return cty.ObjectVal(attrs)
}
