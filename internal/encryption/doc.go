// Package encryption builds codecs for states, plans and remote states from the encryption block.
//
// [Load] returns a [Config] for the configuration's encryption blocks and the TF_ENCRYPTION
// variable. A [Target] encrypts with its method and decrypts with that method or one of its
// fallbacks. Methods get keys from key providers. Key providers keep the metadata needed to find a
// key again (a salt, a wrapped key) beside the encrypted data. Key providers and methods are
// packages below this one; package all lists them.
//
//	config, err := encryption.Load(source)
//	…
//	if target := config.State(); target != nil { // nil: not encrypted
//		data, err = target.Encrypt(data)
//	}
//
// The file format is OpenTofu's, so that each program can read the other's files: JSON with the
// metadata by key provider, the encrypted bytes, and for a state the serial and lineage in clear
// text.
//
// Invariants: if a method is configured, nothing is written in clear text and nothing in clear text
// is accepted, unless the method or a fallback is "unencrypted"; the encryption key of a target is
// chosen once per process, and is one of the data read before if a key provider allows that; unused
// key providers and methods are not evaluated; errors never contain secrets.
package encryption
