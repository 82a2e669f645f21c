// Package roots finds the root modules below a directory, and the dependencies between them.
//
// [Load] searches the directories and evaluates the backends of all root modules. A root module is
// a directory with configuration that no other module calls by a relative path; [Callers] decides
// this, also where modules can't be read as a whole. It depends on another root module if one of
// its terraform_remote_state data sources reads the state of that root module. To find these
// dependencies, Load evaluates backends, settings and workspaces, and compares them in a normal
// form ([StateID]).
//
// Invariants: a directory that several root modules share is parsed once; a root module that can't
// be read doesn't hide the others; and nothing is read from a backend.
package roots
