package azuretest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// vault is a key vault. Each key has versions, and the last version is the current one. Keys whose
// names start with "aes" are symmetric.
type vault struct {
	keys map[string][]any // versions by key name: *rsa.PrivateKey or []byte
}

// Rotate adds a version to a key in a vault. It creates the key if necessary. A key with a name
// such as "aes256" is a symmetric key of that number of bits. All other keys are RSA keys.
func (s *Server) Rotate(host, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vaults[host] == nil {
		s.vaults[host] = &vault{keys: make(map[string][]any)}
	}
	var key any
	var bits int
	if n, _ := fmt.Sscanf(name, "aes%d", &bits); n == 1 {
		secret := make([]byte, bits/8)
		_, _ = rand.Read(secret)
		key = secret
	} else {
		secret, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return err
		}
		key = secret
	}
	s.vaults[host].keys[name] = append(s.vaults[host].keys[name], key)
	return nil
}

// parameters are the parameters and results of the operations encrypt and decrypt. Binary values
// are encoded in URL-safe Base64.
type parameters struct {
	KeyID string `json:"kid,omitempty"`
	Alg   string `json:"alg,omitempty"`
	Value string `json:"value"`
	IV    string `json:"iv,omitempty"`
	Tag   string `json:"tag,omitempty"`
	AAD   string `json:"aad,omitempty"`
}

func (s *Server) vault(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, id, text string) {
		answer(w, status, map[string]any{"error": map[string]string{"code": id, "message": text}})
	}
	_, resource, _ := strings.Cut(r.Host, ".")
	resource = "https://" + resource
	if problem := s.checkToken(r, resource); problem != "" {
		w.Header().Set("WWW-Authenticate",
			fmt.Sprintf(`Bearer authorization="https://login.microsoftonline.com/%s", resource="%s"`, Tenant, resource))
		refuse(http.StatusUnauthorized, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token: "+problem)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // keys, name, version, operation
	var q parameters
	err := json.NewDecoder(r.Body).Decode(&q)
	if err != nil || r.URL.Query().Get("api-version") == "" || len(path) < 3 {
		refuse(http.StatusBadRequest, "BadParameter", "The request is not valid.")
		return
	}
	name, operation := path[1], path[len(path)-1]
	var versions []any
	if v := s.vaults[r.Host]; v != nil {
		versions = v.keys[name]
	}
	version := len(versions)
	if len(path) == 4 && path[2] != "" {
		_, _ = fmt.Sscanf(path[2], "%032d", &version)
	}
	if version < 1 || version > len(versions) {
		refuse(http.StatusNotFound, "KeyNotFound", "A key with (name/id) "+name+" was not found in this key vault.")
		return
	}
	out, err := compute(versions[version-1], operation, q)
	if err != nil {
		refuse(http.StatusBadRequest, "BadParameter", err.Error())
		return
	}
	out.KeyID = fmt.Sprintf("https://%s/keys/%s/%032d", r.Host, name, version)
	answer(w, http.StatusOK, out)
}

func compute(key any, operation string, q parameters) (out parameters, err error) {
	decode := func(text string) []byte {
		data, derr := base64.RawURLEncoding.DecodeString(text)
		if derr != nil {
			err = derr
		}
		return data
	}
	encode := base64.RawURLEncoding.EncodeToString
	value, iv, tag, aad := decode(q.Value), decode(q.IV), decode(q.Tag), decode(q.AAD)
	if err != nil {
		return out, fmt.Errorf("invalid Base64: %w", err)
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		if q.Alg != "RSA-OAEP-256" {
			return out, fmt.Errorf("operation is not allowed: algorithm %s for a key of type RSA", q.Alg)
		}
		var result []byte
		if operation == "encrypt" {
			result, err = rsa.EncryptOAEP(sha256.New(), rand.Reader, &key.PublicKey, value, nil)
		} else {
			result, err = rsa.DecryptOAEP(sha256.New(), nil, key, value, nil)
		}
		return parameters{Value: encode(result)}, err
	case []byte:
		if q.Alg != fmt.Sprintf("A%dGCM", 8*len(key)) {
			return out, fmt.Errorf("operation is not allowed: algorithm %s for a key of %d bits", q.Alg, 8*len(key))
		}
		return computeGCM(key, operation, value, iv, tag, aad)
	}
	return out, fmt.Errorf("no such operation: %s", operation)
}

func computeGCM(key []byte, operation string, value, iv, tag, aad []byte) (out parameters, err error) {
	encode := base64.RawURLEncoding.EncodeToString
	block, err := aes.NewCipher(key)
	if err != nil {
		return out, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return out, err
	}
	if operation == "encrypt" {
		iv = make([]byte, gcm.NonceSize())
		_, _ = rand.Read(iv)
		sealed := gcm.Seal(nil, iv, value, aad)
		return parameters{Value: encode(sealed[:len(value)]), Tag: encode(sealed[len(value):]), IV: encode(iv),
			AAD: encode(aad)}, nil
	}
	if len(iv) != gcm.NonceSize() {
		return out, fmt.Errorf("the iv must have %d bytes", gcm.NonceSize())
	}
	plain, err := gcm.Open(nil, iv, append(value, tag...), aad)
	return parameters{Value: encode(plain)}, err
}
