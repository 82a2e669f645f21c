// Package aesgcm implements the encryption method aes_gcm: AES in Galois/Counter Mode with a random
// nonce in front of the encrypted bytes.
//
// A key may encrypt 2^32 times: then the probability that two of its random nonces of 96 bits are
// equal reaches 2^-33, below the limit of 2^-32 in NIST SP 800-38D. Key providers that let later
// processes encrypt with a key again share that number among them. The rows of a state stay below it
// for a century at one written row per second. Other parameters of the key provider, or another
// passphrase, start a new key.
//
// Invariants: each encryption uses a new nonce; modified data is not decrypted.
package aesgcm
