// Package depsfile reads and writes the dependency lock file, .terraform.lock.hcl. The file records
// the version of each provider that a root module uses and the checksums of the valid packages of
// that version.
//
// All packages that install or start providers use its types. The configuration's needs become
// [Requirements]; package install turns them and the previous [Locks] into new ones; commands that
// start providers check one against the other; plan files contain the locks they were made with.
// Pinned modules ([ModuleLocks]) have a similar file, .terraform.modules.lock.hcl.
//
// Invariants: Locks are not modified once shared; a file is written with one atomic rename, always
// in the normal form that OpenTofu writes, byte for byte; a file that isn't understood completely
// is refused, because guessing would defeat its purpose; nothing here uses the network.
package depsfile
