package aesgcm_test

import (
	"bytes"
	"strings"
	"testing"

	"tofu/internal/encryption"
	"tofu/internal/encryption/aesgcm"
)

func open(t *testing.T, aad ...int) encryption.Method {
	t.Helper()
	m, err := aesgcm.Driver.Open(&aesgcm.Config{AAD: aad})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDecrypt checks that encrypted data can be decrypted only with the same key and additional
// data, and that modified data is refused.
func TestDecrypt(t *testing.T) {
	key := func(size int, first byte) []byte { return append([]byte{first}, make([]byte, size-1)...) }
	plain := []byte("secret text")
	for _, size := range []int{16, 24, 32} {
		sealed, err := open(t, 1, 2).Encrypt(t.Context(), plain, encryption.Keys{Encryption: key(size, 7)})
		if err != nil || bytes.Contains(sealed, plain) {
			t.Fatalf("%d bytes: %q, %v", size, sealed, err)
		}
		again, err := open(t, 1, 2).Encrypt(t.Context(), plain, encryption.Keys{Encryption: key(size, 7)})
		if err != nil || bytes.Equal(sealed, again) {
			t.Errorf("%d bytes: the same text twice, %v", size, err)
		}
		changed := bytes.Clone(sealed)
		changed[len(changed)-1] ^= 1
		for name, test := range map[string]struct {
			method encryption.Method
			data   []byte
			key    []byte
			err    string
		}{
			"works":           {open(t, 1, 2), sealed, key(size, 7), ""},
			"another key":     {open(t, 1, 2), sealed, key(size, 8), `the key or "aad" is wrong, or the data was changed`},
			"other data":      {open(t, 1), sealed, key(size, 7), `the key or "aad" is wrong, or the data was changed`},
			"changed":         {open(t, 1, 2), changed, key(size, 7), `the key or "aad" is wrong, or the data was changed`},
			"truncated":       {open(t, 1, 2), sealed[:11], key(size, 7), "the encrypted data is truncated"},
			"no key":          {open(t, 1, 2), sealed, nil, "there is no key"},
			"key of 31 bytes": {open(t, 1, 2), sealed, key(31, 7), "16, 24 or 32 bytes"},
		} {
			got, err := test.method.Decrypt(t.Context(), test.data, encryption.Keys{Decryption: test.key})
			switch {
			case test.err == "" && (err != nil || !bytes.Equal(got, plain)):
				t.Errorf("%s, %d bytes: %q, %v", name, size, got, err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("%s, %d bytes: error %v, want %s", name, size, err, test.err)
			}
		}
	}
}

func TestAdditionalData(t *testing.T) {
	for _, n := range []int{-1, 256} {
		if _, err := aesgcm.Driver.Open(&aesgcm.Config{AAD: []int{n}}); err == nil {
			t.Errorf("%d is accepted", n)
		}
	}
}
