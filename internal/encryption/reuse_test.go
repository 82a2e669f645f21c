package encryption_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// keyService starts a service that creates data keys. Their ciphertexts are the keys in Base64.
// decrypted is the number of keys that the service has decrypted.
func keyService(t *testing.T) (config string, decrypted *atomic.Int64) {
	decrypted = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Ciphertext string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		key := make([]byte, 32)
		if strings.Contains(r.URL.Path, "/decrypt/") {
			decrypted.Add(1)
			key, _ = base64.StdEncoding.DecodeString(q.Ciphertext)
		} else {
			_, _ = rand.Read(key)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{
			"plaintext": key, "ciphertext": base64.StdEncoding.EncodeToString(key)}})
	}))
	t.Cleanup(server.Close)
	return `
		key_provider "openbao" "main" {
			key_name = "k"
			token    = "token"
			address  = "` + server.URL + `"
		}
		method "aes_gcm" "main" {
			keys = key_provider.openbao.main
		}
		state {
			method = method.aes_gcm.main
		}`, decrypted
}

// TestKeysOfServices checks that a run creates a new data key, unless it has read data with many
// keys. So reading the data of many runs doesn't need a call of the service for each run.
func TestKeysOfServices(t *testing.T) {
	config, decrypted := keyService(t)
	const runs, most = 60, 16
	var rows [][]byte
	keys := map[string]bool{}
	for range runs {
		target := mustLoad(t, "", config).State()
		decrypted.Store(0)
		for _, data := range rows {
			if _, _, err := target.Decrypt(t.Context(), data); err != nil {
				t.Fatal(err)
			}
		}
		if n := decrypted.Load(); n != int64(len(keys)) || n > most {
			t.Fatalf("%d calls for %d rows with %d keys", n, len(rows), len(keys))
		}
		data, err := target.Encrypt([]byte(state))
		if err != nil {
			t.Fatal(err)
		}
		var w struct{ Meta json.RawMessage }
		if err := json.Unmarshal(data, &w); err != nil {
			t.Fatal(err)
		}
		rows, keys[string(w.Meta)] = append(rows, data), true
		if len(rows) <= most && len(keys) != len(rows) {
			t.Fatalf("run %d uses an old key", len(rows))
		}
	}
	if len(keys) != most {
		t.Errorf("%d runs have %d keys", runs, len(keys))
	}

	// Without the first rows, each of which has its own key, few keys are left, so a run creates a new
	// key.
	target := mustLoad(t, "", config).State()
	for _, data := range rows[most:] {
		if _, _, err := target.Decrypt(t.Context(), data); err != nil {
			t.Fatal(err)
		}
	}
	data, err := target.Encrypt([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	var w struct{ Meta json.RawMessage }
	if err := json.Unmarshal(data, &w); err != nil || keys[string(w.Meta)] {
		t.Errorf("an old key is used although few are left, %v", err)
	}
}
