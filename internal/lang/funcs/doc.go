// Package funcs implements the functions of the language. [Table] returns them for the evaluation
// scope, and [Docs] returns their descriptions for commands that list functions. Each theme has its
// own files.
//
// A function is a package variable, either a function.Spec or a function of go-cty's standard
// library with a description. A row of the table in functions.go sets its name. Functions that
// depend on the Options are created by the bind function in their row.
//
// Every function is available under its own name and as "core::name". Functions whose result is
// unknown before the apply phase are marked impure; in a table for pure evaluation they return
// unknown values. Errors about an argument have its index, for the source range of the diagnostic.
// Marks on arguments apply to the result unless documented otherwise. No function writes files,
// runs programs or opens connections. Provider functions are not part of this package.
package funcs
