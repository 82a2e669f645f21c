// Package roots finds the root modules below a directory, and which of them read the outputs of
// which others.
//
// [Load] searches the directories and evaluates the backends of all root modules. A root module is
// a directory with configuration that no other module calls by a relative path. It needs another
// one if a terraform_remote_state data source in it reads the state of that one: backends, settings
// and workspaces are evaluated, and compared in a normal form ([StateID]).
//
// Invariants: a directory that several root modules share is parsed once; a root module that
// can't be read doesn't hide the others; and nothing is read from a backend.
package roots
