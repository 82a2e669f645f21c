// Package http keeps the state behind an HTTP address: GET reads the snapshot, POST writes it, DELETE removes it; LOCK and UNLOCK
// on addresses of their own lock it. There is one workspace.
//
// Invariants: requests that fail on the way, or with a server error, are sent again, with the same body; a refused write is an error
// and never tried in another way; credentials don't appear in errors.
package http
