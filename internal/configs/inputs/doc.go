// Package inputs gathers the values of root input variables: from the environment, from variable files and from options.
//
// It is for the commands. [Collect] finds what was given, which needs no configuration; static evaluation can use that at once.
// [Values] interprets it once the root module's variables are known.
//
// Invariants: of several values for one variable the strongest wins as a whole, nothing is merged; nothing is evaluated but constants;
// a problem in a file has its place, and one that is nowhere written in a file has none.
package inputs
