package funcs

import "github.com/zclconf/go-cty/cty/function/stdlib"

// Numbers have as many digits as they need, except that log and pow calculate with 64-bit floating point numbers.
var (
	absFunc = described(stdlib.AbsoluteFunc,
		"`abs` returns the absolute value of the given number: the number itself if it is zero or more, else its negation.",
		"The number.")
	ceilFunc = described(stdlib.CeilFunc,
		"`ceil` returns the closest whole number that is greater than or equal to the given number.",
		"The number.")
	floorFunc = described(stdlib.FloorFunc,
		"`floor` returns the closest whole number that is less than or equal to the given number.",
		"The number.")
	logFunc = described(withoutPanic(stdlib.LogFunc, "there is no logarithm of this number in this base"),
		"`log` returns the logarithm of a given number in a given base.",
		"The number.", "The base of the logarithm.")
	maxFunc = described(stdlib.MaxFunc,
		"`max` takes one or more numbers and returns the greatest of them.",
		"The numbers.")
	minFunc = described(stdlib.MinFunc,
		"`min` takes one or more numbers and returns the smallest of them.",
		"The numbers.")
	parseintFunc = described(stdlib.ParseIntFunc,
		"`parseint` reads the given string as a whole number in the given base, which may be 2 to 62.",
		"The digits, after an optional sign.", "The base.")
	powFunc = described(withoutPanic(stdlib.PowFunc, "there is no such power of this number"),
		"`pow` raises its first argument to the power of its second.",
		"The number to raise.", "The power.")
	signumFunc = described(stdlib.SignumFunc,
		"`signum` returns -1, 0 or 1 for a number that is less than, equal to or greater than zero.",
		"The number.")
)
