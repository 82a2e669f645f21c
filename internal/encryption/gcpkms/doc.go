// Package gcpkms implements the key provider gcp_kms: random data keys, encrypted with a key in
// Google Cloud KMS.
//
// Its metadata is the encrypted data key; the service finds the version of its key that decrypts
// it.
//
// Invariants: a data key is kept only in memory; errors never contain secrets.
package gcpkms
