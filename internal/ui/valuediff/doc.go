// Package valuediff compares the values of an object before and after a change.
//
// A [Differ] turns the two values, with their schema, into a tree of nodes. The views of a plan
// render the tree as text, Markdown or HTML. A state is rendered as a tree without changes.
// cty.NilVal is a value that doesn't exist, as opposed to null.
//
// Invariants: sensitive values are omitted unless Differ.ShowSensitive is set, and ephemeral
// values are always omitted. Building a tree doesn't change the values. It takes time linear in
// their size, except for lists, where package diff limits the time for the alignment.
package valuediff
