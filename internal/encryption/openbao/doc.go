// Package openbao implements the key provider openbao: data keys from the transit engine of an
// OpenBao server, or of an old version of Vault.
//
// The metadata is the data key, encrypted by the server. Only the server can decrypt it.
//
// Invariants: a key is kept only in memory; errors never contain the token.
package openbao
