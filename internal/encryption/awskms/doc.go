// Package awskms implements the key provider aws_kms: data keys from the key management service of
// AWS.
//
// The metadata is the data key, encrypted by the service. Only the service can decrypt it. The
// encryption context, if there is one, is not stored: the same context is needed to decrypt.
//
// Invariants: a key is kept only in memory; the account is opened when the first key is needed, and
// errors never contain credentials.
package awskms
