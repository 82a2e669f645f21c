// Package inputs collects the values of root module variables from the environment, from variable
// files and from command line options.
//
// [Collect] returns the values that are set. It needs no configuration, so static evaluation can
// use its result. [Values] interprets them once the root module's variables are known.
//
// If several sources set a variable, the one with the highest precedence wins and nothing is
// merged. Only constant expressions are evaluated. Errors in files have source ranges, other errors
// don't.
package inputs
