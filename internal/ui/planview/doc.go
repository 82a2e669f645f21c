// Package planview prepares a plan for review. It is the model that all views of a plan share.
//
// [New] turns a [Source] into a [Plan]. The plan has the changes in the order of the module tree,
// with their positions in the configuration. It also has drift, outputs, and hints about objects
// that seem to have been renamed. A [Change] compares its values only when a method is called:
// [Change.Diff] returns the whole tree of differences. [Change.Fields] returns one [Field] for each
// difference, with its path, its text before and after, whether it forces a replacement, and what
// makes it unknown. [Plan.Groups] merges equal changes of many instances.
//
// Invariants: this package prints nothing. Its results contain no ephemeral values, and no
// sensitive ones unless [Options.ShowSensitive] is set. Its strings are raw: a view must escape
// them for its format. Preparing a plan takes time linear in its changes and references, and
// comparing a change takes time linear in the size of its values. Methods are safe for concurrent
// use.
package planview
