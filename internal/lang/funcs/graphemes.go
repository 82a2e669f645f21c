package funcs

import (
	"github.com/apparentlymart/go-textseg/v17/textseg"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"
)

// The functions in this file divide strings into grapheme clusters according to Unicode 17. The
// functions in package stdlib follow the Unicode version of the Go compiler instead.

// clusterEnd returns the length in bytes of the first n grapheme clusters of s and the number of
// clusters counted. If n is negative or s has fewer clusters, it returns the length of s.
func clusterEnd(s []byte, n int) (end, count int) {
	for end < len(s) && count != n {
		size, _, _ := textseg.ScanGraphemeClusters(s[end:], true)
		end += size
		count++
	}
	return end, count
}

// stringLength returns the number of grapheme clusters in a string. For an unknown string the
// result is unknown, but at least the length of its known prefix.
func stringLength(s cty.Value) cty.Value {
	if s.IsKnown() {
		_, n := clusterEnd([]byte(s.AsString()), -1)
		return cty.NumberIntVal(int64(n))
	}
	_, n := clusterEnd([]byte(s.Range().StringPrefix()), -1)
	atLeast := cty.UnknownVal(cty.Number).Refine().NotNull().NumberRangeLowerBound(cty.NumberIntVal(int64(n)), true)
	return atLeast.NewValue()
}

var strrevFunc = function.New(&function.Spec{
	Description: "`strrev` reverses the characters of a string. Grapheme clusters stay intact.",
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, AllowDynamicType: true, Description: "The string."},
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		in := []byte(args[0].AsString())
		out := make([]byte, len(in))
		for at := len(in); len(in) > 0; {
			end, _ := clusterEnd(in, 1)
			at -= end
			copy(out[at:], in[:end])
			in = in[end:]
		}
		return cty.StringVal(string(out)), nil
	},
})

var substrFunc = function.New(&function.Spec{
	Description: "`substr` extracts a part of a string by offset and length in characters.",
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, AllowDynamicType: true, Description: "The string."},
		{
			Name: "offset", Type: cty.Number, AllowDynamicType: true,
			Description: "The index of the first character; a negative index counts from the end.",
		},
		{
			Name: "length", Type: cty.Number, AllowDynamicType: true,
			Description: "The number of characters; -1 means all remaining characters.",
		},
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var offset, length int
		if err := gocty.FromCtyValue(args[1], &offset); err != nil {
			return cty.NilVal, function.NewArgError(1, err)
		}
		if err := gocty.FromCtyValue(args[2], &length); err != nil {
			return cty.NilVal, function.NewArgError(2, err)
		}
		return cty.StringVal(string(substr([]byte(args[0].AsString()), offset, length))), nil
	},
})

// substr returns length grapheme clusters of s, starting at an offset. As in OpenTofu, a length of
// 0 with a negative offset means all remaining clusters.
func substr(s []byte, offset, length int) []byte {
	if offset >= 0 && length == 0 {
		return nil
	}
	if offset < 0 {
		_, n := clusterEnd(s, -1)
		offset = max(offset+n, 0)
		if length == 0 {
			length = -1
		}
	}
	start, _ := clusterEnd(s, offset)
	end, _ := clusterEnd(s[start:], length)
	return s[start : start+end]
}
