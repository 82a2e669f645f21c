// Package http keeps the state behind an HTTP address: GET reads the snapshot, POST writes it, DELETE removes it; LOCK and UNLOCK
// on addresses of their own lock it. There is one workspace.
//
// Invariants: requests that fail on the way, or with a server error, are sent again, with the same body: each may be carried out twice
// without harm, since a write stores the same snapshot and a lock is recognised by its ID. A refused write is an error and never tried
// in another way; a redirect that changes the method is one, so that a write can't end as a read. Credentials don't appear in errors.
package http
