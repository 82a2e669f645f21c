// Package azurevault implements the key provider azure_vault: random data keys, encrypted with a
// key in Azure Key Vault or a managed HSM.
//
// The metadata is the encrypted data key, with the algorithm and the version of the vault's key
// that are needed to decrypt it. So the vault's key may get new versions, or be replaced by a key
// of another type.
//
// Invariants: a data key is kept only in memory; a token is sent only to the domain that it was
// issued for; errors never contain secrets.
package azurevault
