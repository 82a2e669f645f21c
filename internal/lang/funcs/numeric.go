package funcs

import "github.com/zclconf/go-cty/cty/function/stdlib"

// Numbers have arbitrary precision, except that log and pow use 64-bit floating point.
var (
	absFunc = described(stdlib.AbsoluteFunc,
		"`abs` returns a number without its sign.",
		"The number.")
	ceilFunc = described(stdlib.CeilFunc,
		"`ceil` rounds a number up to a whole one.",
		"The number.")
	floorFunc = described(stdlib.FloorFunc,
		"`floor` rounds a number down to a whole one.",
		"The number.")
	logFunc = described(withoutPanic(stdlib.LogFunc, "there is no logarithm of this number in this base"),
		"`log` returns the power of a base that gives a number.",
		"The number.", "The base of the logarithm.")
	maxFunc = described(stdlib.MaxFunc,
		"`max` returns the greatest of its arguments.",
		"The numbers.")
	minFunc = described(stdlib.MinFunc,
		"`min` returns the smallest of its arguments.",
		"The numbers.")
	parseintFunc = described(bounded(stdlib.ParseIntFunc, digitsSize, notNull),
		"`parseint` reads a string as a whole number in a base from 2 to 62.",
		"The digits, after an optional sign.", "The base.")
	powFunc = described(withoutPanic(stdlib.PowFunc, "there is no such power of this number"),
		"`pow` returns a power of a number.",
		"The number to raise.", "The power.")
	signumFunc = described(stdlib.SignumFunc,
		"`signum` returns -1, 0 or 1 for a number that is less than, equal to or greater than zero.",
		"The number.")
)
