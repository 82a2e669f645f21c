package funcs

import "github.com/zclconf/go-cty/cty/function/stdlib"

// Numbers have arbitrary precision, except that log and pow use 64-bit floating point.
var (
	absFunc = withDescriptions(stdlib.AbsoluteFunc,
		"`abs` returns the absolute value of a number.",
		"The number.")
	ceilFunc = withDescriptions(stdlib.CeilFunc,
		"`ceil` rounds a number up to the nearest integer.",
		"The number.")
	floorFunc = withDescriptions(stdlib.FloorFunc,
		"`floor` rounds a number down to the nearest integer.",
		"The number.")
	logFunc = withDescriptions(withoutPanic(stdlib.LogFunc,
		"the logarithm of this number is not defined for this base"),
		"`log` returns the logarithm of a number in a given base.",
		"The number.", "The base of the logarithm.")
	maxFunc = withDescriptions(stdlib.MaxFunc,
		"`max` returns the greatest of its arguments.",
		"The numbers.")
	minFunc = withDescriptions(stdlib.MinFunc,
		"`min` returns the smallest of its arguments.",
		"The numbers.")
	parseintFunc = withDescriptions(withSizeCheck(stdlib.ParseIntFunc, digitsSize, notNull),
		"`parseint` parses a string as an integer in a base from 2 to 62.",
		"The digits, after an optional sign.", "The base.")
	powFunc = withDescriptions(withoutPanic(stdlib.PowFunc, "this power of the number is not defined"),
		"`pow` raises a number to a power.",
		"The base.", "The power.")
	signumFunc = withDescriptions(stdlib.SignumFunc,
		"`signum` returns -1, 0 or 1 for a number that is less than, equal to or greater than zero.",
		"The number.")
)
