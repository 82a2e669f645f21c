package engine

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
)

// TestIdentify checks that objects are identified by their id attribute, and by their name only if
// their type has no id attribute. A name shown in place of a missing id would be mistaken for the
// id.
func TestIdentify(t *testing.T) {
	name := cty.StringVal("n")
	for _, c := range []struct {
		attrs map[string]cty.Value
		want  string
	}{
		{map[string]cty.Value{"id": cty.StringVal("i"), "name": name}, "id=i"},
		{map[string]cty.Value{"name": name}, "name=n"},
		{map[string]cty.Value{"id": cty.NullVal(cty.String), "name": name}, "="},
		{map[string]cty.Value{"id": cty.UnknownVal(cty.String), "name": name}, "="},
		{map[string]cty.Value{"id": cty.NumberIntVal(1), "name": name}, "="},
		{map[string]cty.Value{"name": name.Mark(marks.Sensitive)}, "="},
		{map[string]cty.Value{"title": name}, "="},
	} {
		if key, value := identify(cty.ObjectVal(c.attrs)); key+"="+value != c.want {
			t.Errorf("%#v: %s=%s instead of %s", c.attrs, key, value, c.want)
		}
	}
}
