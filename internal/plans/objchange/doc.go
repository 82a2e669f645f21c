// Package objchange holds the rules about one object's values in a change: what is proposed to a
// provider, what a provider may plan, and what it may make of a plan.
//
// The engine calls it around every provider call. The rules come from the provider protocol:
//
//	config, prior ──Proposed──▶ proposed ──provider──▶ planned ──provider──▶ actual
//	                                          │                       │
//	                            AssertPlanValid(prior, config)   AssertCompatible(planned)
//
// Invariants: all functions are pure and linear in the size of the values (elements of sets are
// found by hash); values given may be marked, values returned are not; errors are cty.PathErrors in
// a fixed order, and no error's text shows a value that is sensitive by schema or by mark. Whether
// a violation matters (the old SDK may break some rules) is the caller's decision.
package objchange
