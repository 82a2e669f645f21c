// Package funcs holds the functions of the language: one table, one file per theme. It is for the evaluator, which puts
// the table into the scope of every expression, and for the commands that list the functions.
//
// A function is a package variable made of a function.Spec, or of a function of go-cty's standard library where that does
// exactly what the language promises, with its description beside it; a row of the table in rows.go gives it its name.
// A function that depends on the Options is made by the row's bind instead.
//
// Invariants: every function exists under its own name and as "core::name"; one that cannot say its result before the
// apply phase is marked impure and unknown in a table for pure evaluation; an error about an argument names its position,
// so that the place of the argument is reported; marks of arguments reach the result unless the function says otherwise;
// no function writes to a file, runs a program or opens a connection. Provider-defined functions are not here.
package funcs
