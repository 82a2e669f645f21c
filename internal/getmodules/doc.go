// Package getmodules fetches the modules that a configuration calls, installs them below .terraform/modules, and finds
// installed ones again.
//
// init and get load the configuration with [Installer.Resolve], which installs what is missing on the way. Other commands
// load it with [Installed], which only looks up what modules.json says, and those that are about many root modules with a
// [Shared], which fetches what isn't installed into a temporary folder.
//
// Invariants: one address is fetched once per run, so that all calls of a moving branch get the same commit; a package
// is complete before it appears under its final name; nothing is written outside of the modules' folder, whatever an
// archive or repository holds; what a user or a server wrote never becomes an option of a program that is run.
package getmodules
