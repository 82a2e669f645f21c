// Package lang evaluates the language's expressions and bodies.
//
// It has two halves. Analysis (refs.go) finds, once per expression or body, which objects it refers to and which provider
// functions it calls. Evaluation (scope.go) asks a [Data] for those objects' values and runs the expression. The static
// evaluator of configs, the engine, the console and `tofu test` all use it, each with its own Data.
//
// Invariants: an analysed Expr or Body is immutable and shared by all instances and module instances; evaluation never copies
// the values it is given; nothing here does input or output; there is no lock.
package lang
