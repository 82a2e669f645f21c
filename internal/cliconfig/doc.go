// Package cliconfig reads the CLI configuration, which contains the settings of a user rather than
// of a root module. The settings come from ~/.tofurc (or ~/.terraformrc), from *.tfrc files in the
// user's configuration directory, and from the environment.
//
// The command line reads the CLI configuration once and configures the rest of the program with it:
// where providers come from, where they are cached, and the credentials for each host.
//
// Invariants: the result is plain data, and only credentials are looked up later; an error in a
// file is reported with file and line; messages never contain a token.
package cliconfig
