// Package explain answers why something is in a plan, or why it is not.
//
// For an object, it finds the attributes that cause the action. It follows the references in the
// expressions that set these attributes, through variables, locals and outputs, to whatever
// changed: another object, a change made outside of OpenTofu, or the value of a variable. The old
// and new values of objects are in the plan, and the order of changes is in the graph of its apply.
// For a variable, a local or an output, it searches in the other direction, for whatever uses the
// value. Only in this case are expressions evaluated.
//
// Invariants: sensitive or ephemeral values are never in an answer. Each value is followed once for
// each attribute, and the graph is walked once, so the cost of an answer is linear in the number of
// nodes and edges.
package explain
