package funcs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Lengths and offsets count grapheme clusters, not bytes or code points.
var (
	chompFunc = described(stdlib.ChompFunc,
		"`chomp` takes the line breaks off the end of a string.",
		"The string.")
	formatFunc = described(bounded(stdlib.FormatFunc, formatSize, notNull),
		"`format` builds a string from a specification with verbs like `%s` and `%05d`, each of which takes one of the further arguments.",
		"The specification.", "The values that the verbs of the specification format.")
	formatlistFunc = described(bounded(stdlib.FormatListFunc, formatSize, notNull),
		"`formatlist` does what `format` does with each element of lists, and makes a list of the strings. Arguments that are no lists are used every time.",
		"The specification.", "Lists of the same length, and single values.")
	indentFunc = described(bounded(withoutPanic(stdlib.IndentFunc, "the number of spaces must not be negative"), indentSize, notNull),
		"`indent` indents all lines of a string except the first.",
		"How many spaces.", "The string.")
	joinFunc = described(stdlib.JoinFunc,
		"`join` makes one string of all elements of the given lists of strings, with a separator between them.",
		"The separator.", "The lists, one after the other.")
	lowerFunc = described(stdlib.LowerFunc,
		"`lower` turns all cased letters of a string into lowercase.",
		"The string.")
	regexFunc = described(stdlib.RegexFunc,
		"`regex` finds the first match of a regular expression (RE2) in a string: a string, a list of its capture groups, or a map of its named ones. No match is an error.",
		"The regular expression.", "The string to search.")
	regexallFunc = described(bounded(stdlib.RegexAllFunc, matchesSize, notNull),
		"`regexall` finds all matches of a regular expression (RE2) in a string. Each is what `regex` returns for one.",
		"The regular expression.", "The string to search.")
	splitFunc = described(stdlib.SplitFunc,
		"`split` makes a list of the parts of a string between separators.",
		"The separator.", "The string.")
	strrevFunc = described(stdlib.ReverseFunc,
		"`strrev` reverses the characters of a string. What a reader takes for one character stays whole.",
		"The string.")
	substrFunc = described(stdlib.SubstrFunc,
		"`substr` extracts a part of a string by offset and length in characters.",
		"The string.", "The index of the first character; a negative one counts from the end.",
		"The number of characters; -1 means all that follow.")
	titleFunc = described(stdlib.TitleFunc,
		"`title` writes the words of a string with capital initials.",
		"The string.")
	trimFunc = described(stdlib.TrimFunc,
		"`trim` takes all of some characters off both ends of a string.",
		"The string.", "All the characters to remove.")
	trimprefixFunc = described(stdlib.TrimPrefixFunc,
		"`trimprefix` takes a prefix off a string. A string without it stays the same.",
		"The string.", "The prefix.")
	trimspaceFunc = described(stdlib.TrimSpaceFunc,
		"`trimspace` takes white space (as Unicode defines it) off both ends of a string.",
		"The string.")
	trimsuffixFunc = described(stdlib.TrimSuffixFunc,
		"`trimsuffix` takes a suffix off a string. A string without it stays the same.",
		"The string.", "The suffix.")
	upperFunc = described(stdlib.UpperFunc,
		"`upper` turns all cased letters of a string into uppercase.",
		"The string.")
)

// startswithFunc can be known for an unknown string, so that conditions on planned names and IDs
// work.
var startswithFunc = function.New(&function.Spec{
	Description: "`startswith` tells whether a string starts with a given prefix.",
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, AllowUnknown: true, Description: "The string."},
		{Name: "prefix", Type: cty.String, Description: "The prefix."},
	},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		prefix := args[1].AsString()
		if args[0].IsKnown() {
			return cty.BoolVal(strings.HasPrefix(args[0].AsString(), prefix)), nil
		}
		// An unknown string may have a known prefix, which decides if it is long enough.
		if known := args[0].Range().StringPrefix(); len(known) >= len(prefix) {
			return cty.BoolVal(strings.HasPrefix(known, prefix)), nil
		}
		return cty.UnknownVal(cty.Bool), nil
	},
})

// endswithFunc is unknown for unknown strings, which have no known suffix.
var endswithFunc = function.New(&function.Spec{
	Description: "`endswith` tells whether a string ends with a given suffix.",
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, Description: "The string."},
		{Name: "suffix", Type: cty.String, Description: "The suffix."},
	},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(strings.HasSuffix(args[0].AsString(), args[1].AsString())), nil
	},
})

var strcontainsFunc = function.New(&function.Spec{
	Description: "`strcontains` tells whether a string has a given other string in it.",
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, Description: "The string to search."},
		{Name: "substr", Type: cty.String, Description: "What to search for."},
	},
	Type: function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(strings.Contains(args[0].AsString(), args[1].AsString())), nil
	},
})

// replaceFunc treats a search string between slashes as a regular expression. A single slash is an
// ordinary string.
var replaceFunc = function.New(&function.Spec{
	Description: "`replace` replaces each occurrence of one string in another. A search string between slashes is a regular expression (RE2), whose groups the replacement may refer to as `$1` or `${name}`.",
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, Description: "The string to search."},
		{Name: "substr", Type: cty.String, Description: "What to search for."},
		{Name: "replace", Type: cty.String, Description: "What to put in its place."},
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		str, search, replacement := args[0].AsString(), args[1].AsString(), args[2].AsString()
		if len(search) < 2 || search[0] != '/' || search[len(search)-1] != '/' {
			if float64(strings.Count(str, search))*float64(len(replacement)) > maxText {
				return cty.NilVal, errLargeReplacement
			}
			return cty.StringVal(strings.ReplaceAll(str, search, replacement)), nil
		}
		re, err := regexp.Compile(search[1 : len(search)-1])
		if err != nil {
			return cty.NilVal, fmt.Errorf("what is between the slashes is not a valid regular expression: %w", err)
		}
		if !replaceable(re, str, replacement) {
			return cty.NilVal, errLargeReplacement
		}
		return cty.StringVal(re.ReplaceAllString(str, replacement)), nil
	},
})
