// Package planview is a plan prepared for review: the model that all views of a plan share.
//
// [New] turns a [Source] into a [Plan]: changes in the order of the module tree with their places
// in the configuration, drift, outputs, and hints about objects that look renamed. A [Change]
// compares its values when it is asked: [Change.Diff] returns the whole tree, and [Change.Fields]
// one [Field] for each difference, with its path, its text before and after, whether it forces a
// replacement, and what makes it unknown. [Plan.Groups] folds equal changes of many instances.
//
// Invariants: nothing here prints, and nothing contains a sensitive value, unless
// [Options.ShowSensitive] is set, or an ephemeral one. Texts are raw: a view must escape them for
// its format. Preparing a plan takes time linear in its changes and references, and comparing a
// change time linear in its values. Methods are safe for concurrent use.
package planview
