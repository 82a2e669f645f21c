package pbkdf2

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"hash"

	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
)

const (
	minPassphrase = 16
	minIterations = 200_000
	maxLength     = 1 << 16
	// maxWork is the number of rounds of the hash function that the metadata of a file may require,
	// unless the configuration requires more. This many rounds take a few seconds.
	maxWork = 10_000_000
)

var hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}

// Config is the configuration of the key_provider block, without its chain.
type Config struct {
	Passphrase string `cfg:"passphrase,sensitive"`
	KeyLength  int    `cfg:"key_length" default:"32"`
	Iterations int    `cfg:"iterations" default:"600000"`
	SaltLength int    `cfg:"salt_length" default:"32"`
	Hash       string `cfg:"hash_function" default:"sha512"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"passphrase":    "A passphrase of 16 characters or more.",
		"key_length":    "Number of bytes of the key.",
		"iterations":    "Number of iterations, 200,000 or more.",
		"salt_length":   "Number of bytes of the salt.",
		"hash_function": "sha256 or sha512.",
	}
}

// Driver is the driver of the key provider pbkdf2.
var Driver = encryption.NewChainDriver("pbkdf2", open)

func open(c *Config, chained bool) (encryption.KeyProvider, error) {
	switch {
	case chained && c.Passphrase != "":
		return nil, errors.New("it has both a passphrase and a chain; keep one of them")
	case !chained && c.Passphrase == "":
		return nil, errors.New("it needs a passphrase, or a chain to another key provider")
	case !chained && len(c.Passphrase) < minPassphrase:
		return nil, fmt.Errorf("the passphrase is too short: at least %d characters are needed", minPassphrase)
	case c.Iterations < minIterations:
		return nil, fmt.Errorf("\"iterations\" must be %d or more", minIterations)
	case c.KeyLength < 1 || c.KeyLength > maxLength:
		return nil, fmt.Errorf("\"key_length\" must be between 1 and %d", maxLength)
	case c.SaltLength < 1 || c.SaltLength > maxLength:
		return nil, fmt.Errorf("\"salt_length\" must be between 1 and %d", maxLength)
	case hashes[c.Hash] == nil:
		return nil, errors.New("\"hash_function\" must be sha256 or sha512")
	}
	return &provider{config: *c}, nil
}

type provider struct{ config Config }

// metadata is the data that is needed to find a key again. It is stored with the encrypted data.
type metadata struct {
	Salt       []byte `json:"salt"`
	Iterations int    `json:"iterations"`
	Hash       string `json:"hash_function"`
	KeyLength  int    `json:"key_length"`
}

// Keys implements encryption.KeyProvider.
func (p *provider) Keys(ctx context.Context, stored []byte, chained encryption.Keys) (encryption.Keys, []byte, error) {
	secret := func(chained []byte) string {
		if p.config.Passphrase != "" {
			return p.config.Passphrase
		}
		return string(chained)
	}
	now := metadata{Iterations: p.config.Iterations, Hash: p.config.Hash, KeyLength: p.config.KeyLength}
	if stored == nil {
		now.Salt = make([]byte, p.config.SaltLength)
		if _, err := rand.Read(now.Salt); err != nil {
			return encryption.Keys{}, nil, err
		}
		key, err := now.derive(ctx, secret(chained.Encryption))
		if err != nil {
			return encryption.Keys{}, nil, err
		}
		meta, err := json.Marshal(now)
		return encryption.Keys{Encryption: key}, meta, err
	}
	var then metadata
	if err := json.Unmarshal(stored, &then); err != nil {
		return encryption.Keys{}, nil, fmt.Errorf("its metadata is damaged: %w", err)
	}
	if then.Iterations < 1 || then.KeyLength < 1 || then.KeyLength > maxLength || hashes[then.Hash] == nil {
		return encryption.Keys{}, nil, errors.New("its metadata is damaged: it has invalid parameters")
	}
	if then.work() > max(maxWork, now.work()) {
		return encryption.Keys{}, nil,
			fmt.Errorf("its metadata is damaged, or the key was created with %d iterations of %s and a length of %d "+
				"bytes, which exceeds the limits; to allow that, set the same iterations, hash_function and key_length "+
				"in the configuration", then.Iterations, then.Hash, then.KeyLength)
	}
	key, err := then.derive(ctx, secret(chained.Decryption))
	outdated := then.Iterations != now.Iterations || then.Hash != now.Hash || then.KeyLength != now.KeyLength ||
		len(then.Salt) != p.config.SaltLength
	reuse := encryption.ReuseAlways
	if outdated {
		reuse = encryption.ReuseNever
	}
	return encryption.Keys{Decryption: key, Outdated: outdated, Reuse: reuse}, nil, err
}

// KeySize implements encryption.KeySizer.
func (p *provider) KeySize(stored []byte) int {
	if stored == nil {
		return p.config.KeyLength
	}
	var then metadata
	if json.Unmarshal(stored, &then) != nil {
		return 0
	}
	return then.KeyLength
}

// work returns the number of rounds of the hash function needed to derive the key.
func (m *metadata) work() float64 {
	size := hashes[m.Hash]().Size()
	return float64(m.Iterations) * float64((m.KeyLength+size-1)/size)
}

// derive derives the key. If ctx is canceled, it returns at once, and the derivation continues in
// the background.
func (m *metadata) derive(ctx context.Context, secret string) ([]byte, error) {
	if secret == "" {
		return nil, errors.New("the key provider that it is chained to returned no key")
	}
	type result struct {
		key []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		key, err := pbkdf2.Key(hashes[m.Hash], secret, m.Salt, m.Iterations, m.KeyLength)
		done <- result{key, err}
	}()
	select {
	case r := <-done:
		return r.key, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
