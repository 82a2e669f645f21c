package genconfig

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
)

func TestImportBlock(t *testing.T) {
	resource := addrs.Resource{Mode: addrs.Managed, Type: "a_b", Name: "c"}.InInstance("")
	to := resource.Instance(addrs.NoKey)
	identity := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("${x}"), "zone": cty.NumberIntVal(1),
		"none": cty.NullVal(cty.String)})
	want := "import {\n  to       = a_b.c\n  provider = a.west\n  identity = {\n    id   = \"$${x}\"\n    zone = 1\n  }\n}\n"
	if got := ImportBlock([]Import{{To: to, Provider: "a.west", Identity: identity}}); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	for _, provider := range []string{"", "a"} {
		if got := ImportBlock([]Import{{To: to, Provider: provider, ID: "i"}}); strings.Contains(got, "provider") {
			t.Errorf("with a provider:\n%s", got)
		}
	}
	want = "import {\n  for_each = {\n    \"x\" = \"1\"\n    \"y\" = \"2\"\n  }\n  to = a_b.c[each.key]\n  id = each.value\n}\n"
	if got := ImportBlock([]Import{{To: resource.Instance(addrs.StringKey("x")), ID: "1"},
		{To: resource.Instance(addrs.StringKey("y")), ID: "2"}}); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}
