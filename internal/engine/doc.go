// Package engine validates, plans and applies configurations. Each operation builds a graph from
// the configuration, the state and the planned changes (package graph), and walks it.
//
// The entry points are [Validate], [Plan], [Apply] and [Eval], and [GraphOperation] for drawing the
// graph that the others walk. They take and return documents, and are used by the commands and by
// `tofu test`.
//
//	plan, err := engine.Plan(ctx, config, state, env, nil)
//	if err != nil {
//		return err // a plan with errors can be shown, but not applied
//	}
//	state, err = engine.Apply(ctx, config, plan, env, nil) // save the state even after an error
//
// An operation (operation.go) starts a walk (walk.go); the walk visits the nodes, and collects
// changes, objects and diagnostics in its results (results.go).
//
// Invariants: the engine performs no I/O; providers, provisioners, the clock and observers come
// from [Env]. Inputs are never modified. The work for each instance and each reference is constant,
// except for a binary search among sorted keys. Every object that a provider returns is reported to
// the observer before any node that depends on it starts.
package engine
