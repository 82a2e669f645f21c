// Package getmodules fetches the modules that a configuration calls, installs them below
// .terraform/modules, and finds installed ones again.
//
// The commands init and get load the configuration with [Installer.Resolve], which installs missing
// modules. Other commands use [Installed], which only reads modules.json. Commands that handle many
// root modules use [Shared], which fetches missing modules into a temporary directory.
//
//	installer, err := getmodules.NewInstaller(&getmodules.Options{Dir: dir, Client: client})
//	…
//	opts := &configs.LoadOptions{Resolve: installer.Resolve}
//	config, err := configs.LoadRoot(ctx, ".", opts, warn)
//	err = tfdiags.Join(err, installer.Finish())
//
// Invariants: an address is fetched once per run, so all calls that name the same branch get the
// same commit even if the branch moves; a package is complete before it appears under its final
// name; nothing is written outside of the modules directory, whatever an archive or repository
// contains; text from users or servers never becomes an option of an external program.
package getmodules
