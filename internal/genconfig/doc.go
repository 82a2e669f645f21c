// Package genconfig writes configuration for existing objects, as `plan -generate-config-out` does.
//
// [Text] returns the resource block for the objects of a resource, and [SetRefs] finds the arguments
// that become references to other imported objects.
package genconfig
