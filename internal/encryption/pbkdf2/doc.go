// Package pbkdf2 is the key provider pbkdf2: keys from a passphrase, or from another provider's key.
//
// Its metadata is the salt and the parameters, so that what was encrypted with others can still be decrypted.
//
// Invariants: each encryption key has a new salt; parameters that come out of a file are bounded, as deriving a key takes time.
package pbkdf2
