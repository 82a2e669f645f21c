package openbao

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
	"tofu/internal/httpclient"
	"tofu/internal/limits"
)

// Config is the configuration of the key_provider block.
type Config struct {
	KeyName   string `cfg:"key_name,required"`
	Token     string `cfg:"token,sensitive" env:"BAO_TOKEN"`
	Address   string `cfg:"address" env:"BAO_ADDR" default:"https://127.0.0.1:8200"`
	Path      string `cfg:"transit_engine_path" default:"/transit"`
	KeyLength int    `cfg:"key_length" default:"32"`
	Data      string `cfg:"associated_data"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"key_name":            "The transit key that wraps the data key.",
		"token":               "The token for the server.",
		"address":             "The server's address.",
		"transit_engine_path": "The path where the transit engine is mounted.",
		"key_length":          "Number of bytes of the key: 16, 32 or 64.",
		"associated_data": "Base64 text that the server authenticates with the key. Decrypting needs " +
			"the same text.",
	}
}

// Driver is the driver of the key provider openbao.
var Driver = encryption.NewKeyDriver("openbao", func(c *Config) (encryption.KeyProvider, error) {
	u, err := url.Parse(c.Address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("\"address\" must be a URL with a host, such as https://bao.example.com:8200")
	case c.KeyLength != 16 && c.KeyLength != 32 && c.KeyLength != 64:
		return nil, errors.New("\"key_length\" must be 16, 32 or 64")
	}
	if _, err := base64.StdEncoding.DecodeString(c.Data); err != nil {
		return nil, fmt.Errorf("\"associated_data\" must be text in Base64, as the function base64encode "+
			"returns it: %w", err)
	}
	return &provider{config: *c, engine: u.JoinPath("v1", c.Path), http: httpclient.New(httpclient.Options{})}, nil
})

type provider struct {
	config Config
	engine *url.URL
	http   *httpclient.Client
}

// request is a request to the transit engine.
type request struct {
	Bits           int    `json:"bits,omitempty"`
	Ciphertext     string `json:"ciphertext,omitempty"`
	AssociatedData string `json:"associated_data,omitempty"`
}

// metadata is the data that is needed to find a key again. It is stored with the encrypted data.
type metadata struct {
	Ciphertext []byte `json:"ciphertext"`
}

// Keys implements encryption.KeyProvider.
func (p *provider) Keys(ctx context.Context, stored []byte, _ encryption.Keys) (encryption.Keys, []byte, error) {
	if stored == nil {
		var response struct {
			Plaintext  []byte `json:"plaintext"`
			Ciphertext string `json:"ciphertext"`
		}
		if err := p.call(ctx, "datakey/plaintext", request{Bits: 8 * p.config.KeyLength,
			AssociatedData: p.config.Data}, &response); err != nil {
			return encryption.Keys{}, nil, fmt.Errorf("creating a data key: %w", err)
		}
		if len(response.Plaintext) != p.config.KeyLength || response.Ciphertext == "" {
			return encryption.Keys{}, nil, fmt.Errorf("creating a data key: the server's response has no encrypted key "+
				"of %d bytes", p.config.KeyLength)
		}
		meta, err := json.Marshal(metadata{[]byte(response.Ciphertext)})
		return encryption.Keys{Encryption: response.Plaintext}, meta, err
	}
	var meta metadata
	if err := json.Unmarshal(stored, &meta); err != nil || len(meta.Ciphertext) == 0 {
		return encryption.Keys{}, nil, errors.New("its metadata is damaged")
	}
	var response struct {
		Plaintext []byte `json:"plaintext"`
	}
	if err := p.call(ctx, "decrypt", request{Ciphertext: string(meta.Ciphertext),
		AssociatedData: p.config.Data}, &response); err != nil {
		return encryption.Keys{}, nil, fmt.Errorf("decrypting the data key: %w", err)
	}
	if len(response.Plaintext) == 0 {
		return encryption.Keys{}, nil, errors.New("decrypting the data key: the server's response has no key")
	}
	return encryption.Keys{
		Decryption: response.Plaintext,
		Reuse:      encryption.ReuseOf(response.Plaintext, p.config.KeyLength),
	}, nil, nil
}

// call sends a request to the transit engine.
func (p *provider) call(ctx context.Context, operation string, q request, response any) error {
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	to := p.engine.JoinPath(operation, url.PathEscape(p.config.KeyName))
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, to.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("X-Vault-Request", "true")
	if p.config.Token != "" {
		req.Header.Set("X-Vault-Token", p.config.Token)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := limits.ReadAll(resp.Body, 1<<20, "the response")
	if err != nil {
		return fmt.Errorf("reading the response from the server at %s: %w", p.engine.Host, err)
	}
	var envelope struct {
		Data   json.RawMessage `json:"data"`
		Errors []string        `json:"errors"`
	}
	err = json.Unmarshal(text, &envelope)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server at %s responded with %s", p.engine.Host,
			strings.Join(append([]string{resp.Status}, envelope.Errors...), "; "))
	}
	if err == nil {
		err = json.Unmarshal(envelope.Data, response)
	}
	if err != nil {
		return fmt.Errorf("invalid response from the transit engine at %s: %w", p.engine.Host, err)
	}
	return nil
}
