package aesgcm

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
)

// Config holds the arguments of a method "aes_gcm" block, except "keys".
type Config struct {
	AAD []int `cfg:"aad"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"aad": "Additional authenticated data: bytes that must be the same when decrypting.",
	}
}

// Driver is the driver of the method aes_gcm.
var Driver = encryption.NewMethodDriver("aes_gcm", encryption.RequiredKeys, func(c *Config) (encryption.Method, error) {
	m := &method{}
	for _, n := range c.AAD {
		if n < 0 || n > 255 {
			return nil, errors.New("\"aad\" must be a list of bytes: numbers from 0 to 255")
		}
		m.aad = append(m.aad, byte(n))
	}
	return m, nil
})

type method struct{ aad []byte }

// CheckKeySize implements encryption.SizedMethod.
func (m *method) CheckKeySize(bytes int) error {
	switch bytes {
	case 16, 24, 32:
		return nil
	case 0:
		return errors.New("there is no key")
	}
	return fmt.Errorf("the length of the key must be 16, 24 or 32 bytes, not %d", bytes)
}

func (m *method) newCipher(key []byte) (cipher.AEAD, error) {
	if err := m.CheckKeySize(len(key)); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Encrypt implements encryption.Method.
func (m *method) Encrypt(_ context.Context, plain []byte, keys encryption.Keys) ([]byte, error) {
	gcm, err := m.newCipher(keys.Encryption)
	if err != nil {
		return nil, err
	}
	out := make([]byte, gcm.NonceSize(), gcm.NonceSize()+len(plain)+gcm.Overhead())
	if _, err := rand.Read(out); err != nil {
		return nil, err
	}
	return gcm.Seal(out, out, plain, m.aad), nil
}

// Decrypt implements encryption.Method.
func (m *method) Decrypt(_ context.Context, data []byte, keys encryption.Keys) ([]byte, error) {
	gcm, err := m.newCipher(keys.Decryption)
	if err != nil {
		return nil, err
	}
	if len(data) < gcm.NonceSize() {
		return nil, errors.New("the encrypted data is truncated")
	}
	plain, err := gcm.Open(nil, data[:gcm.NonceSize()], data[gcm.NonceSize():], m.aad)
	if err != nil {
		return nil, errors.New("the key or \"aad\" is wrong, or the data was changed")
	}
	return plain, nil
}
