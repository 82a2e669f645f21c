// Package upgrade finds version constraints in configuration files and raises them, for `tofu
// update`.
//
// [Places] lists the versions in a directory's files: required_version, required providers, modules
// from a registry, and refs of modules in git repositories. [Raise] changes one constraint to
// select a version, in its original style. [Apply] replaces constraints in a file.
//
// Only the text between the quotes of a constraint changes, so layout and comments are preserved. A
// constraint is never lowered. A constraint in an unsupported form is reported and not changed. The
// package does not use the network.
package upgrade
