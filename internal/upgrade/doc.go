// Package upgrade finds the version constraints in configuration files and raises them, for `tofu update`.
//
// [Places] lists what a directory's files say of versions: required_version, the versions of required providers, those of modules
// from a registry, and the refs of modules in git repositories. [Raise] writes one constraint anew so that it chooses a version, in
// the style it was written in. [Apply] puts new texts in place of old ones.
//
// Invariants: nothing but the text between the quotes of a constraint changes, so that layout and comments stay as they are; a
// constraint is never lowered; what isn't understood is left alone and said; nothing here talks to a network.
package upgrade
