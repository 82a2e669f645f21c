// Package encryption turns the encryption block into codecs for states, plans and the states of other configurations.
//
// A [Config] is made by [Load] from the configuration's encryption blocks and the TF_ENCRYPTION variable. A [Target] encrypts with its
// method and decrypts with that or one of its fallbacks. Methods take keys from key providers, which keep what they need to find a key
// again (a salt, a wrapped key) as metadata beside the encrypted data. Key providers and methods are packages below this one; package
// all lists them.
//
// The form of encrypted files is OpenTofu's, so that each program reads the other's: JSON with the metadata by key provider, the
// encrypted bytes, and of a state the serial and the lineage in clear text.
//
// Invariants: with a method configured, nothing leaves in clear text, and nothing in clear text is accepted, unless the method (or a
// fallback) is "unencrypted"; keys of a target are made once per process; only what a target uses is looked at; secrets appear in no
// error.
package encryption
