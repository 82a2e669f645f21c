// Package marks defines the marks on values of the language. They are used by the evaluator, by
// functions, and where values are sent to a provider or written to a file or the screen.
//
// Marks are comparable, so that equal marks on a value are one mark. Marks describe a value and are
// never part of it: they must be removed before the value reaches a provider or a file.
package marks
