// Package reads is the model of what reads what: the [Tree] of modules with their values and resources, and
// the places that each place reads.
//
// A [Place] is an instance of a resource, or a value or module call in one instance of its module.
// [Places.Reads] returns the places that it reads: instances whose keys are known, values in the same, the
// calling or a called module instance, and otherwise whole resources. All that asks what something reads
// follows these reads from place to place: targets and exclusions ([Follow], [Readers]), the order of plans and
// applies (package graph), and the dependencies that the state stores (package engine). Keys have three sources:
// what is known before a walk or during it ([KnownKeys]), what a plan has recorded ([Places.OfChange]), and the
// addresses of targets. If the keys of a resource or module call are not known, its places are the instances that
// targets name, and one with UnknownKey for all others.
//
// A block or value reads an object by key if it reads nothing but single instances of it. [Tree.SetReads]
// finds these reads ([KeyedRead]) of resources, of module calls, and of values that are one of these as a whole
// ([Alias], [CallAlias]). Only this package and lang know the syntactic forms.
//
// place_reads.go is the first file to read. What follows references one by one, with their expressions, such as
// explain, graph views and the attributes that a plan reads, does so with [Scope.Follow], which finds the instances
// that one reference selects.
//
// Invariants: nothing here evaluates expressions or changes a tree after SetReads, except for the fields that
// package graph sets while it builds a graph. Each place is visited once and each read is followed once, so
// the cost is linear in the number of instances and of references between them.
package reads
