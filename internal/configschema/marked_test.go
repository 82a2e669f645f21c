package configschema

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
)

// TestDynamicMarks checks which parts of blocks are sensitive that a dynamic block generates from a
// sensitive value. Elements of sets can't be marked, so the whole set is. An unknown number of blocks
// is not.
func TestDynamicMarks(t *testing.T) {
	ctx := evalCtx.NewChild()
	ctx.Variables = map[string]cty.Value{
		"secret": evalCtx.Variables["two"].Mark(marks.Sensitive),
		"later":  evalCtx.Variables["unknown"].Mark(marks.Sensitive),
	}
	at := func(name string) cty.Path { return cty.GetAttrPath(name) }
	first := at("list").IndexInt(0)
	for _, test := range []struct {
		schema *Block
		src    string
		want   []cty.Path
	}{
		{sample(), "name = v\ndynamic \"list\" {\n for_each = secret\n content {\n  port = 1\n }\n}",
			[]cty.Path{first.GetAttr("port"), at("list").IndexInt(1).GetAttr("port")}},
		{sample(), "name = v\ndynamic \"set\" {\n for_each = secret\n content {\n  port = set.key\n }\n}",
			[]cty.Path{at("set")}},
		{sample(), "name = v\ndynamic \"list\" {\n for_each = later\n content {\n  port = 1\n }\n}",
			nil},
		{legacySample(), "dynamic \"example\" {\n for_each = secret\n content {\n  foo = \"x\"\n }\n}",
			[]cty.Path{at("example").IndexInt(0).GetAttr("foo"), at("example").IndexInt(1).GetAttr("foo")}},
	} {
		v, diags := test.schema.Decode(parse(t, test.src), ctx)
		if diags.HasErrors() {
			t.Fatal(diags.Error())
		}
		_, pvms := v.UnmarkDeepWithPaths()
		var got []cty.Path
		for _, pvm := range pvms {
			got = append(got, pvm.Path)
		}
		if !cty.NewPathSet(got...).Equal(cty.NewPathSet(test.want...)) {
			t.Errorf("%s\nmarked: %v", test.src, got)
		}
	}
}
