// Package openbao is the key provider openbao: data keys from the transit engine of an OpenBao server, or of an old enough Vault.
//
// Its metadata is the data key as the server encrypted it, which the server alone can decrypt.
//
// Invariants: a key isn't kept anywhere but in memory; the token appears in no error.
package openbao
