// Package lang evaluates expressions and bodies of the configuration language.
//
// Analysis (refs.go) finds the objects and provider functions that an expression or body refers to,
// once for all its evaluations. Evaluation (scope.go) gets the values of those objects from a
// [Data] and runs the expression. Static evaluation in configs, the engine, the console and `tofu
// test` use it with their own Data.
//
// An analyzed [Expr] or [Body] is immutable and shared by all instances of its resource and module.
// Evaluation does not copy values. The package performs no I/O and has no locks.
package lang
