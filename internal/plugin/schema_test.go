package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"tofu/internal/configschema"
	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
)

var types = []cty.Type{
	cty.String, cty.Number, cty.Bool, cty.DynamicPseudoType, cty.List(cty.String), cty.Map(cty.Number),
	cty.Set(cty.Object(map[string]cty.Type{"a": cty.String})), cty.Tuple([]cty.Type{cty.Bool}),
}

// genAttribute draws an attribute. Nested types exist only in version 6.
func genAttribute(t *rapid.T, depth int, nested bool) *tfplugin.Schema_Attribute {
	a := &tfplugin.Schema_Attribute{
		Name:        rapid.StringMatching(`[a-z][a-z0-9_]{0,8}`).Draw(t, "name"),
		Description: rapid.String().Draw(t, "description"),
		Required:    rapid.Bool().Draw(t, "required"), Optional: rapid.Bool().Draw(t, "optional"),
		Computed: rapid.Bool().Draw(t, "computed"), Sensitive: rapid.Bool().Draw(t, "sensitive"),
		Deprecated: rapid.Bool().Draw(t, "deprecated"), WriteOnly: rapid.Bool().Draw(t, "write-only"),
		DescriptionKind:    tfplugin.StringKind(rapid.IntRange(0, 1).Draw(t, "kind")),
		DeprecationMessage: rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "deprecation"),
	}
	if nested && depth > 0 && rapid.Bool().Draw(t, "nested") {
		a.NestedType = &tfplugin.Schema_Object{Nesting: tfplugin.Schema_NestingMode(rapid.IntRange(1, 4).Draw(t,
			"nesting"))}
		for range rapid.IntRange(0, 3).Draw(t, "nested attributes") {
			a.NestedType.Attributes = append(a.NestedType.Attributes, genAttribute(t, depth-1, nested))
		}
		return a
	}
	raw, err := json.Marshal(rapid.SampledFrom(types).Draw(t, "type"))
	if err != nil {
		t.Fatal(err)
	}
	a.Type = raw
	return a
}

func genBlock(t *rapid.T, depth int, nested bool) *tfplugin.Schema_Block {
	b := &tfplugin.Schema_Block{Description: rapid.String().Draw(t, "description"),
		Deprecated: rapid.Bool().Draw(t, "deprecated")}
	for range rapid.IntRange(0, 4).Draw(t, "attributes") {
		b.Attributes = append(b.Attributes, genAttribute(t, depth, nested))
	}
	for range rapid.IntRange(0, depth).Draw(t, "blocks") {
		b.BlockTypes = append(b.BlockTypes, &tfplugin.Schema_NestedBlock{
			TypeName: rapid.StringMatching(`b_[a-z]{1,5}`).Draw(t, "type name"), Block: genBlock(t, depth-1, nested),
			Nesting:  tfplugin.Schema_NestingMode(rapid.IntRange(1, 5).Draw(t, "nesting")),
			MinItems: int64(rapid.IntRange(0, 2).Draw(t, "min")), MaxItems: int64(rapid.IntRange(0, 9).Draw(t, "max")),
		})
	}
	return b
}

// asVersion5 changes the numbers of fields to those of protocol version 5 if they differ, so that
// the message is what a provider with this version sends.
func asVersion5(b *tfplugin.Schema_Block) {
	for _, a := range b.Attributes {
		var extra []byte
		if a.WriteOnly {
			extra = protowire.AppendVarint(protowire.AppendTag(extra, v5WriteOnly, protowire.VarintType), 1)
		}
		if a.DeprecationMessage != "" {
			extra = protowire.AppendString(protowire.AppendTag(extra, v5DeprecationMessage,
				protowire.BytesType), a.DeprecationMessage)
		}
		a.WriteOnly, a.DeprecationMessage = false, ""
		a.ProtoReflect().SetUnknown(extra)
	}
	for _, n := range b.BlockTypes {
		asVersion5(n.Block)
	}
}

var compareSchemas = cmp.Options{
	cmpopts.IgnoreUnexported(configschema.Block{}), cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b cty.Type) bool {
		return a == cty.NilType && b == cty.NilType || a != cty.NilType && b != cty.NilType && a.Equals(b)
	}),
}

// TestVersionsDecodeAlike checks that the messages of both protocol versions for a schema are
// decoded to the same value.
func TestVersionsDecodeAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msg := &tfplugin.Schema{Version: int64(rapid.IntRange(0, 9).Draw(t, "version")), Block: genBlock(t, 3, false)}
		six, err := proto.Marshal(msg)
		if err != nil {
			t.Fatal(err)
		}
		asVersion5(msg.Block)
		five, err := proto.Marshal(msg)
		if err != nil {
			t.Fatal(err)
		}
		a, versionA, errA := decodeSchema(six, 6)
		b, versionB, errB := decodeSchema(five, 5)
		if errA != nil || errB != nil || versionA != versionB {
			t.Fatalf("versions %d and %d, errors %v and %v", versionA, versionB, errA, errB)
		}
		if diff := cmp.Diff(a, b, compareSchemas); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestSchemaKeepsEverything checks that a decoded schema contains everything in the message.
func TestSchemaKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msg := genBlock(t, 3, true)
		raw, err := proto.Marshal(&tfplugin.Schema{Block: msg})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := decodeSchema(raw, 6)
		if err != nil {
			t.Fatal(err)
		}
		if text := compareBlock(msg, got); text != "" {
			t.Fatal(text)
		}
	})
}

func compareBlock(want *tfplugin.Schema_Block, got *configschema.Block) string {
	if want.Description != got.Description || want.Deprecated != got.Deprecated {
		return "the block's description"
	}
	if text := compareAttributes(want.Attributes, got.Attributes); text != "" {
		return text
	}
	last := map[string]*tfplugin.Schema_NestedBlock{} // if a name is repeated, the last block is used
	for _, n := range want.BlockTypes {
		last[n.TypeName] = n
	}
	for name, n := range last {
		g := got.BlockTypes[name]
		if g == nil || g.MinItems != int(n.MinItems) || g.MaxItems != int(n.MaxItems) ||
			nestingModes[n.Nesting] != g.Nesting {
			return fmt.Sprintf("block type %s: %+v, %+v", name, n, g)
		}
		if text := compareBlock(n.Block, &g.Block); text != "" {
			return text
		}
	}
	return ""
}

func compareAttributes(want []*tfplugin.Schema_Attribute, got map[string]*configschema.Attribute) string {
	last := map[string]*tfplugin.Schema_Attribute{}
	for _, a := range want {
		last[a.Name] = a
	}
	if len(last) != len(got) {
		return "the number of attributes"
	}
	for name, w := range last {
		g := got[name]
		if g == nil || w.Required != g.Required || w.Optional != g.Optional || w.Computed != g.Computed ||
			w.Sensitive != g.Sensitive ||
			w.WriteOnly != g.WriteOnly || w.Deprecated != g.Deprecated ||
			w.DeprecationMessage != g.DeprecationMessage ||
			w.Description != g.Description ||
			(w.DescriptionKind == tfplugin.StringKind_MARKDOWN) != (g.DescriptionKind == configschema.StringMarkdown) {
			return fmt.Sprintf("attribute %s: %+v, %+v", name, w, g)
		}
		if w.NestedType != nil {
			if g.NestedType == nil || nestingModes[w.NestedType.Nesting] != g.NestedType.Nesting {
				return "the nested type of " + name
			}
			if text := compareAttributes(w.NestedType.Attributes, g.NestedType.Attributes); text != "" {
				return text
			}
			continue
		}
		if raw, err := json.Marshal(g.Type); err != nil || string(raw) != string(w.Type) {
			return fmt.Sprintf("the type of %s: %s, %s", name, raw, w.Type)
		}
	}
	return ""
}

func TestInvalidSchemasAreRefused(t *testing.T) {
	attr := func(a *tfplugin.Schema_Attribute) *tfplugin.Schema {
		a.Name = "bad"
		return &tfplugin.Schema{Block: &tfplugin.Schema_Block{Attributes: []*tfplugin.Schema_Attribute{a}}}
	}
	for _, msg := range []*tfplugin.Schema{
		attr(&tfplugin.Schema_Attribute{Type: []byte(`"strin"`)}),
		attr(&tfplugin.Schema_Attribute{}),
		attr(&tfplugin.Schema_Attribute{NestedType: &tfplugin.Schema_Object{}}),
		{Block: &tfplugin.Schema_Block{BlockTypes: []*tfplugin.Schema_NestedBlock{{TypeName: "bad"}}}},
	} {
		raw, err := proto.Marshal(msg)
		if err != nil {
			t.Fatal(err)
		}
		table := newSchemaTable(6, map[string][]byte{"x": raw, "good": nil}, nil, nil)
		wantError(t, table.Type("x").Invalid, `"bad"`)
		if table.Type("good").Invalid != nil || table.Type("other") != nil {
			t.Error("other types suffer")
		}
	}
}

// FuzzCachedSchema checks that cache files with arbitrary content and a valid checksum are either
// rejected or have readable types.
func FuzzCachedSchema(f *testing.F) {
	raw, err := proto.Marshal(&tfplugin.Schema{Version: 7})
	if err != nil {
		f.Fatal(err)
	}
	file, err := encodeCache(6, &tfplugin.GetProviderSchemaResponse{
		ResourceSchemas: map[string][]byte{"a": raw, "b": raw}, DataSourceSchemas: map[string][]byte{"c": raw},
	}, &tfplugin.GetResourceIdentitySchemasResponse{IdentitySchemas: map[string][]byte{"b": nil}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file[cacheSummed:])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		file := slices.Concat(file[:cacheLine], sum[:], body)
		schema, err := decodeCache(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		for _, table := range []providers.TypeTable{schema.Resources, schema.DataSources, schema.Ephemerals} {
			for _, name := range table.Names() {
				if s := table.Type(name); s.Block == nil {
					t.Errorf("%s has no block: %v", name, s.Invalid)
				}
			}
		}
	})
}

// FuzzSchema checks that arbitrary messages from a provider are either rejected or decoded to a
// usable schema.
func FuzzSchema(f *testing.F) {
	raw, err := proto.Marshal(&tfplugin.Schema{Version: 1, Block: &tfplugin.Schema_Block{
		Attributes: []*tfplugin.Schema_Attribute{{Name: "a", Type: []byte(`"string"`), Optional: true},
			{Name: "n", NestedType: &tfplugin.Schema_Object{Nesting: tfplugin.Schema_LIST}}},
		BlockTypes: []*tfplugin.Schema_NestedBlock{{TypeName: "b", Nesting: tfplugin.Schema_SET,
			Block: &tfplugin.Schema_Block{}}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, false)
	f.Add(raw, true)
	f.Fuzz(func(t *testing.T, raw []byte, five bool) {
		version := 6
		if five {
			version = 5
		}
		block, _, err := decodeSchema(raw, version)
		if err != nil {
			return
		}
		block.DecoderSpec()
		if errs := block.EmptyValue().Type().TestConformance(block.ImpliedType()); len(errs) > 0 {
			t.Errorf("the empty value doesn't conform: %v", errs)
		}
	})
}
