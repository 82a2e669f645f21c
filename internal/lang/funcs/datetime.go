package funcs

import (
	"errors"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var (
	formatdateFunc = withDescriptions(stdlib.FormatDateFunc,
		"`formatdate` converts an RFC 3339 timestamp to another format.",
		"The format: sequences of letters represent parts of the time, text in single quotes is literal.",
		"The timestamp.")
	timeaddFunc = withDescriptions(stdlib.TimeAddFunc,
		"`timeadd` adds a duration to an RFC 3339 timestamp.",
		"The timestamp.", "The duration, such as -1h30m.")
)

// timecmpFunc compares instants. The same instant in different time zones is equal.
var timecmpFunc = function.New(&function.Spec{
	Description: "`timecmp` compares two RFC 3339 timestamps: -1, 0 or 1 if the first is earlier than, the " +
		"same instant as, or later than the second.",
	Params: []function.Parameter{
		{Name: "timestamp_a", Type: cty.String, Description: "The first timestamp."},
		{Name: "timestamp_b", Type: cty.String, Description: "The second timestamp."},
	},
	Type:         function.StaticReturnType(cty.Number),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var ts [2]time.Time
		for i, arg := range args {
			var err error
			ts[i], err = parseTimestamp(arg.AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(i, err)
			}
		}
		return cty.NumberIntVal(int64(ts[0].Compare(ts[1]))), nil
	},
})

// parseTimestamp parses a timestamp in RFC 3339 format. Like package time, it also accepts a
// one-digit hour and a comma before fractional seconds.
func parseTimestamp(s string) (time.Time, error) {
	ts, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return ts, errors.New("not a valid RFC 3339 timestamp such as 2006-01-02T15:04:05Z")
	}
	return ts, nil
}

// timestampFunc returns the time of the call. It is unknown before the apply phase.
var timestampFunc = function.New(&function.Spec{
	Description:  "`timestamp` returns the current time in UTC as an RFC 3339 timestamp.",
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
		return cty.StringVal(time.Now().UTC().Format(time.RFC3339)), nil
	},
})

// plantimestampFunc is pure, because the plan stores the time and apply uses the same value.
func plantimestampFunc(b *binding) function.Function {
	result := cty.UnknownVal(cty.String)
	if !b.PlanTimestamp.IsZero() {
		result = cty.StringVal(b.PlanTimestamp.UTC().Format(time.RFC3339))
	}
	return function.New(&function.Spec{
		Description: "`plantimestamp` returns the time of the plan in UTC as an RFC 3339 timestamp. It " +
			"returns the same time during apply.",
		Type:         function.StaticReturnType(cty.String),
		RefineResult: notNull,
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			if result.IsKnown() {
				b.reads("")
			}
			return result, nil
		},
	})
}
