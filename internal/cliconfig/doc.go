// Package cliconfig reads the CLI configuration: the settings that a user, not a root module, makes. They come from
// ~/.tofurc (or ~/.terraformrc), from *.tfrc files in the user's configuration folder, and from the environment.
//
// The command line reads it once and wires the rest of the program with it: where providers come from, where they are
// cached, which credentials go to which host.
//
// Invariants: the result is data, nothing is looked up later but credentials; a mistake in a file is reported with file
// and line; a token is never part of a message.
package cliconfig
