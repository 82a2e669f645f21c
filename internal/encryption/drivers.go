package encryption

import "context"

// Keys are the keys that a key provider returns to a method. Decryption is nil if no encrypted data
// has been read yet. Encryption is nil if nothing is to be encrypted.
type Keys struct {
	Encryption []byte
	Decryption []byte
	// Outdated reports that the provider's metadata for new data would differ, so the data should
	// be rewritten.
	Outdated bool
	// Reuse says when the decryption key and its metadata are also used to encrypt, instead of a
	// new key. This limits the number of different keys in data that many processes have written.
	Reuse Reuse
}

// Reuse says when a key that was used to decrypt data is also used to encrypt.
type Reuse int

// The lowest value of the key providers in a chain applies.
const (
	ReuseNever  Reuse = iota
	ReuseIfMany       // if the data read so far has many keys, because finding each key requires a call of a service
	ReuseAlways
)

// ReuseOf returns the Reuse of a data key that a service has decrypted. length is the configured
// length of data keys in bytes. Keys of another length are not reused.
func ReuseOf(key []byte, length int) Reuse {
	if len(key) != length {
		return ReuseNever
	}
	return ReuseIfMany
}

// A KeyProvider creates and finds keys.
type KeyProvider interface {
	// Keys returns a new encryption key and its metadata if stored is nil, or else the decryption
	// key for the stored metadata. chained holds the keys of the provider that this provider is
	// chained to.
	Keys(ctx context.Context, stored []byte, chained Keys) (k Keys, metadata []byte, err error)
}

// A KeySizer is a key provider that knows the size of a key in advance.
type KeySizer interface {
	// KeySize returns the number of bytes of the key that Keys would return for the stored
	// metadata, or 0 if unknown.
	KeySize(stored []byte) int
}

// A KeyDriver is a kind of key provider.
type KeyDriver struct {
	Name string
	// Config returns a pointer to a new configuration, into which package blocks decodes the
	// arguments.
	Config func() any
	// Chains reports whether the argument "chain" can name another provider as the source of the
	// secret.
	Chains bool
	// Open checks the configuration and returns the provider. chained reports whether it is chained
	// to another provider.
	Open func(config any, chained bool) (KeyProvider, error)
}

// NewKeyDriver returns a driver whose providers are opened by a function and can't be chained to
// another provider.
func NewKeyDriver[C any](name string, open func(config *C) (KeyProvider, error)) *KeyDriver {
	return &KeyDriver{
		Name: name, Config: func() any { return new(C) },
		Open: func(config any, _ bool) (KeyProvider, error) { return open(config.(*C)) },
	}
}

// NewChainDriver returns a driver whose providers are opened by a function and can be chained to
// another provider.
func NewChainDriver[C any](name string, open func(config *C, chained bool) (KeyProvider, error)) *KeyDriver {
	return &KeyDriver{
		Name: name, Chains: true, Config: func() any { return new(C) },
		Open: func(config any, chained bool) (KeyProvider, error) { return open(config.(*C), chained) },
	}
}

// A Method encrypts and decrypts with keys.
type Method interface {
	Encrypt(ctx context.Context, plain []byte, keys Keys) ([]byte, error)
	Decrypt(ctx context.Context, data []byte, keys Keys) ([]byte, error)
}

// A SizedMethod is a method that accepts only certain key sizes.
type SizedMethod interface {
	// CheckKeySize returns an error if the method doesn't accept keys with this number of bytes.
	CheckKeySize(bytes int) error
}

// NeedsKeys states whether a method requires keys.
type NeedsKeys uint8

const (
	NoKeys NeedsKeys = iota
	OptionalKeys
	RequiredKeys
)

// A MethodDriver is a kind of method.
type MethodDriver struct {
	Name   string
	Keys   NeedsKeys
	Config func() any
	Open   func(config any) (Method, error)
}

// NewMethodDriver returns a driver whose methods are opened by a function.
func NewMethodDriver[C any](name string, keys NeedsKeys, open func(config *C) (Method, error)) *MethodDriver {
	return &MethodDriver{
		Name: name, Keys: keys, Config: func() any { return new(C) },
		Open: func(config any) (Method, error) { return open(config.(*C)) },
	}
}

// Registry holds the drivers of key providers and methods by name.
type Registry struct {
	KeyProviders map[string]*KeyDriver
	Methods      map[string]*MethodDriver
}

// Unencrypted is the method that does not encrypt. Targets that use it accept clear text.
var Unencrypted = NewMethodDriver("unencrypted", NoKeys, func(*struct{}) (Method, error) { return nil, nil })
