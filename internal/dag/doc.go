// Package dag implements a dense directed graph and a bounded parallel walk over it.
//
// Vertices are int32 IDs, assigned in order; callers map them to their own data. An edge means that
// one vertex depends on another. The zero [Graph] is empty and ready to use.
//
// Adding a vertex or an edge takes constant time. All algorithms are linear in the number of
// vertices and edges, except TransitiveReduction, which is for drawing. A graph must not be changed
// concurrently, but can have any number of concurrent readers.
package dag
