// Package cliconfig reads the CLI configuration, which has the settings of a user rather than of a
// root module. They come from ~/.tofurc (or ~/.terraformrc), from *.tfrc files in the user's
// configuration directory, and from the environment.
//
// The command line reads it once and configures the rest of the program with it: where providers
// come from, where they are cached, and the credentials for each host.
//
// Invariants: the result is plain data, and only credentials are looked up later; an error in a
// file is reported with file and line; messages never contain a token.
package cliconfig
