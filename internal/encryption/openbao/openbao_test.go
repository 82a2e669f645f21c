package openbao_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tofu/internal/encryption"
	"tofu/internal/encryption/openbao"
	"tofu/internal/testenv/keytest"
)

// transit is a server with the API of a transit engine. It wraps keys by inverting their bits and
// prepending a hash of the associated data.
func transit(w http.ResponseWriter, r *http.Request) {
	fail := func(status int, text string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"errors": []string{text}})
	}
	if r.Header.Get("X-Vault-Token") != "token" {
		fail(http.StatusForbidden, "permission denied")
		return
	}
	var q struct {
		Bits           int
		Ciphertext     string
		AssociatedData []byte `json:"associated_data"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		fail(http.StatusBadRequest, err.Error())
		return
	}
	turn := func(b []byte) []byte {
		out := bytes.Clone(b)
		for i := range out {
			out[i] = ^out[i]
		}
		return out
	}
	tag := sha256.Sum256(q.AssociatedData)
	data := map[string]any{}
	switch r.Method + " " + r.URL.Path {
	case "PUT /v1/transit/datakey/plaintext/k":
		key := bytes.Repeat([]byte("k"), q.Bits/8)
		data["plaintext"], data["ciphertext"] = key,
			"vault:v1:"+base64.StdEncoding.EncodeToString(append(tag[:], turn(key)...))
	case "PUT /v1/transit/decrypt/k":
		wrapped, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(q.Ciphertext, "vault:v1:"))
		wrapped, ok := bytes.CutPrefix(wrapped, tag[:])
		if err != nil || !ok {
			fail(http.StatusBadRequest, "cipher: message authentication failed")
			return
		}
		data["plaintext"] = turn(wrapped)
	default:
		fail(http.StatusNotFound, "no handler for route "+r.URL.Path)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

func open(t *testing.T, change func(*openbao.Config)) encryption.KeyProvider {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(transit))
	t.Cleanup(srv.Close)
	c := &openbao.Config{KeyName: "k", Token: "token", Address: srv.URL, Path: "/transit", KeyLength: 32}
	if change != nil {
		change(c)
	}
	p, err := openbao.Driver.Open(c, false)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKeys(t *testing.T) {
	keytest.Run(t, func(t *testing.T) encryption.KeyProvider { return open(t, nil) })
}

// TestAssociatedData checks that a key can be decrypted only with its associated data.
func TestAssociatedData(t *testing.T) {
	with := func(data string) encryption.KeyProvider {
		return open(t, func(c *openbao.Config) { c.Data = base64.StdEncoding.EncodeToString([]byte(data)) })
	}
	made, meta, err := with("prod").Keys(t.Context(), nil, encryption.Keys{})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := with("prod").Keys(t.Context(), meta, encryption.Keys{})
	if err != nil || !bytes.Equal(got.Decryption, made.Encryption) {
		t.Errorf("got %x, %v", got.Decryption, err)
	}
	for _, other := range []string{"", "test"} {
		_, _, err := with(other).Keys(t.Context(), meta, encryption.Keys{})
		if err == nil || !strings.Contains(err.Error(), "authentication failed") {
			t.Errorf("with %q: %v", other, err)
		}
	}
	c := &openbao.Config{KeyName: "k", Address: "http://127.0.0.1:1", KeyLength: 32, Data: "not Base64"}
	if _, err := openbao.Driver.Open(c, false); err == nil || !strings.Contains(err.Error(), "associated_data") {
		t.Error(err)
	}
}

func TestFailures(t *testing.T) {
	for want, change := range map[string]func(*openbao.Config){
		"403 Forbidden; permission denied":                  func(c *openbao.Config) { c.Token = "hunter2" },
		"no handler for route /v1/other/datakey":            func(c *openbao.Config) { c.Path = "other" },
		"creating a data key: Put \"http://127.0.0.1:1/v1/": func(c *openbao.Config) { c.Address = "http://127.0.0.1:1" },
	} {
		_, _, err := open(t, change).Keys(t.Context(), nil, encryption.Keys{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
