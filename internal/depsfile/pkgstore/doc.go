// Package pkgstore unpacks and hashes provider packages, and keeps them on disk.
//
// A [Store] is a directory in the user's cache, shared by all programs that use it. It keeps the
// content of each package once, named by content hash. It records the content of each archive, so
// that an archive is unpacked and hashed once, however many root modules use it. And it records the
// stat data of directories it has hashed, so that packages of some hundred megabytes are not read
// again by each command.
//
//	store, err := pkgstore.Open(dir)
//	…
//	defer store.Close()
//	if content, ok := store.Find(lock.Hashes); ok {
//		err = store.Place(content, target)
//	}
//
// Invariants: a directory is filled under a temporary name and renamed when complete, so that no
// reader sees a part of a package, even where file locks don't work; an archive is unpacked only
// within its directory and only up to a reasonable size; packages from the store have been verified
// against their name, by stat data or by reading them; nothing here uses the network, and losing
// the store only costs time.
package pkgstore
