package keytest

import (
	"bytes"
	"encoding/json"
	"testing"

	"tofu/internal/encryption"
)

// Run runs the suite. Each call of open returns a new provider, as a new process would have.
func Run(t *testing.T, open func(t *testing.T) encryption.KeyProvider) {
	t.Run("FindsItsKeys", func(t *testing.T) {
		for range 3 {
			made, meta, err := open(t).Keys(t.Context(), nil, encryption.Keys{})
			if err != nil || len(made.Encryption) == 0 {
				t.Fatalf("a new key has %d bytes, %v", len(made.Encryption), err)
			}
			if !json.Valid(meta) {
				t.Errorf("the metadata isn't JSON: %s", meta)
			}
			if bytes.Contains(meta, made.Encryption) {
				t.Error("the metadata has the key in it")
			}
			found, _, err := open(t).Keys(t.Context(), meta, encryption.Keys{})
			if err != nil || !bytes.Equal(found.Decryption, made.Encryption) {
				t.Errorf("the key isn't found again: %v", err)
			}
			if found.Outdated {
				t.Error("metadata that was just made is outdated")
			}
		}
	})
	t.Run("DamagedMetadata", func(t *testing.T) {
		for _, meta := range []string{"", "{", "[]", `"x"`} {
			if k, _, err := open(t).Keys(t.Context(), []byte(meta), encryption.Keys{}); err == nil && meta != "" {
				t.Errorf("the metadata %q leads to a key of %d bytes", meta, len(k.Decryption))
			}
		}
	})
}
