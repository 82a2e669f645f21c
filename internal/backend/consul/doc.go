// Package consul keeps states in Consul's key-value store, in the layout of OpenTofu.
//
// The state of the default workspace is the value of the key PATH. The state of another workspace
// is the value of the key PATH-env:NAME. A state that is too large for one value is split into
// chunks, PATH/tfstate.MD5/0 and so on, and the value of the state's key lists them. While the
// state is locked, a session holds the key PATH/.lock, and PATH/.lockinfo describes the holder. The
// ID of a lock is that of its session.
//
// Invariants: a state is replaced by one transaction, which fails if the key was changed since it
// was read, or if this process has lost the lock that it took. Chunks are written before the key
// that lists them and removed after it. A session is renewed while the lock is held. If the session
// is lost, the lock is taken again unless another process holds it.
package consul
