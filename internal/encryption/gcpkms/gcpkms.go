package gcpkms

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
	"tofu/internal/gcpauth"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// Config is the configuration of the key_provider block.
type Config struct {
	gcpauth.Config
	Key       string `cfg:"kms_encryption_key,required" env:"GOOGLE_KMS_ENCRYPTION_KEY"`
	KeyLength int    `cfg:"key_length,required"`
	Data      string `cfg:"additional_authenticated_data"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"kms_encryption_key": "The key: projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY.",
		"key_length":         "Number of bytes of the data key, from 1 to 1024.",
		"additional_authenticated_data": "Base64 text that the service authenticates with the key. " +
			"Decrypting needs the same text.",
	}
}

// keyName matches names of keys.
var keyName = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)

// Check implements blocks.Checker.
func (c *Config) Check() error {
	if !keyName.MatchString(c.Key) {
		return blocks.Invalid([]string{"kms_encryption_key"}, "it must have the form "+
			"projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY")
	}
	if c.KeyLength < 1 || c.KeyLength > 1024 {
		return blocks.Invalid([]string{"key_length"}, "it must be from 1 to 1024")
	}
	if _, err := base64.StdEncoding.DecodeString(c.Data); err != nil {
		return blocks.Invalid([]string{"additional_authenticated_data"}, "it must be text in Base64, as the function "+
			"base64encode returns it")
	}
	return nil
}

// Driver is the driver of the key provider gcp_kms.
var Driver = encryption.NewKeyDriver("gcp_kms", func(c *Config) (encryption.KeyProvider, error) {
	data, err := base64.StdEncoding.DecodeString(c.Data)
	if err != nil {
		return nil, err
	}
	client := httpclient.New(httpclient.Options{})
	sign := c.Source("https://www.googleapis.com/auth/cloudkms", "", client).Sign
	return &provider{config: *c, data: data, api: restapi.Client{HTTP: client, Sign: sign}}, nil
})

type provider struct {
	config Config
	data   []byte // additional authenticated data
	api    restapi.Client
}

// metadata is the data that is needed to find a key again. It is stored with the encrypted data.
type metadata struct {
	Ciphertext []byte `json:"ciphertext"`
}

// Keys implements encryption.KeyProvider.
func (p *provider) Keys(ctx context.Context, stored []byte, _ encryption.Keys) (encryption.Keys, []byte, error) {
	if stored == nil {
		key := make([]byte, p.config.KeyLength)
		if _, err := rand.Read(key); err != nil {
			return encryption.Keys{}, nil, err
		}
		ciphertext, err := p.encrypt(ctx, key)
		if err != nil {
			return encryption.Keys{}, nil, fmt.Errorf("encrypting the data key: %w", err)
		}
		meta, err := json.Marshal(metadata{ciphertext})
		return encryption.Keys{Encryption: key}, meta, err
	}
	var meta metadata
	if err := json.Unmarshal(stored, &meta); err != nil || len(meta.Ciphertext) == 0 {
		return encryption.Keys{}, nil, errors.New("its metadata is damaged")
	}
	key, err := p.decrypt(ctx, meta.Ciphertext)
	if err != nil {
		return encryption.Keys{}, nil, fmt.Errorf("decrypting the data key: %w", err)
	}
	return encryption.Keys{Decryption: key, Reuse: encryption.ReuseOf(key, p.config.KeyLength)}, nil, nil
}

// message holds the parameters and the results of the service's operations. Each checksum field is
// the checksum of the field before it. The service verifies the checksums in requests.
type message struct {
	Plaintext     []byte `json:"plaintext,omitempty"`
	PlaintextSum  string `json:"plaintextCrc32c,omitempty"`
	Ciphertext    []byte `json:"ciphertext,omitempty"`
	CiphertextSum string `json:"ciphertextCrc32c,omitempty"`
	Data          []byte `json:"additionalAuthenticatedData,omitempty"`
	DataSum       string `json:"additionalAuthenticatedDataCrc32c,omitempty"`
}

func checksum(data []byte) string {
	return strconv.FormatUint(uint64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))), 10)
}

var errDamaged = errors.New("the response from the service was damaged in transit: its checksum doesn't match")

func (p *provider) encrypt(ctx context.Context, key []byte) ([]byte, error) {
	out, err := p.call(ctx, "encrypt", &message{Plaintext: key, PlaintextSum: checksum(key)})
	switch {
	case err != nil:
		return nil, err
	case len(out.Ciphertext) == 0:
		return nil, errors.New("the response from the service has no encrypted key")
	case out.CiphertextSum != "" && out.CiphertextSum != checksum(out.Ciphertext):
		return nil, errDamaged
	}
	return out.Ciphertext, nil
}

func (p *provider) decrypt(ctx context.Context, ciphertext []byte) ([]byte, error) {
	out, err := p.call(ctx, "decrypt", &message{Ciphertext: ciphertext, CiphertextSum: checksum(ciphertext)})
	switch {
	case err != nil:
		return nil, err
	case len(out.Plaintext) == 0:
		return nil, errors.New("the response from the service has no key")
	case out.PlaintextSum != "" && out.PlaintextSum != checksum(out.Plaintext):
		return nil, errDamaged
	}
	return out.Plaintext, nil
}

// call performs an operation with the key.
func (p *provider) call(ctx context.Context, operation string, q *message) (*message, error) {
	if len(p.data) > 0 {
		q.Data, q.DataSum = p.data, checksum(p.data)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	to := &url.URL{
		Scheme: "https", Host: "cloudkms." + gcpauth.DefaultUniverse, Path: "/v1/" + p.config.Key + ":" + operation,
	}
	resp, err := p.api.Do(ctx, &restapi.Request{Method: http.MethodPost, URL: to, Body: body,
		Header: http.Header{"Content-Type": {"application/json"}}})
	if err != nil {
		return nil, err
	}
	switch err := gcpauth.Failure(resp); resp.Status {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fmt.Errorf("there is no key %s: %w", p.config.Key, err)
	case http.StatusForbidden:
		return nil, fmt.Errorf("the credentials don't permit encryption and decryption with the key %s, or there is "+
			"no such key; they need the role \"Cloud KMS CryptoKey Encrypter/Decrypter\": %w", p.config.Key, err)
	case http.StatusUnauthorized:
		return nil, fmt.Errorf("the credentials are not valid, or have expired: %w", err)
	default:
		return nil, err
	}
	out := new(message)
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return nil, fmt.Errorf("invalid response from the service: %w", err)
	}
	return out, nil
}
