// Package objchange contains the rules for the values of one object in a change: what is proposed
// to a provider, what a provider may plan, and which results of applying the plan are valid.
//
// The engine applies the rules to every provider call. They are part of the provider protocol:
//
//	config, prior ──Proposed──▶ proposed ──provider──▶ planned ──provider──▶ actual
//	                                          │                       │
//	                            AssertPlanValid(prior, config)   AssertCompatible(planned)
//
// Invariants: all functions are pure and linear in the size of the values (set elements are found
// by hash). Arguments may be marked, but results are not. Errors are cty.PathErrors in a fixed
// order, and their texts contain no sensitive values. The caller decides whether a violation
// matters, because the legacy SDK may break some rules.
package objchange
