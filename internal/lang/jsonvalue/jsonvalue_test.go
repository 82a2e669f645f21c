package jsonvalue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/lang/jsonvalue"
)

var documents = []string{
	`{}`, `[]`, `null`, `true`, `false`, `"x"`, `0`, `-0`, `1`, `-12`, `1.5`, `1e3`, `123456789012345678901234567890`,
	`{"a":1,"b":[true,null,{"c":"ä"}]}`, ` { "a" : [ ] } `, `[1,"x",[2]]`, `{"a":1,"a":2}`, `{"a":1,"a":"x"}`,
	`{"ä":1}`, `{"a\u0308":1}`, `"a\u0308"`, `{"\u0061":1}`, `"\ud800"`, "\"\xff\"", `{"a":{"b":{"c":[[[]]]}}}`,
	``, ` `, `{`, `[1,]`, `{"a"}`, `1 2`, `{} }`, `nul`, `"a`, `01`, `+1`, `1.`, `{"a":1}]`, "[1,\x00]", `{"":0}`,
	strings.Repeat("[", 300) + strings.Repeat("]", 300),
}

// check compares the result for a document with that of ctyjson.
func check(t *testing.T, text string) {
	t.Helper()
	got, err := jsonvalue.Decode(text)
	ty, wantErr := ctyjson.ImpliedType([]byte(text))
	var want cty.Value
	if wantErr == nil {
		want, wantErr = ctyjson.Unmarshal([]byte(text), ty)
	}
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%.80q: got error %v, want %v", text, err, wantErr)
	}
	if err == nil && !got.RawEquals(want) {
		t.Fatalf("%.80q: got %#v, want %#v", text, got, want)
	}
}

func TestDecode(t *testing.T) {
	for _, text := range documents {
		check(t, text)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range documents {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "eE") && strings.ContainsAny(text, "0123456789") {
			return // large exponents take long in ctyjson
		}
		check(t, text)
	})
}

func BenchmarkDecode(b *testing.B) {
	text := "[" + strings.Repeat(`{"name":"a name","size":12,"tags":["x","y"],"nested":{"ok":true}},`, 5000) + "0]"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := jsonvalue.Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}
