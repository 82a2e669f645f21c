// Package dag is a dense directed graph and a bounded parallel walk over it.
//
// Vertices are int32 IDs handed out in order; what they stand for is the caller's business. An edge says that one vertex waits
// for another. The zero Graph is empty and ready for use.
//
// Invariants: adding a vertex or an edge is constant time; every algorithm is linear in vertices and edges (except
// TransitiveReduction, which is for drawing only); nothing here is safe for concurrent changes, but any number of readers may
// use a graph that is not changed any more.
package dag
