package marks

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

var nested = cty.ObjectVal(map[string]cty.Value{
	"a": cty.StringVal("x").Mark(Sensitive),
	"b": cty.ListVal([]cty.Value{cty.True.Mark(Ephemeral), cty.False.Mark(Ephemeral).Mark(Sensitive)}),
	"c": cty.UnknownVal(cty.String),
})

func TestHasAndContains(t *testing.T) {
	tests := []struct {
		name          string
		v             cty.Value
		mark          any
		has, contains bool
	}{
		{"plain", cty.StringVal("x"), Sensitive, false, false},
		{"own", cty.StringVal("x").Mark(Sensitive), Sensitive, true, true},
		{"another", cty.StringVal("x").Mark(Sensitive), Ephemeral, false, false},
		{"inside", nested, Sensitive, false, true},
		{"deep inside", nested, Ephemeral, false, true},
		{"set", cty.SetVal([]cty.Value{cty.StringVal("x").Mark(Sensitive)}), Sensitive, true, true},
		{"null", cty.NullVal(cty.String).Mark(Ephemeral), Ephemeral, true, true},
		{"deprecated", cty.True.Mark(Deprecation{By: "a"}), Deprecation{By: "a"}, true, true},
		{"deprecated otherwise", cty.True.Mark(Deprecation{By: "a"}), Deprecation{By: "b"}, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Has(test.v, test.mark); got != test.has {
				t.Errorf("Has = %v", got)
			}
			if got := Contains(test.v, test.mark); got != test.contains {
				t.Errorf("Contains = %v", got)
			}
			if got, want := Any(test.v), test.v.ContainsMarked(); got != want {
				t.Errorf("Any = %v", got)
			}
		})
	}
}

func TestWithout(t *testing.T) {
	want := cty.ObjectVal(map[string]cty.Value{
		"a": cty.StringVal("x"),
		"b": cty.ListVal([]cty.Value{cty.True.Mark(Ephemeral), cty.False.Mark(Ephemeral)}),
		"c": cty.UnknownVal(cty.String),
	})
	if got := Without(nested, Sensitive); !got.RawEquals(want) {
		t.Errorf("got %#v", got)
	}
	if got := Without(want, Sensitive); !got.RawEquals(want) {
		t.Errorf("changed a value without the mark: %#v", got)
	}
}

func TestAdvice(t *testing.T) {
	for message, want := range map[string]string{"": ".", "Use v2.": " with the following message:\nUse v2."} {
		if got := (Deprecation{Message: message}).Advice(); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}

func TestAsUnknown(t *testing.T) {
	v := cty.ObjectVal(map[string]cty.Value{
		"a": cty.StringVal("x").Mark(Ephemeral), "b": cty.StringVal("y").Mark(Sensitive), "c": cty.True,
		"d": cty.ListVal([]cty.Value{cty.True, cty.False.Mark(Ephemeral).Mark(Sensitive)}),
	})
	want := cty.ObjectVal(map[string]cty.Value{
		"a": cty.UnknownVal(cty.String), "b": cty.StringVal("y").Mark(Sensitive), "c": cty.True,
		"d": cty.ListVal([]cty.Value{cty.True, cty.UnknownVal(cty.Bool)}),
	})
	if got := AsUnknown(v, Ephemeral); !got.RawEquals(want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
	if got := AsUnknown(cty.True, Ephemeral); !got.RawEquals(cty.True) {
		t.Errorf("got %#v", got)
	}
}
