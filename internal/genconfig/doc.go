// Package genconfig writes configuration for existing objects, as `plan -generate-config-out` does.
//
// [Block.Text] returns the resource block for one object, and [References] finds the arguments that
// become references to other imported objects.
package genconfig
