package external_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tofu/internal/encryption"
	"tofu/internal/encryption/external"
	"tofu/internal/testenv/keytest"
)

// TestMain lets the test binary act as a key provider.
func TestMain(m *testing.M) {
	role := os.Getenv("EXTERNAL_TEST_PROGRAM")
	if role == "" {
		os.Exit(m.Run())
	}
	var input any
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		os.Exit(1)
	}
	keys := map[string]any{}
	if role != "keyless" {
		keys["encryption_key"] = []byte("0123456789abcdef")
		if input != nil {
			keys["decryption_key"] = keys["encryption_key"]
		}
	}
	version := 1
	if role == "newer" {
		version = 2
	}
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(map[string]any{"magic": "OpenTofu-External-Key-Provider", "version": version})
	if role == "garbled" {
		os.Stdout.WriteString("what?")
		return
	}
	_ = out.Encode(map[string]any{"keys": keys, "meta": map[string]any{"external_data": map[string]any{"id": "7"}}})
}

func open(t *testing.T) encryption.KeyProvider {
	p, err := external.KeyDriver.Open(&external.KeyConfig{Command: []string{os.Args[0], "x"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKeys(t *testing.T) {
	t.Setenv("EXTERNAL_TEST_PROGRAM", "keys")
	keytest.Run(t, open)
}

func TestMetadata(t *testing.T) {
	t.Setenv("EXTERNAL_TEST_PROGRAM", "keys")
	_, meta, err := open(t).Keys(t.Context(), nil, encryption.Keys{})
	if err != nil || string(meta) != `{"external_data":{"id":"7"}}` {
		t.Errorf("%s, %v", meta, err)
	}
}

func TestBadPrograms(t *testing.T) {
	for role, want := range map[string]string{
		"keyless": "returned no encryption_key",
		"newer":   "uses version 2 of the protocol",
		"garbled": "returned an invalid response after the first line",
	} {
		t.Setenv("EXTERNAL_TEST_PROGRAM", role)
		if _, _, err := open(t).Keys(t.Context(), nil, encryption.Keys{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", role, err)
		}
	}
}
