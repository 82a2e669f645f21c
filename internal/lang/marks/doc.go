// Package marks names the marks that values of the language carry, so that every package that adds, looks for or removes
// one means the same thing. It is for the evaluator, the functions of the language and whoever sends values to a provider,
// a file or a screen.
//
// Invariants: every mark is comparable, so that equal marks on one value are one mark; a mark says something about a value
// and is never part of it, so no mark may reach a provider or a file.
package marks
