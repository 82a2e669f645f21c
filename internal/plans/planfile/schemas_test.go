package planfile_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/plans"
	"tofu/internal/plans/planfile"
	"tofu/internal/providers"
)

// schemas draws schemas without descriptions.
func (g generator) schemas() map[addrs.Provider]*providers.Schema {
	out := make(map[addrs.Provider]*providers.Schema)
	for range g.n("providers", 2) {
		out[addrs.DefaultProvider(g.word())] = &providers.Schema{Provider: g.block(1), Resources: g.types(),
			DataSources: g.types(), Ephemerals: g.types(), Actions: g.types()}
	}
	return out
}

func (g generator) types() providers.Types {
	out := make(providers.Types)
	for range g.n("types", 2) {
		t := &providers.ResourceSchema{Version: int64(g.n("version", 300)), Block: g.block(2)}
		if g.yes() {
			t.Identity = &configschema.Object{Nesting: configschema.NestingSingle, Attributes: g.attributes(0)}
			t.IdentityVersion = int64(g.n("version", 3))
		}
		out[g.word()] = t
	}
	return out
}

func (g generator) block(depth int) *configschema.Block {
	out := &configschema.Block{Ephemeral: g.yes(), Attributes: g.attributes(depth),
		BlockTypes: map[string]*configschema.NestedBlock{}}
	for range g.n("blocks", depth) {
		out.BlockTypes[g.word()] = &configschema.NestedBlock{Nesting: g.nesting(), MinItems: g.n("min", 3),
			MaxItems: g.n("max", 3)}
	}
	for _, nested := range out.BlockTypes {
		b := g.block(depth - 1)
		nested.Attributes, nested.BlockTypes, nested.Ephemeral = b.Attributes, b.BlockTypes, b.Ephemeral
	}
	return out
}

func (g generator) nesting() configschema.NestingMode {
	return configschema.NestingMode(1 + g.n("nesting", int(configschema.NestingMap)-1))
}

func (g generator) attributes(depth int) map[string]*configschema.Attribute {
	out := make(map[string]*configschema.Attribute)
	for range g.n("attributes", 3) {
		a := &configschema.Attribute{Required: g.yes(), Optional: g.yes(), Computed: g.yes(),
			Sensitive: g.yes(), WriteOnly: g.yes()}
		if depth > 0 && g.yes() {
			a.NestedType = &configschema.Object{Nesting: g.nesting(), Attributes: g.attributes(depth - 1)}
		} else {
			a.Type = g.typ(1)
		}
		out[g.word()] = a
	}
	return out
}

// TestSchemasAreCompact checks that schemas are stored once and without descriptions.
func TestSchemasAreCompact(t *testing.T) {
	block := &configschema.Block{Description: strings.Repeat("about the block ", 100),
		Attributes: map[string]*configschema.Attribute{}}
	for i := range 50 {
		block.Attributes[fmt.Sprint("attribute_", i)] = &configschema.Attribute{Type: cty.String,
			Optional: true, Description: strings.Repeat("about it ", 100)}
	}
	bytesFor := func(n int, with bool) int {
		f := wide(t, n, plans.Update)
		if with {
			f.Schemas = map[addrs.Provider]*providers.Schema{addrs.DefaultProvider("lab"): {Provider: block,
				Resources: providers.Types{"lab_object": {Block: block}}, DataSources: providers.Types{},
				Ephemerals: providers.Types{}, Actions: providers.Types{}}}
		}
		return len(encode(t, f))
	}
	if few, many := bytesFor(1, true)-bytesFor(1, false),
		bytesFor(1000, true)-bytesFor(1000, false); few > 3000 || many != few {
		t.Errorf("the schema takes %d bytes in a plan for one object and %d in one for a thousand", few, many)
	}
}

// TestSchemaErrors checks that invalid schemas are refused, and that schemas in the format of
// another version are ignored.
func TestSchemaErrors(t *testing.T) {
	deep := []any{1, 1, []any{"registry.opentofu.org/a/b", 0}}
	for range 1_000_000 {
		deep = append(deep, []any{false, 0, 1}, []any{"b", 1, 0, 0})
	}
	for _, test := range []struct {
		name      string
		documents []any
		want      string
	}{
		{"deep", deep, "more than 100 levels deep"},
		{"provider", []any{1, 1, []any{"a/b/c/d", 0}}, "schemas: "},
		{"mode", []any{1, 1, []any{"registry.opentofu.org/a/b", 1}, []any{false, 0, 0},
			[]any{9, "t", 0, false, 0, 0}}, "unknown resource mode 9"},
		{"nesting", []any{1, 1, []any{"registry.opentofu.org/a/b", 0}, []any{false, 0, 1}, []any{"b", 9, 0, 0}},
			"unknown nesting mode 9"},
		{"type", []any{1, 1, []any{"registry.opentofu.org/a/b", 0}, []any{false, 1, 0},
			[]any{"a", []byte("x"), false, false, false, false, false, 0, 0}}, "invalid"},
		{"end", []any{1, 1 << 60}, "EOF"},
		{"format", []any{2, "of a later version"}, ""},
	} {
		var out bytes.Buffer
		enc := msgpack.NewEncoder(&out)
		enc.UseCompactInts(true)
		if err := enc.EncodeMulti(test.documents...); err != nil {
			t.Fatal(err)
		}
		f, err := planfile.Parse(withSchemas(t, out.String()))
		switch {
		case err == nil && test.want == "" && f.Schemas == nil:
		case err == nil || test.want == "" || !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

// withSchemas returns a small plan file in which the file "schemas" has the given content.
func withSchemas(t *testing.T, schemas string) []byte {
	data := encode(t, wide(t, 1, plans.Update))
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	entries := []string{"schemas", schemas}
	for _, e := range z.File {
		in, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e.Name, string(text))
	}
	return archive(t, entries...)
}

// FuzzSchemas checks that Parse does not panic if the schemas in a plan file are changed.
func FuzzSchemas(f *testing.F) {
	for i := range 20 {
		file := rapid.Custom(func(t *rapid.T) *planfile.File { return generator{t}.file() }).Example(i)
		data := encode(f, file)
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			f.Fatal(err)
		}
		if in, err := z.Open("schemas"); err == nil {
			text, err := io.ReadAll(in)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, schemas string) {
		file, err := planfile.Parse(withSchemas(t, schemas))
		if err != nil {
			return
		}
		again, err := planfile.Parse(encode(t, file))
		if err != nil {
			t.Fatalf("schemas that were written can't be read: %v", err)
		}
		if diff := compare(file, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
