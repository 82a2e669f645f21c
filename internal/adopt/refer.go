package adopt

import (
	"encoding/json"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/genconfig"
	"tofu/internal/states"
)

// AddOutputs adds to refs the expressions for the outputs of another root module that identify one of its objects,
// by their values. data is the address of the data source that reads its state.
func AddOutputs(refs map[string]string, st *states.State, data string) {
	ids := make(map[string]bool)
	for r := range st.Resources() {
		for _, inst := range r.Instances {
			if r.Addr.Resource.Mode == addrs.Managed && inst.Current != nil {
				addIDs(ids, inst.Current.Attrs)
			}
		}
	}
	for _, name := range st.OutputNames() {
		out := st.Output(name)
		if v := out.Value; !out.Sensitive && v.Type() == cty.String && v.IsKnown() && !v.IsNull() && !v.IsMarked() {
			if text := v.AsString(); ids[text] && refs[text] == "" {
				refs[text] = data + ".outputs." + name
			}
		}
	}
}

// addIDs adds what identifies the object with the given attributes, but no names that people chose: those are the
// values of other attributes, too.
func addIDs(ids map[string]bool, attrs []byte) {
	var values map[string]any
	if json.Unmarshal(attrs, &values) != nil {
		return
	}
	chosen := make(map[any]bool)
	for name, v := range values {
		if text, ok := v.(string); ok && !slices.Contains(genconfig.Identifying, name) {
			chosen[text] = true
		}
	}
	for _, name := range genconfig.Identifying {
		if text, ok := values[name].(string); ok && text != "" && !chosen[text] {
			ids[text] = true
		}
	}
}

// Refer replaces strings in the arguments of a resource block by the expressions that refs has for them.
func Refer(block string, refs map[string]string) string {
	f, diags := hclsyntax.ParseConfig([]byte(block), "adopted.tf", hcl.InitialPos)
	if diags.HasErrors() || len(refs) == 0 {
		return block
	}
	finder := &literals{refs: refs}
	_ = hclsyntax.Walk(f.Body.(*hclsyntax.Body), finder)
	slices.SortFunc(finder.found, func(x, y *hclsyntax.TemplateExpr) int { return x.SrcRange.Start.Byte - y.SrcRange.Start.Byte })
	for _, lit := range slices.Backward(finder.found) {
		v, _ := lit.Value(nil)
		block = block[:lit.SrcRange.Start.Byte] + refs[v.AsString()] + block[lit.SrcRange.End.Byte:]
	}
	return block
}

// literals finds the strings that are replaced.
type literals struct {
	refs  map[string]string
	inKey int
	found []*hclsyntax.TemplateExpr
}

// stays reports whether strings in a node are not replaced: those in for_each, and the keys of objects.
func stays(node hclsyntax.Node) bool {
	switch node := node.(type) {
	case *hclsyntax.ObjectConsKeyExpr:
		return true
	case *hclsyntax.Attribute:
		return node.Name == "for_each"
	}
	return false
}

// Enter implements hclsyntax.Walker.
func (l *literals) Enter(node hclsyntax.Node) hcl.Diagnostics {
	if stays(node) {
		l.inKey++
	}
	if lit, ok := node.(*hclsyntax.TemplateExpr); ok && l.inKey == 0 && lit.IsStringLiteral() {
		if v, diags := lit.Value(nil); !diags.HasErrors() && l.refs[v.AsString()] != "" {
			l.found = append(l.found, lit)
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (l *literals) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if stays(node) {
		l.inKey--
	}
	return nil
}
