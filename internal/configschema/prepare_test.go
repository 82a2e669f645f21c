package configschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// TestPrepare checks that preparing a body leaves its value, its diagnostics and its references
// unchanged.
func TestPrepare(t *testing.T) {
	ctx := evalCtx.NewChild()
	ctx.Variables = map[string]cty.Value{
		"secret":  cty.StringVal("s").Mark("sensitive"),
		"secrets": cty.ListVal([]cty.Value{cty.StringVal("s").Mark("sensitive")}),
		"later":   cty.UnknownVal(cty.String).RefineNotNull(),
		"object":  cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("x"), "b": cty.DynamicVal}),
	}
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		b := genBlock(t, 2)
		src := genBody(t, b, rapid.Bool().Draw(t, "JSON"))
		body, err := parseBody(src)
		if err != nil {
			t.Fatalf("%s\n%v", src, err)
		}
		prepared := b.Prepare(body)
		want, wantDiags := b.Decode(body, ctx)
		got, diags := b.Decode(prepared, ctx)
		if !got.RawEquals(want) {
			t.Errorf("%s\nwant %#v\n got %#v", src, want, got)
		}
		if w, g := problems(wantDiags), problems(diags); !slices.Equal(g, w) {
			t.Errorf("%s\nwant diagnostics %v\n got %v", src, w, g)
		}
		exprs, ok := Expressions(prepared)
		if !ok {
			return
		}
		taken++
		var all []hcl.Traversal
		for expr := range exprs {
			all = append(all, expr.Variables()...)
		}
		if w, g := names(b.Variables(body)), names(all); !slices.Equal(g, w) {
			t.Errorf("%s\nwant references %v\n got %v", src, w, g)
		}
	})
	if taken == 0 {
		t.Error("no body was prepared")
	}
}

// problems returns the diagnostics as sorted strings without their details. HCL's decoder iterates
// over a map, so the detail may describe any of several wrong attributes.
func problems(diags hcl.Diagnostics) []string {
	out := []string{}
	for _, d := range diags {
		out = append(out, fmt.Sprint(d.Subject, " ", d.Summary))
	}
	slices.Sort(out)
	return out
}

func names(traversals []hcl.Traversal) []string {
	out := []string{}
	for _, tr := range traversals {
		out = append(out, fmt.Sprint(tr.RootName(), " at ", tr.SourceRange()))
	}
	slices.Sort(out)
	return out
}

// genBlock draws a schema with nested blocks up to the given depth.
func genBlock(t *rapid.T, depth int) *Block {
	b := &Block{Attributes: map[string]*Attribute{}, BlockTypes: map[string]*NestedBlock{}}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID).Draw(t,
		"attributes") {
		b.Attributes[name] = genSchemaAttribute(t, 2)
	}
	if depth == 0 {
		return b
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y"}), 0, 2, rapid.ID).Draw(t,
		"blocks") {
		n := &NestedBlock{Nesting: genNesting(t)}
		inner := genBlock(t, depth-1)
		n.Attributes, n.BlockTypes = inner.Attributes, inner.BlockTypes
		n.MinItems = rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "least")
		b.BlockTypes[name] = n
	}
	return b
}

func genNesting(t *rapid.T) NestingMode {
	return rapid.SampledFrom([]NestingMode{NestingSingle, NestingGroup, NestingList, NestingSet, NestingMap}).Draw(t,
		"nesting")
}

func genSchemaAttribute(t *rapid.T, depth int) *Attribute {
	a := &Attribute{Required: rapid.IntRange(0, 3).Draw(t, "required") == 0}
	a.Optional = !a.Required
	if depth == 0 || rapid.Bool().Draw(t, "plain") {
		object := cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.Number})
		a.Type = rapid.SampledFrom([]cty.Type{cty.String, cty.Number, cty.Bool, cty.List(cty.String),
			cty.Map(cty.String), cty.Set(cty.String),
			cty.DynamicPseudoType, object, cty.List(object), cty.Set(object),
			cty.List(cty.DynamicPseudoType)}).Draw(t, "type")
		return a
	}
	nesting := genNesting(t)
	if nesting == NestingGroup { // NestingGroup is valid for blocks only
		nesting = NestingSingle
	}
	a.NestedType = &Object{Nesting: nesting, Attributes: map[string]*Attribute{"a": genSchemaAttribute(t, depth-1),
		"b": genSchemaAttribute(t, depth-1)}}
	return a
}

// genBody draws a body for the schema, sometimes with content that does not match it.
func genBody(t *rapid.T, b *Block, inJSON bool) string {
	var items []string
	write := func(native, name, value string) {
		if inJSON {
			native = fmt.Sprintf("%q: %s", name, value)
		}
		items = append(items, native)
	}
	for _, name := range append(slices.Sorted(maps.Keys(b.Attributes)), "other") {
		if chance := rapid.IntRange(0, 19).Draw(t, "written"); chance == 0 || chance < 14 && name != "other" {
			expr := rapid.SampledFrom(expressions).Draw(t, "expression")
			write(name+" = "+expr, name, asJSON(expr))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.BlockTypes)) {
		nested := b.BlockTypes[name]
		label, key := "", func(value string) string { return value }
		if nested.Nesting == NestingMap {
			label, key = ` "k"`, func(value string) string { return `{"k": ` + value + "}" }
		}
		switch rapid.IntRange(0, 9).Draw(t, "block") {
		case 0, 1:
			content := genBody(t, &nested.Block, inJSON)
			write(name+label+" {\n"+content+"\n}", name, key(content))
		case 2:
			over := rapid.SampledFrom(expressions).Draw(t, "for_each")
			content, native := genBody(t, &nested.Block, inJSON), ""
			if label != "" {
				native = "labels = [" + name + ".key]\n"
			}
			value := fmt.Sprintf(`{%q: {"for_each": %s, "content": %s}}`, name, asJSON(over), content)
			write(fmt.Sprintf("dynamic %q {\nfor_each = %s\n%scontent {\n%s\n}\n}", name, over, native, content),
				"dynamic", value)
		case 3:
			if inJSON { // both notations for zero blocks
				write("", name, rapid.SampledFrom([]string{"null", "[]"}).Draw(t, "none"))
			}
		}
	}
	if inJSON {
		return "{" + strings.Join(items, ", ") + "}"
	}
	return strings.Join(items, "\n")
}

// expressions lists expressions that are valid for some types, marked, unknown or invalid.
var expressions = []string{
	`null`, `"text"`, `12`, `"7"`, `true`, `[]`, `{}`, `v`, `two`, `unknown`, `secret`, `secrets`, `later`, `object`,
	`nothing`, `v.none`, `"${v}-${secret}"`,
	`[v, later, null]`, `["a", 1]`, `{ a = v, b = 1 }`, `{ a = secret }`, `{ b = later, c = 2 }`,
	`[{ a = "x", b = 2 }]`, `[{ a = v }, { b = 3 }]`,
	`{ k = { a = v } }`, `[for x in two : { a = x, b = null }]`, `[for x in unknown : x]`,
	`{ for x in two : x => { b = later } }`,
	`{ a = [{ a = secrets[0] }], b = {} }`, `[{ a = { k = { a = v } } }]`, `two[2]`, `object.b`, `v ? 1 : 2`,
}

func asJSON(expr string) string {
	switch expr {
	case "null", "12", "true", "[]", "{}":
		return expr
	}
	text, err := json.Marshal("${" + expr + "}")
	if err != nil {
		panic("unreachable: a string can be encoded: " + err.Error())
	}
	return string(text)
}
