// Package funcs implements the functions of the language. [Table] returns them for the evaluation
// scope, [Docs] their descriptions for commands that list functions. There is one file for each
// theme.
//
// A function is a package variable: a function.Spec, or a function of go-cty's standard library
// with a description. A row of the table in functions.go sets its name. Functions that depend on
// the Options are created by the row's bind.
//
// Every function has its own name and the name "core::name". Functions with a result that is
// unknown before the apply phase are marked impure and are unknown in a table for pure evaluation.
// Errors about an argument have its index, for the source range of the diagnostic. Marks of
// arguments apply to the result unless documented otherwise. No function writes files, runs
// programs or opens connections. Provider functions are not part of this package.
package funcs
