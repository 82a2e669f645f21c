// Package pbkdf2 implements the key provider pbkdf2: keys derived from a passphrase, or from
// another provider's key.
//
// The metadata is the salt and the parameters, so data that was encrypted with other parameters can
// still be decrypted.
//
// Invariants: each new encryption key has a new salt; a key that was found for stored metadata may
// be used to encrypt again only if the metadata has the configured parameters; parameters from a
// file are limited, because deriving a key takes time.
package pbkdf2
