// Package gcs keeps states as objects in a bucket of Google Cloud Storage.
//
// The state of a workspace is the object PREFIX/WORKSPACE.tfstate, and its lock is the object
// PREFIX/WORKSPACE.tflock. The ID of a lock is the generation of its object. Requests use the JSON
// interface of the service.
//
// Invariants: the invariants of package objects, where the version of an object is its generation.
// Errors never contain keys or tokens.
package gcs
