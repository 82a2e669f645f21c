// Package valuediff compares the values of an object before and after a change.
//
// A [Differ] turns the two values, with their schema, into a tree of nodes, which the views of a
// plan render as text, Markdown or HTML. A state is rendered as a tree without changes. A value
// that does not exist, as opposed to null, is cty.NilVal.
//
// Invariants: sensitive values are left out unless a Differ shows them, and ephemeral values
// always. Building a tree changes nothing, and takes time linear in the size of the values, except
// for lists, which package diff aligns within a bound.
package valuediff
