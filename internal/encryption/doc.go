// Package encryption builds codecs for states, plans and remote states from the encryption block.
//
// [Load] returns a [Config] for the configuration's encryption blocks and the TF_ENCRYPTION
// variable. A [Target] encrypts with its method and decrypts with that method or one of its
// fallbacks. Methods get keys from key providers. A key provider stores the metadata that it needs
// to find a key again (such as a salt or a wrapped key) with the encrypted data. Key providers and
// methods are packages below this one; package all lists them.
//
//	config, err := encryption.Load(source)
//	…
//	if target := config.State(); target != nil { // nil: not encrypted
//		data, err = target.Encrypt(data)
//	}
//
// The file format is OpenTofu's, so each program can read the other's files. It is a JSON object
// with the metadata, by key provider, and the encrypted bytes. For a state, it also has the serial
// and the lineage in clear text.
//
// Invariants: if a method is configured, nothing is written in clear text and nothing in clear text
// is accepted, unless the method or a fallback is "unencrypted". The encryption key of a target is
// chosen once per process. If a key provider allows it, this is a key of data that was read before.
// Unused key providers and methods are not evaluated. Errors never contain secrets.
package encryption
