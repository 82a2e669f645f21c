// Package aesgcm is the encryption method aes_gcm: AES in Galois/Counter Mode with a random nonce in front of the encrypted bytes.
//
// Invariants: the nonce is new for each encryption; data that was changed isn't decrypted.
package aesgcm
