package all

import (
	"tofu/internal/encryption"
	"tofu/internal/encryption/aesgcm"
	"tofu/internal/encryption/awskms"
	"tofu/internal/encryption/azurevault"
	"tofu/internal/encryption/external"
	"tofu/internal/encryption/gcpkms"
	"tofu/internal/encryption/openbao"
	"tofu/internal/encryption/pbkdf2"
)

var keyDrivers = []*encryption.KeyDriver{
	pbkdf2.Driver,
	external.KeyDriver,
	openbao.Driver,
	awskms.Driver,
	azurevault.Driver,
	gcpkms.Driver,
}

var methodDrivers = []*encryption.MethodDriver{
	aesgcm.Driver,
	external.MethodDriver,
	encryption.Unencrypted,
}

// Registry returns the drivers of all key providers and methods, by name.
func Registry() *encryption.Registry {
	r := &encryption.Registry{KeyProviders: make(map[string]*encryption.KeyDriver),
		Methods: make(map[string]*encryption.MethodDriver)}
	for _, d := range keyDrivers {
		r.KeyProviders[d.Name] = d
	}
	for _, d := range methodDrivers {
		r.Methods[d.Name] = d
	}
	return r
}
