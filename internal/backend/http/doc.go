// Package http keeps the state at an HTTP address: GET reads the snapshot, POST writes it, DELETE
// removes it; LOCK and UNLOCK on separate addresses lock it. There is only the default workspace.
//
// Invariants: requests that fail in transit or with a server error are repeated with the same body.
// Executing them twice is harmless, since a write stores the same snapshot and a lock is recognized
// by its ID. A refused write is an error and is not retried in another way. A redirect that changes
// the method is an error, because it would turn a write into a read. Errors never contain
// credentials.
package http
