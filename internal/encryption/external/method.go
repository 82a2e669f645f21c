package external

import (
	"context"
	"errors"

	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
)

// MethodConfig is the configuration of the method block, without its keys.
type MethodConfig struct {
	Encrypt []string `cfg:"encrypt_command,required"`
	Decrypt []string `cfg:"decrypt_command,required"`
}

// Docs implements blocks.Documented.
func (*MethodConfig) Docs() blocks.Docs {
	return blocks.Docs{
		"encrypt_command": "The program that encrypts and its arguments.",
		"decrypt_command": "The program that decrypts and its arguments.",
	}
}

// MethodDriver is the driver of the method external.
var MethodDriver = encryption.NewMethodDriver("external", encryption.OptionalKeys,
	func(c *MethodConfig) (encryption.Method, error) {
		return &method{*c}, errors.Join(checkCommand("encrypt_command", c.Encrypt), checkCommand("decrypt_command",
			c.Decrypt))
	})

type method struct{ config MethodConfig }

const methodMagic = "OpenTofu-External-Encryption-Method"

type request struct {
	Key     []byte `json:"key,omitempty"`
	Payload []byte `json:"payload"`
}

type response struct {
	Payload []byte `json:"payload"`
}

// Encrypt implements encryption.Method.
func (m *method) Encrypt(ctx context.Context, plain []byte, keys encryption.Keys) ([]byte, error) {
	var a response
	err := call(ctx, m.config.Encrypt, methodMagic, request{keys.Encryption, plain}, &a)
	if err == nil && len(a.Payload) == 0 {
		err = errors.New("the program " + m.config.Encrypt[0] + " returned no payload")
	}
	return a.Payload, err
}

// Decrypt implements encryption.Method.
func (m *method) Decrypt(ctx context.Context, data []byte, keys encryption.Keys) ([]byte, error) {
	var a response
	err := call(ctx, m.config.Decrypt, methodMagic, request{keys.Decryption, data}, &a)
	return a.Payload, err
}
