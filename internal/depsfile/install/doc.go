// Package install selects, fetches, verifies and installs the providers of a root module, and
// computes the new content of its lock file.
//
// [Ensure] implements init, [Locker] `providers lock` and [Mirror] `providers mirror`. All other
// commands call [Check] first. [Packages] returns the verified programs to start.
//
// Invariants: a package is checked against every checksum from the lock file and its source before
// it is installed; one provider's failure doesn't stop the others, but then no new locks are
// returned; the network is not used if the lock file and the local packages suffice; previous locks
// are never modified.
package install
