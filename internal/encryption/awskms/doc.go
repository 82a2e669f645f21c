// Package awskms implements the key provider aws_kms: data keys from the key management service of
// AWS.
//
// Its metadata is the data key encrypted by the service, which only the service can decrypt. The
// encryption context, if there is one, is not stored: decrypting needs the same one.
//
// Invariants: a key is kept only in memory; the account is opened when the first key is needed, and
// errors never contain credentials.
package awskms
