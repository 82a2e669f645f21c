// Package aesgcm implements the encryption method aes_gcm: AES in Galois/Counter Mode with a random
// nonce in front of the encrypted bytes.
//
// A key may encrypt 2^32 times. The probability that two of its random nonces of 96 bits are equal
// then reaches 2^-33, which is below the limit of 2^-32 in NIST SP 800-38D. If a key provider lets
// several processes encrypt with the same key, the limit applies to all of them together. A process
// that writes one row of a state per second reaches it after more than a century. If the parameters
// or the passphrase of a key provider change, a new key is used.
//
// Invariants: each encryption uses a new nonce; modified data is refused.
package aesgcm
