package states

import (
	"bytes"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// texts are bytes that no program of ours writes: elements of one list with different types, types that can't be, values without end.
var texts = map[string][]byte{
	"mixed list":    {0x92, 0x92, 0xc4, 8, '"', 's', 't', 'r', 'i', 'n', 'g', '"', 0xa1, 'x', 0x92, 0xc4, 8, '"', 'n', 'u', 'm', 'b', 'e', 'r', '"', 1},
	"mixed map":     {0x82, 0xa1, 'a', 0x92, 0xc4, 6, '"', 'b', 'o', 'o', 'l', '"', 0xc3, 0xa1, 'b', 0x92, 0xc4, 8, '"', 'n', 'u', 'm', 'b', 'e', 'r', '"', 1},
	"nested":        bytes.Repeat([]byte{0x92, 0xc4, 9, '"', 'd', 'y', 'n', 'a', 'm', 'i', 'c', '"'}, 200_000),
	"nested arrays": bytes.Repeat([]byte{0x91}, 2<<20),
	"cut off":       {0x93, 0x01},
	"nothing":       {},
}

var targets = []cty.Type{
	cty.DynamicPseudoType, cty.List(cty.DynamicPseudoType), cty.Set(cty.DynamicPseudoType), cty.Map(cty.DynamicPseudoType), cty.String,
	cty.Object(map[string]cty.Type{"a": cty.DynamicPseudoType, "b": cty.Number}), cty.Tuple([]cty.Type{cty.Bool, cty.DynamicPseudoType}),
}

func TestUnmarshalPacked(t *testing.T) {
	for name, text := range texts {
		for _, ty := range targets {
			if v, err := UnmarshalPacked(text, ty); err == nil && name != "mixed list" && name != "mixed map" {
				t.Errorf("%s as %#v is %#v", name, ty, v)
			}
		}
	}
	for _, ty := range []cty.Type{cty.List(cty.DynamicPseudoType), cty.Set(cty.DynamicPseudoType)} {
		if v, err := UnmarshalPacked(texts["mixed list"], ty); err == nil {
			t.Errorf("a list of different types is %#v", v)
		}
	}
	if v, err := UnmarshalPacked(texts["mixed map"], cty.Map(cty.DynamicPseudoType)); err == nil {
		t.Errorf("a map of different types is %#v", v)
	}
	// What is large and flat is none of that.
	long := cty.ListVal([]cty.Value{cty.StringVal(string(bytes.Repeat([]byte("x"), 2<<20))), cty.StringVal("y")})
	text, err := ctymsgpack.Marshal(long, cty.DynamicPseudoType)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := UnmarshalPacked(text, cty.DynamicPseudoType); err != nil || !v.RawEquals(long) {
		t.Errorf("%v", err)
	}
}

func TestUnmarshalType(t *testing.T) {
	for _, text := range []string{`["object",{"a":"string"},["b"]]`, `["tuple",1]`, `["list"]`, `"nonsense"`, `[`, `["object",{"a":"string"},["a","a"]]`} {
		if ty, err := UnmarshalType([]byte(text)); err == nil && text != `["object",{"a":"string"},["a","a"]]` {
			t.Errorf("%s is %#v", text, ty)
		}
	}
	if ty, err := UnmarshalType([]byte(`["map",["list","string"]]`)); err != nil || !ty.Equals(cty.Map(cty.List(cty.String))) {
		t.Errorf("%#v, %v", ty, err)
	}
}

func FuzzUnmarshalPacked(f *testing.F) {
	for _, text := range texts {
		f.Add(text, []byte(`["list","dynamic"]`))
	}
	f.Add([]byte{0xc7, 3, 12, 0x81, 1, 0xc2}, []byte(`"string"`)) // unknown and not null
	f.Fuzz(func(t *testing.T, data, typ []byte) {
		ty, err := UnmarshalType(typ)
		if err != nil {
			ty = cty.DynamicPseudoType
		}
		v, err := UnmarshalPacked(data, ty)
		if err != nil {
			return
		}
		if _, err := ctymsgpack.Marshal(v, v.Type()); err != nil && v.IsWhollyKnown() {
			t.Errorf("%#v can be read and not be written: %v", v, err)
		}
	})
}
