// Package consul keeps states in Consul's key-value store, in the layout of OpenTofu.
//
// The state of the default workspace is the value of the key PATH, that of a workspace the value of
// PATH-env:NAME. A state that is too large for one value is cut into chunks, PATH/tfstate.MD5/0 and
// so on, and the value of its key lists them. PATH/.lock is held by a session while the state is
// locked, and PATH/.lockinfo describes the holder; the ID of a lock is that of its session.
//
// Invariants: a state is replaced by one transaction, which fails if the key was changed since it
// was read, or if the lock that this process took is no longer its own. Chunks are written before
// the key that lists them and removed after it. A session is renewed while the lock is held. If it
// is lost, the lock is taken again as long as no other process holds it.
package consul
