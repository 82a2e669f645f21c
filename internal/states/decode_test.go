package states

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"pgregory.net/rapid"

	"tofu/internal/lang/coerce"
)

var decodedType = cty.Object(map[string]cty.Type{
	"id": cty.String, "size": cty.Number, "on": cty.Bool,
	"tags": cty.Map(cty.String), "ports": cty.List(cty.Number), "names": cty.Set(cty.String),
	"rules": cty.List(cty.Object(map[string]cty.Type{"port": cty.Number, "to": cty.Set(cty.String)})),
	"pair":  cty.Tuple([]cty.Type{cty.String, cty.Bool}), "free": cty.DynamicPseudoType,
	"copy":  cty.DynamicPseudoType,
	"mixed": cty.Map(cty.DynamicPseudoType),
})

// agree returns an error unless Unmarshal and ctyjson return the same value for the text, or both
// return an error, or the text has a name twice.
func agree(text string, ty cty.Type) error {
	got, gotErr := Unmarshal([]byte(text), ty)
	want, wantErr := unmarshalUnusual([]byte(text), ty)
	switch {
	case gotErr != nil && strings.Contains(gotErr.Error(), "is there twice"):
	case (gotErr == nil) != (wantErr == nil):
		return fmt.Errorf("got error %v, want %v", gotErr, wantErr)
	case gotErr == nil && !got.RawEquals(want):
		return fmt.Errorf("got %#v, want %#v", got, want)
	}
	return nil
}

func TestDecodeAgreesWithCtyjson(t *testing.T) {
	texts := []string{
		`{}`, `{"id":null}`, `null`, ` {"id" : "a" , "size":1.50,"on":true} `, `{"id":"a","id":"b"}`,
		`{"what":1}`, `{"id":1,"size":"2","on":"true"}`,
		`{"size":123456789012345678901234567890.125}`, `{"size":-0}`, `{"size":1e3}`, `{"size":01}`, `{"size":-}`,
		`{"size":12345678901234567}`, `{"size":0}`,
		`{"id":"a\u0041\n\"\\"}`, `{"id":"é e\u0301 \ud83d\ude00 \ud83d"}`, "{\"id\":\"\xff\"}", "{\"id\":\"\x01\"}",
		`{"id":"a`, `{"id":"a"`, `{"id"}`,
		`{"tags":{},"ports":[],"names":[],"rules":[]}`,
		`{"tags":{"a":"b","c":null},"ports":[1, 2 ,3],"names":["b","a","b"]}`, `{"tags":{"a":"b","a":"c"}}`,
		`{"rules":[{"port":1,"to":["x"]},{"to":null},{}]}`, `{"pair":["a",true]}`, `{"pair":["a"]}`,
		`{"free":{"value":["a"],"type":["tuple",["string","bool"]]}}`, `{"pair":["a",true,1]}`, `{"ports":[1,]}`,
		`{"ports":[,]}`,
		`{"free":{"value":{"a":[1,"}]"]},"type":["object",{"a":["tuple",["number","string"]]}]}}`, `{"free":1}`,
		`{"free":null}`, `{"free":"x"}`, `{"free":[`,
		`{"free":{"type":"string","value":"x"}}`, `{"free":{"value":null,"type":"bool"}}`, `{"free":{"value":"x"}}`,
		`{"free":{"type":"string"}}`,
		`{"free":{"value":1,"type":"string"}}`, `{"free":{"value":"x","type":"string","more":1}}`,
		`{"free":{"value":"x","value":"y","type":"string"}}`,
		`{"free":{"value":{"value":1,"type":"number"},"type":"dynamic"}}`, `{"free":{"value":"x","type":"what"}}`,
		`{"free":{ "value" : 1 , "type" : "number" }}`,
		`{"copy":{"value":["a"],"type":["tuple",["string"]]},"free":{"value":["a"],"type":["tuple",["string"]]}}`,
		`{"copy":{"value":"a","type":"string"},"free": {"value":"ab","type":"string"}}`,
		`{"copy":{"value":1,"type":"number"},"free":{"value":1,"type":"number"}x}`,
		`{"mixed":{"a":{"value":1,"type":"number"}}}`, `{"mixed":{}}`,
		`{"id":"a"} x`, `{"id":"a"}{}`, ``, `[`, `{,}`, `{"id":"a",}`, `{"on":tru}`, `{"on":nul}`,
	}
	for _, text := range texts {
		if err := agree(text, decodedType); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNamesTwice(t *testing.T) {
	for _, text := range []string{`{"id":"a","id":"b"}`, `{"tags":{"a":"b","\u0061":"c"}}`,
		`{"rules":[{"port":1,"port":1}]}`, `{"free":{"value":{"a":1,"a":2},"type":["map","number"]}}`} {
		if v, err := Unmarshal([]byte(text), decodedType); err == nil || !strings.Contains(err.Error(), "is there twice") {
			t.Errorf("%s: %#v, %v", text, v, err)
		}
	}
}

func TestDecodeAgreesOnDamagedText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(`{"free":{"value":[1],"type":["tuple",["number"]]},"id":"a\"b","names":["x","y"],"on":false,` +
			`"pair":["p",true],"ports":[1,-2.5e3],"rules":[{"port":8,"to":[]}],"size":10,"tags":{"k":"v"}}`)
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[at] = rapid.SampledFrom([]byte("\"{}[],:0n\\ e-x")).Draw(t, "byte")
		}
		if err := agree(string(text), decodedType); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

func TestDecodedNumberPrecision(t *testing.T) {
	v, err := Unmarshal([]byte(`1`), cty.Number)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ctyjson.Unmarshal([]byte(`1`), cty.Number)
	if err != nil {
		t.Fatal(err)
	}
	three := cty.MustParseNumberVal("3")
	if !v.Divide(three).RawEquals(w.Divide(three)) {
		t.Error("1/3 depends on the decoder of the 1")
	}
}

func BenchmarkDecode(b *testing.B) {
	text := []byte(`{"id":"i-123","size":10,"on":true,"tags":{"a":"1","b":"2"},"ports":[80,443],"names":["x"],` +
		`"rules":[{"port":8,"to":["y"]}],"pair":["a",true],"free":null,"mixed":null}`)
	for name, decode := range map[string]func([]byte, cty.Type) (cty.Value, error){"own": Unmarshal,
		"ctyjson": ctyjson.Unmarshal} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decode(text, decodedType); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestElementsOfDifferentTypes checks that collections whose elements have different types are an
// error. Only damaged files contain such collections.
func TestElementsOfDifferentTypes(t *testing.T) {
	one, two := `{"value":1,"type":"number"}`, `{"value":"x","type":"string"}`
	for text, ty := range map[string]cty.Type{
		`{"a":` + one + `,"b":` + two + `}`:                             cty.Map(cty.DynamicPseudoType),
		`[` + one + `,` + two + `]`:                                     cty.List(cty.DynamicPseudoType),
		`[` + two + `,` + one + `]`:                                     cty.Set(cty.DynamicPseudoType),
		`{"value":[` + one + `,` + two + `],"type":["list","dynamic"]}`: cty.DynamicPseudoType,
	} {
		if v, err := Unmarshal([]byte(text), ty); err == nil {
			t.Errorf("%s as %#v: got %#v, want an error", text, ty, v)
		}
	}
}

// TestLongNumber checks that numbers with a huge exponent are refused. Such a number is short, but
// takes minutes to write out.
func TestLongNumber(t *testing.T) {
	for text, ty := range map[string]cty.Type{
		`1e100000000`:                             cty.Number,
		`{"a":[-1E-100000000]}`:                   cty.Map(cty.List(cty.Number)),
		`{"value":1e100000000,"type":"number"}`:   cty.DynamicPseudoType,
		`{"value":"1e100000000","type":"number"}`: cty.DynamicPseudoType,
	} {
		if _, err := Unmarshal([]byte(text), ty); !errors.Is(err, coerce.ErrLongNumber) {
			t.Errorf("%s: got error %v, want %v", text, err, coerce.ErrLongNumber)
		}
	}
}
