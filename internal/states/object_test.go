package states_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"tofu/internal/lang/marks"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

var exampleType = cty.Object(map[string]cty.Type{
	"id":    cty.String,
	"size":  cty.Number,
	"tags":  cty.Map(cty.String),
	"rules": cty.List(cty.Object(map[string]cty.Type{"port": cty.Number, "secret": cty.String})),
	"names": cty.Set(cty.String),
	"free":  cty.DynamicPseudoType,
})

func secret(v cty.Value) cty.Value { return v.Mark(marks.Sensitive) }

func TestEncodeAndDecode(t *testing.T) {
	for name, attrs := range map[string]map[string]cty.Value{
		"plain": {"id": cty.StringVal("a"), "size": cty.MustParseNumberVal("123456789012345678901234567890.25")},
		"null":  {},
		"attribute, map key, list element": {
			"id":    secret(cty.StringVal("a")),
			"tags":  cty.MapVal(map[string]cty.Value{"x": cty.StringVal("1"), "y.z": secret(cty.StringVal("2"))}),
			"rules": cty.ListVal([]cty.Value{rule(80, cty.StringVal("p")), rule(81, secret(cty.StringVal("q")))}),
		},
		"whole containers": {
			"tags":  secret(cty.MapVal(map[string]cty.Value{"x": cty.StringVal("1")})),
			"names": secret(cty.SetVal([]cty.Value{cty.StringVal("n")})),
			"free":  secret(cty.TupleVal([]cty.Value{cty.True, cty.StringVal("<&>")})),
		},
		"empty containers": {
			"tags":  secret(cty.MapValEmpty(cty.String)),
			"names": cty.SetValEmpty(cty.String),
			"rules": cty.ListValEmpty(exampleType.AttributeType("rules").ElementType()),
		},
	} {
		t.Run(name, func(t *testing.T) { roundTrip(t, example(attrs)) })
	}
}

func rule(port int64, secret cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(port), "secret": secret})
}

// example returns an object of exampleType with the given attributes. The others are null.
func example(attrs map[string]cty.Value) cty.Value {
	all := make(map[string]cty.Value)
	for name, ty := range exampleType.AttributeTypes() {
		all[name] = cty.NullVal(ty)
	}
	maps.Copy(all, attrs)
	return cty.ObjectVal(all)
}

func roundTrip(t interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}, v cty.Value) {
	t.Helper()
	attrs, sensitive, err := states.EncodeValue(v, exampleType)
	if err != nil {
		t.Fatal(err)
	}
	obj := &states.Object{Attrs: attrs, SensitivePaths: sensitive}
	got, err := obj.Decode(exampleType)
	if err != nil {
		t.Fatal(err)
	}
	if !got.RawEquals(v) {
		t.Errorf("got  %#v\nwant %#v", got, v)
	}
}

func TestRoundTripOfRandomMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maybe := func(v cty.Value) cty.Value {
			if rapid.Bool().Draw(t, "secret") {
				return secret(v)
			}
			return v
		}
		text := func() cty.Value { return maybe(cty.StringVal(rapid.StringN(0, 5, -1).Draw(t, "text"))) }
		attrs := map[string]cty.Value{"id": text(), "free": maybe(cty.TupleVal([]cty.Value{text(), text()}))}
		tags := make(map[string]cty.Value)
		for i := range rapid.IntRange(0, 3).Draw(t, "tags") {
			tags[fmt.Sprintf("%d.%s", i, text().GoString())] = text()
		}
		if len(tags) > 0 {
			attrs["tags"] = maybe(cty.MapVal(tags))
		}
		var rules []cty.Value
		for range rapid.IntRange(0, 12).Draw(t, "rules") {
			rules = append(rules, maybe(rule(int64(len(rules)), text())))
		}
		if len(rules) > 0 {
			attrs["rules"] = maybe(cty.ListVal(rules))
		}
		roundTrip(t, example(attrs))
	})
}

func TestSensitivePathsAreSorted(t *testing.T) {
	var rules []cty.Value
	for i := range 11 {
		rules = append(rules, rule(int64(i), secret(cty.StringVal("x"))))
	}
	v := example(map[string]cty.Value{"rules": cty.ListVal(rules), "id": secret(cty.StringVal("a"))})
	for range 5 {
		_, sensitive, err := states.EncodeValue(v, exampleType)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{".id"}
		for i := range 11 {
			want = append(want, fmt.Sprintf(".rules[%d].secret", i))
		}
		for i, p := range sensitive {
			if got := tfdiags.FormatPath(p); got != want[i] {
				t.Fatalf("path %d is %s, want %s", i, got, want[i])
			}
		}
	}
}

func TestEncodeOtherMarksAndUnknowns(t *testing.T) {
	old := marks.Deprecation{By: "x", Message: "y"}
	v := example(map[string]cty.Value{"id": cty.UnknownVal(cty.String), "size": cty.Zero.Mark(old)})
	attrs, sensitive, err := states.EncodeValue(v, exampleType)
	if err != nil || len(sensitive) != 0 {
		t.Fatal(err, sensitive)
	}
	got, err := (&states.Object{Attrs: attrs}).Decode(exampleType)
	if want := example(map[string]cty.Value{"size": cty.Zero}); err != nil || !got.RawEquals(want) {
		t.Errorf("got %#v, %v", got, err)
	}
	_, _, err = states.EncodeValue(example(map[string]cty.Value{"id": cty.StringVal("a").Mark(marks.Ephemeral)}),
		exampleType)
	if err == nil || err.Error() != ".id is ephemeral and can't be stored" {
		t.Errorf("storing an ephemeral value: %v", err)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, test := range []struct {
		obj  states.Object
		want string
	}{
		{states.Object{Attrs: []byte(`{"size":"many"}`)}, ".size: a number is required"},
		{states.Object{Attrs: []byte(`{"id":`)}, ".id: failed to read object value: EOF"},
	} {
		if _, err := test.obj.Decode(exampleType); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
