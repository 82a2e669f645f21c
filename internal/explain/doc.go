// Package explain answers why something is in a plan, and why it is not.
//
// For an object it finds the attributes that cause the action and follows the references of the
// expressions that set them, through variables, locals and outputs, down to what changed: another
// object, a change made outside, or the value of a variable. What an object was and becomes is in the
// plan, and what waits for what is in the graph of its apply. For a variable, a local or an output it
// looks in the other direction, for what uses it. Only then are expressions evaluated.
//
// Invariants: values that are sensitive or ephemeral are never in an answer. Each value is followed
// once for each attribute, and the graph is walked once, so an answer costs nodes plus edges.
package explain
