package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
)

// KeyConfig is the configuration of the key_provider block.
type KeyConfig struct {
	Command []string `cfg:"command,required"`
}

// Docs implements blocks.Documented.
func (*KeyConfig) Docs() blocks.Docs {
	return blocks.Docs{
		"command": "The program and its arguments.",
	}
}

// KeyDriver is the driver of the key provider external.
var KeyDriver = encryption.NewKeyDriver("external", func(c *KeyConfig) (encryption.KeyProvider, error) {
	return &keyProvider{c.Command}, checkCommand("command", c.Command)
})

type keyProvider struct{ command []string }

const keyMagic = "OpenTofu-External-Key-Provider"

// Keys implements encryption.KeyProvider.
func (p *keyProvider) Keys(ctx context.Context, stored []byte, _ encryption.Keys) (encryption.Keys, []byte, error) {
	request := json.RawMessage("null")
	if stored != nil {
		var known map[string]json.RawMessage
		if json.Unmarshal(stored, &known) != nil {
			return encryption.Keys{}, nil, errors.New("its metadata is damaged")
		}
		request = stored
	}
	var response struct {
		Keys struct {
			Encryption []byte `json:"encryption_key"`
			Decryption []byte `json:"decryption_key"`
		} `json:"keys"`
		Meta struct {
			Data map[string]any `json:"external_data"`
		} `json:"meta"`
	}
	if err := call(ctx, p.command, keyMagic, request, &response); err != nil {
		return encryption.Keys{}, nil, err
	}
	switch {
	case stored == nil && len(response.Keys.Encryption) == 0:
		return encryption.Keys{}, nil, fmt.Errorf("the program %s returned no encryption_key", p.command[0])
	case stored != nil && len(response.Keys.Decryption) == 0:
		return encryption.Keys{}, nil, fmt.Errorf("the program %s returned no decryption_key", p.command[0])
	}
	if response.Meta.Data == nil {
		response.Meta.Data = map[string]any{}
	}
	meta, err := json.Marshal(response.Meta)
	return encryption.Keys{Encryption: response.Keys.Encryption, Decryption: response.Keys.Decryption}, meta, err
}
