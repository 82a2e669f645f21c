// Package aesgcm implements the encryption method aes_gcm: AES in Galois/Counter Mode with a random
// nonce in front of the encrypted bytes.
//
// Invariants: each encryption uses a new nonce; modified data is not decrypted.
package aesgcm
