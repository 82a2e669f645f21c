// Package openbao implements the key provider openbao: data keys from the transit engine of an
// OpenBao server, or of an old version of Vault.
//
// Its metadata is the data key encrypted by the server, which only the server can decrypt.
//
// Invariants: a key is kept only in memory; errors never contain the token.
package openbao
