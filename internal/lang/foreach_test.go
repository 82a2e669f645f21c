package lang

import (
	"errors"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
)

func TestForEach(t *testing.T) {
	secret := cty.StringVal("s").Mark(marks.Sensitive)
	unknown := cty.UnknownVal(cty.String)
	list := cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")})
	for _, tt := range []struct {
		name   string
		v      cty.Value
		keys   string // keys that ForEach returns
		err    string // part of the error that ForEach returns
		orList string // keys that ForEachOrList returns, if different
	}{
		{name: "map", v: cty.MapVal(map[string]cty.Value{"b": unknown, "a": cty.StringVal("x")}), keys: "a b"},
		{name: "object", v: cty.ObjectVal(map[string]cty.Value{"k": cty.True}), keys: "k"},
		{name: "sensitive value", v: cty.MapVal(map[string]cty.Value{"a": secret}), keys: "a"},
		{name: "set", v: cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a")}), keys: "a b"},
		{name: "empty set", v: cty.SetValEmpty(cty.Number)},
		{name: "list", v: list, err: "toset(…)", orList: "0 1"},
		{name: "tuple", v: cty.EmptyTupleVal, err: "is a tuple"},
		{name: "set of numbers", v: cty.SetVal([]cty.Value{cty.Zero}), err: "set of number"},
		{name: "set with null", v: cty.SetVal([]cty.Value{cty.NullVal(cty.String)}), err: "contains null"},
		{name: "set with sensitive", v: cty.SetVal([]cty.Value{secret}), err: "is sensitive"},
		{name: "ephemeral", v: cty.EmptyObjectVal.Mark(marks.Ephemeral), err: "is ephemeral"},
		{name: "null", v: cty.NullVal(cty.Map(cty.String)), err: "is null"},
		{name: "string", v: cty.StringVal("a"), err: "is a string"},
		{name: "unknown", v: cty.DynamicVal, err: ErrUnknownKeys.Error()},
		{name: "unknown map", v: cty.UnknownVal(cty.Map(cty.String)), err: ErrUnknownKeys.Error()},
		{name: "unknown list", v: cty.UnknownVal(cty.List(cty.String)), err: "is a list"},
		{name: "set with unknown", v: cty.SetVal([]cty.Value{unknown}), err: ErrUnknownKeys.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ForEach(tt.v)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error: %v, want %q", err, tt.err)
			}
			if keys := keysOf(got); keys != tt.keys {
				t.Errorf("keys: %q, want %q", keys, tt.keys)
			}
			got, listErr := ForEachOrList(tt.v)
			if tt.orList != "" && (listErr != nil || keysOf(got) != tt.orList) {
				t.Errorf("list: %v, %v", got, listErr)
			}
			if errors.Is(err, ErrUnknownKeys) && !errors.Is(listErr, ErrUnknownKeys) {
				t.Errorf("list: error %v", listErr)
			}
		})
	}
}

func keysOf(elements []Element) string {
	var keys []string
	for _, elem := range elements {
		if elem.Key.Type() == cty.Number {
			keys = append(keys, elem.Key.AsBigFloat().String())
		} else {
			keys = append(keys, elem.Key.AsString())
		}
	}
	return strings.Join(keys, " ")
}
