package encryption

import "context"

// Keys are what a key provider gives to a method. Each may be absent: nothing has been decrypted so far, or nothing is to be encrypted.
type Keys struct {
	Encryption []byte
	Decryption []byte
	// Outdated: the data's metadata isn't as the provider would write it now, so the data should be written anew.
	Outdated bool
}

// A KeyProvider makes and finds keys.
type KeyProvider interface {
	// Keys gives, without stored metadata, a new encryption key and the metadata to find it by; with it, the decryption key. chained
	// are the keys of the provider that this one is chained to.
	Keys(ctx context.Context, stored []byte, chained Keys) (k Keys, metadata []byte, err error)
}

// A KeySizer is a key provider that knows how long a key is before it makes it.
type KeySizer interface {
	// KeySize returns the number of bytes of the key that Keys would return for the stored metadata, 0 if it can't tell.
	KeySize(stored []byte) int
}

// A KeyDriver is one kind of key provider.
type KeyDriver struct {
	Name string
	// Config gives a new configuration in the form that package backend decodes.
	Config func() any
	// Chains: the provider takes its secret from another one if the argument "chain" says so.
	Chains bool
	// Open checks the configuration; chained tells whether there is another provider.
	Open func(config any, chained bool) (KeyProvider, error)
	// Unsupported is set for providers that are known by name alone: what to tell the user.
	Unsupported string
}

// NewKeyDriver makes a driver from a function that opens its provider.
func NewKeyDriver[C any](name string, chains bool, open func(config *C, chained bool) (KeyProvider, error)) *KeyDriver {
	return &KeyDriver{
		Name: name, Chains: chains, Config: func() any { return new(C) },
		Open: func(config any, chained bool) (KeyProvider, error) { return open(config.(*C), chained) },
	}
}

// A Method encrypts and decrypts with keys.
type Method interface {
	Encrypt(ctx context.Context, plain []byte, keys Keys) ([]byte, error)
	Decrypt(ctx context.Context, data []byte, keys Keys) ([]byte, error)
}

// A SizedMethod is a method that takes keys of some sizes only.
type SizedMethod interface {
	// CheckKeySize returns an error if the method takes no key of that many bytes.
	CheckKeySize(bytes int) error
}

// NeedsKeys says whether a method takes keys.
type NeedsKeys uint8

const (
	NoKeys NeedsKeys = iota
	OptionalKeys
	RequiredKeys
)

// A MethodDriver is one kind of method.
type MethodDriver struct {
	Name   string
	Keys   NeedsKeys
	Config func() any
	Open   func(config any) (Method, error)
}

// NewMethodDriver makes a driver from a function that opens its method.
func NewMethodDriver[C any](name string, keys NeedsKeys, open func(config *C) (Method, error)) *MethodDriver {
	return &MethodDriver{
		Name: name, Keys: keys, Config: func() any { return new(C) },
		Open: func(config any) (Method, error) { return open(config.(*C)) },
	}
}

// Registry has the drivers by name.
type Registry struct {
	KeyProviders map[string]*KeyDriver
	Methods      map[string]*MethodDriver
}

// Unencrypted is the method that does nothing. It allows clear text where it is named.
var Unencrypted = NewMethodDriver("unencrypted", NoKeys, func(*struct{}) (Method, error) { return nil, nil })
