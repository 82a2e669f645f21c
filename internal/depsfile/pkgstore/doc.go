// Package pkgstore unpacks and hashes provider packages, and keeps them on disk.
//
// A [Store] is a directory in the user's cache, shared by all programs that use it. It keeps the
// content of each package once, under its content hash. It also records the content hash of each
// archive, so that an archive is unpacked and hashed once, however many root modules use it. For
// the directories it has hashed, it records the hash and the stat data of the files, so that
// commands need not read packages of hundreds of megabytes again.
//
//	store, err := pkgstore.Open(dir)
//	…
//	defer store.Close()
//	if content, ok := store.Find(lock.Hashes); ok {
//		err = store.Place(content, target)
//	}
//
// Invariants: a directory is filled under a temporary name and renamed when complete, so that no
// reader sees an incomplete package, even where file locks don't work; an archive is unpacked only
// within its directory and only up to a reasonable size; packages from the store have been verified
// against the hash in their name, by stat data or by reading them; nothing here uses the network,
// and losing the store only costs time.
package pkgstore
