// Package gcpkms implements the key provider gcp_kms: random data keys, encrypted with a key in
// Google Cloud KMS.
//
// The metadata is the encrypted data key. The service knows which version of its key can decrypt
// it.
//
// Invariants: a data key is kept only in memory; errors never contain secrets.
package gcpkms
