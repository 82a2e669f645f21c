// Package depsfile reads and writes the dependency lock file, .terraform.lock.hcl. The file records
// the version of each provider that a root module uses and the checksums of the valid packages of
// that version.
//
// All packages that install or start providers use its types. [Requirements] are what the
// configuration needs. Package install computes new [Locks] from them and from the previous locks.
// Commands that start providers check the locks against the requirements. A plan file contains the
// locks that the plan was created with. Pinned modules ([ModuleLocks]) have a similar file,
// .terraform.modules.lock.hcl.
//
// Invariants: Locks are not modified once shared; a file is written with one atomic rename, always
// in the normal form that OpenTofu writes, byte for byte; a file that isn't understood completely
// is refused, because guessing would defeat its purpose; nothing here uses the network.
package depsfile
