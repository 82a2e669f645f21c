package genconfig

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

func TestGeneratedAttributes(t *testing.T) {
	text := func(a configschema.Attribute) *configschema.Attribute {
		a.Type = cty.String
		return &a
	}
	schema := &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"id":       text(configschema.Attribute{Optional: true, Computed: true}),
		"computed": text(configschema.Attribute{Computed: true}),
		"set":      text(configschema.Attribute{Optional: true}),
		// The provider returns old_computed even if it is not configured. Without old_set in the
		// configuration, the provider would reset it.
		"old_computed": text(configschema.Attribute{Optional: true, Computed: true, Deprecated: true}),
		"old_set":      text(configschema.Attribute{Optional: true, Deprecated: true}),
		"old_unset":    text(configschema.Attribute{Optional: true, Deprecated: true}),
		"secret":       text(configschema.Attribute{Optional: true, Sensitive: true}),
		"write":        text(configschema.Attribute{Optional: true, WriteOnly: true}),
	}}
	attrs := make(map[string]cty.Value)
	for name := range schema.Attributes {
		attrs[name] = cty.StringVal("x")
	}
	attrs["old_unset"], attrs["write"] = cty.NullVal(cty.String), cty.NullVal(cty.String)
	w := &writer{b: &strings.Builder{}, listed: map[string]bool{}}
	w.body(schema, []part{{&Block{}, cty.ObjectVal(attrs)}}, "")
	const want = "old_set = \"x\"\nsecret = null # sensitive\nset = \"x\"\nwrite = null # write-only\n"
	if got := w.b.String(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}
