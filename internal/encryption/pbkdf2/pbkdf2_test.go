package pbkdf2_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tofu/internal/encryption"
	"tofu/internal/encryption/pbkdf2"
	"tofu/internal/testenv/keytest"
)

func config() *pbkdf2.Config {
	return &pbkdf2.Config{Passphrase: "a long enough passphrase", KeyLength: 32, Iterations: 200_000, SaltLength: 16,
		Hash: "sha256"}
}

func TestKeys(t *testing.T) {
	keytest.Run(t, func(t *testing.T) encryption.KeyProvider {
		p, err := pbkdf2.Driver.Open(config(), false)
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// TestHostileMetadata checks that the metadata of a file can't cause unlimited work.
func TestHostileMetadata(t *testing.T) {
	p, err := pbkdf2.Driver.Open(config(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range []string{
		`{"salt":"AA==","iterations":1000000000000,"hash_function":"sha256","key_length":32}`,
		`{"salt":"AA==","iterations":100000000,"hash_function":"sha512","key_length":32}`,
		`{"salt":"AA==","iterations":10000001,"hash_function":"sha256","key_length":32}`,
		`{"salt":"AA==","iterations":-1,"hash_function":"sha256","key_length":32}`,
		`{"salt":"AA==","iterations":1,"hash_function":"sha256","key_length":1000000000}`,
		`{"salt":"AA==","iterations":1,"hash_function":"md5","key_length":32}`,
		`{"salt":"AA==","iterations":9000000000000000000,"hash_function":"sha512","key_length":65536}`,
		`{"salt":"AA==","iterations":600000,"hash_function":"sha512","key_length":65536}`,
	} {
		if _, _, err := p.Keys(t.Context(), []byte(meta), encryption.Keys{}); err == nil ||
			!strings.Contains(err.Error(), "the limits") && !strings.Contains(err.Error(), "invalid parameters") {
			t.Errorf("%s: %v", meta, err)
		}
	}
}

// TestConfiguredWork checks that the configuration may require an unlimited amount of work.
func TestConfiguredWork(t *testing.T) {
	c := config()
	c.KeyLength, c.Iterations = 1<<16, 600_000
	p, err := pbkdf2.Driver.Open(c, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, _, err = p.Keys(ctx, []byte(`{"salt":"AA==","iterations":600000,"hash_function":"sha256","key_length":65536}`),
		encryption.Keys{})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
}

func TestChainWithoutKey(t *testing.T) {
	c := config()
	c.Passphrase = ""
	p, err := pbkdf2.Driver.Open(c, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Keys(t.Context(), nil, encryption.Keys{}); err == nil {
		t.Error("a key is made from nothing")
	}
	c.Passphrase = "a long enough passphrase"
	if _, err := pbkdf2.Driver.Open(c, true); err == nil {
		t.Error("a passphrase and a chain are accepted")
	}
}
