package states

import (
	"bytes"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// invalid holds data that no correct encoder writes: elements of different types, extreme nesting,
// and sizes that exceed the size of the data.
var invalid = map[string][]byte{
	"mixed list": {0x92, 0x92, 0xc4, 8, '"', 's', 't', 'r', 'i', 'n', 'g', '"', 0xa1, 'x', 0x92, 0xc4, 8, '"', 'n',
		'u', 'm', 'b', 'e', 'r', '"', 1},
	"mixed map": {0x82, 0xa1, 'a', 0x92, 0xc4, 6, '"', 'b', 'o', 'o', 'l', '"', 0xc3, 0xa1, 'b', 0x92, 0xc4, 8, '"',
		'n', 'u', 'm', 'b', 'e', 'r', '"', 1},
	"nested":        bytes.Repeat([]byte{0x92, 0xc4, 9, '"', 'd', 'y', 'n', 'a', 'm', 'i', 'c', '"'}, 200_000),
	"nested arrays": bytes.Repeat([]byte{0x91}, 2<<20),
	"truncated":     {0x93, 0x01},
	"empty":         {},
	"huge array":    {0xdd, 0xff, 0xff, 0xff, 0xff},
	"huge map":      {0xdf, 0xff, 0xff, 0xff, 0xff},
	"huge string":   {0xdb, 0xff, 0xff, 0xff, 0xff, 'x'},
	"huge bytes":    {0xc6, 0xff, 0xff, 0xff, 0xff, 'x'},
	"huge inside":   append([]byte{0x92, 0xdd, 0, 0, 0, 30}, bytes.Repeat([]byte{1}, 30)...),
}

var targets = []cty.Type{
	cty.DynamicPseudoType, cty.List(cty.DynamicPseudoType), cty.Set(cty.DynamicPseudoType),
	cty.Map(cty.DynamicPseudoType), cty.String,
	cty.Object(map[string]cty.Type{"a": cty.DynamicPseudoType, "b": cty.Number}),
	cty.Tuple([]cty.Type{cty.Bool, cty.DynamicPseudoType}),
}

func TestUnmarshalPacked(t *testing.T) {
	for name, text := range invalid {
		for _, ty := range targets {
			if v, err := UnmarshalPacked(text, ty); err == nil && name != "mixed list" && name != "mixed map" {
				t.Errorf("%s as %#v: got %#v, want an error", name, ty, v)
			}
		}
	}
	for _, ty := range []cty.Type{cty.List(cty.DynamicPseudoType), cty.Set(cty.DynamicPseudoType)} {
		if v, err := UnmarshalPacked(invalid["mixed list"], ty); err == nil {
			t.Errorf("list of different types: got %#v, want an error", v)
		}
	}
	if v, err := UnmarshalPacked(invalid["mixed map"], cty.Map(cty.DynamicPseudoType)); err == nil {
		t.Errorf("map of different types: got %#v, want an error", v)
	}
	// Large flat values are valid.
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
	for _, text := range []string{`["object",{"a":"string"},["b"]]`, `["tuple",1]`, `["list"]`, `"nonsense"`, `[`,
		`["object",{"a":"string"},["a","a"]]`} {
		if ty, err := UnmarshalType([]byte(text)); err == nil && text != `["object",{"a":"string"},["a","a"]]` {
			t.Errorf("%s is %#v", text, ty)
		}
	}
	if ty, err := UnmarshalType([]byte(`["map",["list","string"]]`)); err != nil ||
		!ty.Equals(cty.Map(cty.List(cty.String))) {
		t.Errorf("%#v, %v", ty, err)
	}
}

func FuzzUnmarshalPacked(f *testing.F) {
	for _, text := range invalid {
		f.Add(text, []byte(`["list","dynamic"]`))
	}
	f.Add([]byte{0xc7, 3, 12, 0x81, 1, 0xc2}, []byte(`"string"`)) // an unknown string that is not null
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
			t.Errorf("%#v was decoded but can't be encoded: %v", v, err)
		}
	})
}

// TestCheckPacked checks every form of a value, complete and truncated at each byte.
func TestCheckPacked(t *testing.T) {
	var values []byte
	count := 0
	add := func(code byte, more ...byte) {
		values = append(append(values, code), more...)
		count++
	}
	for _, code := range []byte{0x00, 0x7f, 0xe0, 0xff, 0x80, 0x90, 0xa0, 0xc0, 0xc2, 0xc3} {
		add(code)
	}
	for code, n := range map[byte]int{0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8, 0xd0: 1, 0xd1: 2, 0xd2: 4, 0xd3: 8,
		0xca: 4, 0xcb: 8,
		0xd4: 2, 0xd5: 3, 0xd6: 5, 0xd7: 9, 0xd8: 17} {
		add(code, make([]byte, n)...)
	}
	for _, code := range []byte{0xd9, 0xc4} {
		add(code, 2, 'a', 'b')
		add(code+1, 0, 2, 'a', 'b')
		add(code+2, 0, 0, 0, 2, 'a', 'b')
	}
	add(0xc7, 1, 12, 0xc0)
	add(0xc8, 0, 1, 12, 0xc0)
	add(0xc9, 0, 0, 0, 1, 12, 0xc0)
	add(0xdc, 0, 2, 1, 2)
	add(0xdd, 0, 0, 0, 2, 1, 2)
	add(0xde, 0, 1, 1, 2)
	add(0xdf, 0, 0, 0, 1, 1, 2)
	all := append([]byte{0xdc, 0, byte(count)}, values...)
	if err := checkPacked(all); err != nil {
		t.Errorf("all forms: %v", err)
	}
	for n := range all {
		if checkPacked(all[:n]) == nil {
			t.Errorf("the first %d of %d bytes are accepted as a value", n, len(all))
		}
	}
	if checkPacked([]byte{0xc1}) == nil {
		t.Error("an unused code is accepted")
	}
}

func BenchmarkUnmarshalPacked(b *testing.B) {
	attrs := make(map[string]cty.Value)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		attrs[name] = cty.StringVal("some text of ordinary length")
	}
	v := cty.ObjectVal(attrs)
	data, err := ctymsgpack.Marshal(v, v.Type())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			_ = checkPacked(data)
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			_, _ = UnmarshalPacked(data, v.Type())
		}
	})
}
