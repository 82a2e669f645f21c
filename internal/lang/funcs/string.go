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
	chompFunc = withDescriptions(stdlib.ChompFunc,
		"`chomp` removes the line breaks at the end of a string.",
		"The string.")
	formatFunc = withDescriptions(withSizeCheck(stdlib.FormatFunc, formatSize, notNull),
		"`format` formats its arguments according to a format string with verbs such as `%s` and `%05d`.",
		"The format string.", "The values for the verbs.")
	formatlistFunc = withDescriptions(withSizeCheck(stdlib.FormatListFunc, formatSize, notNull),
		"`formatlist` applies `format` to each element of lists and returns a list of strings. Other "+
			"arguments are used for each element.",
		"The format string.", "Lists of the same length, and single values.")
	indentFunc = withDescriptions(withSizeCheck(withoutPanic(stdlib.IndentFunc,
		"the number of spaces must not be negative"), indentSize, notNull),
		"`indent` indents all lines of a string except the first.",
		"The number of spaces.", "The string.")
	joinFunc = withDescriptions(stdlib.JoinFunc,
		"`join` concatenates the elements of the given lists of strings, with a separator between them.",
		"The separator.", "The lists, one after the other.")
	lowerFunc = withDescriptions(stdlib.LowerFunc,
		"`lower` converts all letters of a string to lower case.",
		"The string.")
	regexFunc = withDescriptions(stdlib.RegexFunc,
		"`regex` returns the first match of a regular expression (RE2) in a string: as a string, a list of "+
			"its capture groups, or a map of its named groups. If there is no match, it fails.",
		"The regular expression.", "The string to search.")
	regexallFunc = withDescriptions(withSizeCheck(stdlib.RegexAllFunc, matchesSize, notNull),
		"`regexall` finds all matches of a regular expression (RE2) in a string. Each element of the result "+
			"has the form that `regex` returns.",
		"The regular expression.", "The string to search.")
	splitFunc = withDescriptions(stdlib.SplitFunc,
		"`split` returns a list of the parts of a string between separators.",
		"The separator.", "The string.")
	titleFunc = withDescriptions(stdlib.TitleFunc,
		"`title` capitalizes the first letter of each word in a string.",
		"The string.")
	trimFunc = withDescriptions(stdlib.TrimFunc,
		"`trim` removes the given characters from both ends of a string.",
		"The string.", "The characters to remove.")
	trimprefixFunc = withDescriptions(stdlib.TrimPrefixFunc,
		"`trimprefix` removes a prefix from a string. A string without the prefix is returned unchanged.",
		"The string.", "The prefix.")
	trimspaceFunc = withDescriptions(stdlib.TrimSpaceFunc,
		"`trimspace` removes Unicode white space from both ends of a string.",
		"The string.")
	trimsuffixFunc = withDescriptions(stdlib.TrimSuffixFunc,
		"`trimsuffix` removes a suffix from a string. A string without the suffix is returned unchanged.",
		"The string.", "The suffix.")
	upperFunc = withDescriptions(stdlib.UpperFunc,
		"`upper` converts all letters of a string to upper case.",
		"The string.")
)

// startswithFunc can return a known result for an unknown string whose prefix is known. Conditions
// on planned names and IDs can then be evaluated.
var startswithFunc = function.New(&function.Spec{
	Description: "`startswith` reports whether a string starts with a given prefix.",
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
		// The known prefix of an unknown string is enough if it is long enough.
		if known := args[0].Range().StringPrefix(); len(known) >= len(prefix) {
			return cty.BoolVal(strings.HasPrefix(known, prefix)), nil
		}
		return cty.UnknownVal(cty.Bool), nil
	},
})

// endswithFunc returns an unknown value for unknown strings, because their end is never known.
var endswithFunc = function.New(&function.Spec{
	Description: "`endswith` reports whether a string ends with a given suffix.",
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
	Description: "`strcontains` reports whether a string contains another string.",
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, Description: "The string to search."},
		{Name: "substr", Type: cty.String, Description: "The string to search for."},
	},
	Type: function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(strings.Contains(args[0].AsString(), args[1].AsString())), nil
	},
})

// replaceFunc treats a search string between slashes as a regular expression. A single slash is an
// ordinary string.
var replaceFunc = function.New(&function.Spec{
	Description: "`replace` replaces each occurrence of one string in another. A search string between " +
		"slashes is a regular expression (RE2), whose groups the replacement may refer to as `$1` or " +
		"`${name}`.",
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, Description: "The string to search."},
		{Name: "substr", Type: cty.String, Description: "The string to search for."},
		{Name: "replace", Type: cty.String, Description: "The replacement."},
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
			return cty.NilVal, fmt.Errorf("the text between the slashes is not a valid regular expression: %w", err)
		}
		if !replaceable(re, str, replacement) {
			return cty.NilVal, errLargeReplacement
		}
		return cty.StringVal(re.ReplaceAllString(str, replacement)), nil
	},
})
