package addrs

import (
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestKeyFromValue(t *testing.T) {
	for _, test := range []struct {
		value cty.Value
		want  string // index as written in an address; "" if an error is expected
	}{
		{cty.StringVal("a"), `["a"]`},
		{cty.StringVal(""), `[""]`},
		{cty.NumberIntVal(0), "[0]"},
		{cty.MustParseNumberVal("2.0"), "[2]"},
		{cty.NumberIntVal(-1), ""},
		{cty.NumberFloatVal(1.5), ""},
		{cty.MustParseNumberVal("1e30"), ""},
		{cty.PositiveInfinity, ""},
		{cty.True, ""},
		{cty.EmptyObjectVal, ""},
		{cty.NullVal(cty.String), ""},
		{cty.UnknownVal(cty.Number), ""},
		{cty.DynamicVal, ""},
	} {
		key, err := KeyFromValue(test.value)
		if key.String() != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%#v: got %q, %v; want %q", test.value, key, err, test.want)
		}
		if err == nil && !key.Value().RawEquals(test.value) {
			t.Errorf("%#v: the key %s has the value %#v", test.value, key, key.Value())
		}
	}
}

// TestKeyKinds checks that each key has exactly one kind.
func TestKeyKinds(t *testing.T) {
	for _, test := range []struct {
		key           InstanceKey
		isInt, isText bool
		value         cty.Value
		text          string
	}{
		{NoKey, false, false, cty.NullVal(cty.DynamicPseudoType), ""},
		{UnknownKey, false, false, cty.DynamicVal, "[*]"},
		{IntKey(0), true, false, cty.NumberIntVal(0), "[0]"},
		{StringKey("0"), false, true, cty.StringVal("0"), `["0"]`},
	} {
		_, isInt := test.key.IsInt()
		_, isText := test.key.IsString()
		if isInt != test.isInt || isText != test.isText {
			t.Errorf("%#v: integer %v, string %v", test.key, isInt, isText)
		}
		if !test.key.Value().RawEquals(test.value) || test.key.String() != test.text {
			t.Errorf("%#v: the value is %#v, the text %q", test.key, test.key.Value(), test.key)
		}
	}
}

// TestCompareKeys checks that integers are ordered as numbers, and strings by their bytes.
func TestCompareKeys(t *testing.T) {
	ordered := []InstanceKey{NoKey, IntKey(0), IntKey(2), IntKey(10), StringKey(""), StringKey("10"),
		StringKey("2"), StringKey("B"), StringKey("a"), StringKey("ä"), UnknownKey}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := a.Compare(b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%v compared with %v: %d", a, b, got)
			}
		}
	}
}

// TestCompareAddresses checks the order of addresses: by the module's text, then by mode, type,
// name and key.
func TestCompareAddresses(t *testing.T) {
	texts := []string{
		"lab_a.x", "lab_a.x[0]", "lab_a.x[9]", "lab_a.x[10]", `lab_a.x["a"]`, "lab_a.y", "lab_b.a",
		"data.lab_a.a", "ephemeral.lab_a.a", "module.m.lab_a.x", "module.m[0].lab_a.x", "module.n.lab_a.a",
	}
	ordered := make([]AbsInstance, len(texts))
	for i, text := range texts {
		var err error
		ordered[i], err = ParseInstanceText(text)
		if err != nil {
			t.Fatal(err)
		}
	}
	sorted := slices.Clone(ordered)
	slices.Reverse(sorted)
	slices.SortFunc(sorted, AbsInstance.Compare)
	if !slices.Equal(sorted, ordered) {
		t.Errorf("sorted: %v\nwant: %v", sorted, ordered)
	}
	for i := range ordered[1:] {
		a, b := ordered[i], ordered[i+1]
		if a.Config().Compare(b.Config()) > 0 {
			t.Errorf("the block of %s sorts after that of %s", a, b)
		}
	}
}
