package lang

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
)

// TestValueInstances checks which values are read only by key.
func TestValueInstances(t *testing.T) {
	for src, want := range map[string]string{
		`local.v[each.key].id`:                        "local.v each.key",
		`"${var.v["a"]}-${var.v[local.k]}"`:           `var.v "a" local.k, local.k *`,
		`local.v.a.id`:                                `local.v "a"`,
		`module.m.out[count.index]`:                   "module.m.out count.index",
		`[module.m.out[0], module.m]`:                 "module.m.out *",
		`[module.m.out[each.key], module.m["x"].out]`: "module.m.out each.key",
		`[local.v[each.key], length(local.v)]`:        "local.v *",
		`local.v.a[each.key]`:                         `local.v "a"`,
		`local.v[*].id`:                               "local.v *",
		`[for k in ["a"] : local.v[k]]`:               "local.v k",
		`element(local.v, count.index).id`:            "local.v count.index",
		`element(var.v[*].id, local.k)`:               "var.v local.k, local.k *",
		`module.m.out.*.id[count.index]`:              "module.m.out count.index",
		`[element(local.v, 0), local.v[0]]`:           "local.v *",
		`[element(local.v, 0), local.v.*.id[0]]`:      "local.v *",
		`[for i in [0] : element(local.v, i)]`:        "local.v *",
		`local.v[self.x]`:                             "local.v *",
	} {
		expr, diags := hclsyntax.ParseExpression([]byte(src), "t.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(src, diags)
		}
		refs := Analyze(expr, addrs.ModuleScope).Refs
		var got []string
		seen := map[addrs.Referenceable]bool{}
		for _, ref := range refs.Objects {
			if !isValue(ref.Subject) || seen[ref.Subject] {
				continue
			}
			seen[ref.Subject] = true
			text := ref.Subject.String()
			of, only := refs.ValueInstances(ref.Subject)
			if !only {
				text += " *"
			}
			for _, one := range of {
				text += " " + indexText(src, one)
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: got %q; want %q", src, strings.Join(got, ", "), want)
		}
	}
}
