package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tofu/internal/encryption"
)

// KeyConfig is the configuration of the key_provider block.
type KeyConfig struct {
	Command []string `cfg:"command,required" doc:"The program and its arguments."`
}

// KeyDriver is the key provider.
var KeyDriver = encryption.NewKeyDriver("external", false, func(c *KeyConfig, _ bool) (encryption.KeyProvider, error) {
	return &keyProvider{c.Command}, checkCommand("command", c.Command)
})

type keyProvider struct{ command []string }

const keyMagic = "OpenTofu-External-Key-Provider"

// Keys implements encryption.KeyProvider.
func (p *keyProvider) Keys(ctx context.Context, stored []byte, _ encryption.Keys) (encryption.Keys, []byte, error) {
	question := json.RawMessage("null")
	if stored != nil {
		var known map[string]json.RawMessage
		if json.Unmarshal(stored, &known) != nil {
			return encryption.Keys{}, nil, errors.New("its metadata is damaged")
		}
		question = stored
	}
	var answer struct {
		Keys struct {
			Encryption []byte `json:"encryption_key"`
			Decryption []byte `json:"decryption_key"`
		} `json:"keys"`
		Meta struct {
			Data map[string]any `json:"external_data"`
		} `json:"meta"`
	}
	if err := ask(ctx, p.command, keyMagic, question, &answer); err != nil {
		return encryption.Keys{}, nil, err
	}
	if stored == nil && len(answer.Keys.Encryption) == 0 || stored != nil && len(answer.Keys.Decryption) == 0 {
		return encryption.Keys{}, nil, fmt.Errorf("the program %s returned no key", p.command[0])
	}
	if answer.Meta.Data == nil {
		answer.Meta.Data = map[string]any{}
	}
	meta, err := json.Marshal(answer.Meta)
	return encryption.Keys{Encryption: answer.Keys.Encryption, Decryption: answer.Keys.Decryption}, meta, err
}
