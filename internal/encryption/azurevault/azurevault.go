package azurevault

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tofu/internal/azureauth"
	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// Config is the configuration of the key_provider block.
type Config struct {
	azureauth.Config
	URI       string `cfg:"vault_uri,required"`
	KeyName   string `cfg:"vault_key_name,required"`
	KeyLength int    `cfg:"key_length,required"`
	Symmetric bool   `cfg:"symmetric"`
	KeySize   int    `cfg:"symmetric_key_size"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"vault_uri":          "The address of the vault, https://NAME.vault.azure.net.",
		"vault_key_name":     "The name of the key in the vault.",
		"key_length":         "Number of bytes of the data key.",
		"symmetric":          "Whether the key in the vault is symmetric, which only managed HSMs have.",
		"symmetric_key_size": "The size of the symmetric key in the vault: 128, 192 or 256 bits.",
	}
}

// algorithms holds the algorithms for symmetric keys by key size in bits.
var algorithms = map[int]string{128: "A128GCM", 192: "A192GCM", 256: "A256GCM"}

// asymmetric is the algorithm for encrypting data keys with an RSA key.
const asymmetric = "RSA-OAEP-256"

// Check implements blocks.Checker.
func (c *Config) Check() error {
	u, err := url.Parse(c.URI)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "":
		return blocks.Invalid([]string{"vault_uri"}, "it must have the form https://NAME.vault.azure.net")
	case c.KeyLength < 1:
		return blocks.Invalid([]string{"key_length"}, "it must be at least 1")
	case c.Symmetric && algorithms[c.KeySize] == "":
		return blocks.Invalid([]string{"symmetric_key_size"}, "it must be 128, 192 or 256 for a symmetric key")
	case !c.Symmetric && c.KeySize != 0:
		return blocks.Invalid([]string{"symmetric_key_size"}, "it requires \"symmetric\"")
	}
	return c.Config.Check()
}

// Driver is the driver of the key provider azure_vault.
var Driver = encryption.NewKeyDriver("azure_vault", func(c *Config) (encryption.KeyProvider, error) {
	vault, err := url.Parse(c.URI)
	if err != nil {
		return nil, err
	}
	vault.Path = strings.TrimRight(vault.Path, "/") + "/" // without it, JoinPath returns relative paths
	return &provider{config: *c, vault: vault, http: httpclient.New(httpclient.Options{})}, nil
})

type provider struct {
	config Config
	vault  *url.URL
	http   *httpclient.Client
}

// metadata is the data that is needed to find a key again. It is stored with the encrypted data.
type metadata struct {
	Ciphertext []byte `json:"ciphertext"`
	IV         []byte `json:"iv"`
	Tag        []byte `json:"authentication_tag"`
	Data       []byte `json:"additional_authenticated_data"`
	Version    string `json:"key_version"`
	Algorithm  string `json:"algo"`
}

// Keys implements encryption.KeyProvider.
func (p *provider) Keys(ctx context.Context, stored []byte, _ encryption.Keys) (encryption.Keys, []byte, error) {
	if stored == nil {
		key := make([]byte, p.config.KeyLength)
		if _, err := rand.Read(key); err != nil {
			return encryption.Keys{}, nil, err
		}
		meta, err := p.encrypt(ctx, key)
		if err != nil {
			return encryption.Keys{}, nil, fmt.Errorf("encrypting the data key: %w", err)
		}
		text, err := json.Marshal(meta)
		return encryption.Keys{Encryption: key}, text, err
	}
	var meta metadata
	if err := json.Unmarshal(stored, &meta); err != nil || len(meta.Ciphertext) == 0 {
		return encryption.Keys{}, nil, errors.New("its metadata is damaged")
	}
	key, err := p.decrypt(ctx, &meta)
	if err != nil {
		return encryption.Keys{}, nil, fmt.Errorf("decrypting the data key: %w", err)
	}
	return encryption.Keys{Decryption: key, Reuse: encryption.ReuseOf(key, p.config.KeyLength)}, nil, nil
}

// algorithm returns the algorithm that encrypts new data keys.
func (c *Config) algorithm() string {
	if c.Symmetric {
		return algorithms[c.KeySize]
	}
	return asymmetric
}

func (p *provider) encrypt(ctx context.Context, key []byte) (*metadata, error) {
	meta := &metadata{Algorithm: p.config.algorithm()}
	out, err := p.call(ctx, "", "encrypt", &parameters{Algorithm: meta.Algorithm, Value: key})
	if err != nil {
		return nil, err
	}
	meta.Ciphertext, meta.IV, meta.Tag, meta.Data = out.Value, out.IV, out.Tag, out.Data
	meta.Version = out.KeyID[strings.LastIndexByte(out.KeyID, '/')+1:]
	if len(meta.Ciphertext) == 0 || meta.Version == "" {
		return nil, errors.New("the response from the vault has no encrypted key, or no key version")
	}
	return meta, nil
}

func (p *provider) decrypt(ctx context.Context, meta *metadata) ([]byte, error) {
	out, err := p.call(ctx, meta.Version, "decrypt", &parameters{Algorithm: meta.Algorithm, Value: meta.Ciphertext,
		IV: meta.IV, Tag: meta.Tag, Data: meta.Data})
	if err == nil && len(out.Value) == 0 {
		err = errors.New("the response from the vault has no key")
	}
	if err != nil {
		return nil, err
	}
	return out.Value, nil
}

// parameters holds the parameters and the results of operations with a key.
type parameters struct {
	KeyID     string   `json:"kid,omitempty"`
	Algorithm string   `json:"alg,omitempty"`
	Value     urlBytes `json:"value"`
	IV        urlBytes `json:"iv,omitempty"`
	Tag       urlBytes `json:"tag,omitempty"`
	Data      urlBytes `json:"aad,omitempty"`
}

// urlBytes holds bytes that are encoded in JSON as URL-safe Base64.
type urlBytes []byte

// MarshalText implements encoding.TextMarshaler.
func (b urlBytes) MarshalText() ([]byte, error) {
	return base64.RawURLEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *urlBytes) UnmarshalText(text []byte) (err error) {
	*b, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(string(text), "="))
	return err
}

// call performs an operation with a version of the key, or with the newest version if version is
// "".
func (p *provider) call(ctx context.Context, version, operation string, q *parameters) (*parameters, error) {
	cloud, err := p.config.Cloud(ctx, p.http)
	if err != nil {
		return nil, err
	}
	scope, err := p.scope(ctx)
	if err != nil {
		return nil, err
	}
	token, err := p.config.Credential(cloud, p.http).Token(ctx, scope)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	to := p.vault.JoinPath("keys", url.PathEscape(p.config.KeyName), url.PathEscape(version), operation)
	to.RawQuery = apiVersion
	header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}}
	resp, err := p.send(ctx, to, header, body)
	if err != nil {
		return nil, err
	}
	if resp.Status != http.StatusOK {
		return nil, p.failure(resp)
	}
	out := new(parameters)
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return nil, fmt.Errorf("invalid response from the vault %s: %w", p.vault.Host, err)
	}
	return out, nil
}

// apiVersion is the query parameter with the version of the vault's API.
const apiVersion = "api-version=7.4"

func (p *provider) send(ctx context.Context, to *url.URL, header http.Header, body []byte) (*restapi.Response, error) {
	api := restapi.Client{HTTP: p.http}
	return api.Do(ctx, &restapi.Request{Method: http.MethodPost, URL: to, Header: header, Body: body})
}

// scope returns the scope of tokens for the vault, which differs between clouds. The vault states
// the scope when it refuses a request without a token. If it states another domain than its own,
// scope returns an error, because a malicious server could otherwise get a token that is valid
// elsewhere.
func (p *provider) scope(ctx context.Context) (string, error) {
	to := p.vault.JoinPath("keys", url.PathEscape(p.config.KeyName), "encrypt")
	to.RawQuery = apiVersion
	resp, err := p.send(ctx, to, http.Header{"Content-Type": {"application/json"}}, []byte{})
	if err != nil {
		return "", err
	}
	challenge := resp.Header.Get("WWW-Authenticate")
	resource := parameter(challenge, "resource")
	if resource == "" {
		resource = strings.TrimSuffix(parameter(challenge, "scope"), "/.default")
	}
	if resp.Status != http.StatusUnauthorized || resource == "" {
		return "", fmt.Errorf("%s responded with %d %s instead of saying which tokens it accepts; check that "+
			"\"vault_uri\" is the address of a key vault, and that this machine has access to it",
			p.vault.Host, resp.Status, http.StatusText(resp.Status))
	}
	domain, err := url.Parse(resource)
	if err != nil || domain.Scheme != "https" || domain.Host == "" ||
		!strings.HasSuffix(p.vault.Hostname(), "."+domain.Hostname()) {
		return "", fmt.Errorf("the vault %s asks for a token for %s, which is not its domain", p.vault.Host, resource)
	}
	return resource + "/.default", nil
}

// parameter returns a parameter of a WWW-Authenticate header.
func parameter(challenge, name string) string {
	_, rest, _ := strings.Cut(challenge, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// failure explains an error response.
func (p *provider) failure(resp *restapi.Response) error {
	var body struct {
		Error struct{ Code, Message string }
	}
	_ = json.Unmarshal(resp.Body, &body) // a body in another format has no message
	text := strings.TrimSpace(body.Error.Code + " " + body.Error.Message)
	if text == "" {
		text = http.StatusText(resp.Status)
	}
	switch {
	case resp.Status == http.StatusNotFound:
		return fmt.Errorf("the vault %s has no key %q, or not the version that is needed: %s",
			p.vault.Host, p.config.KeyName, text)
	case resp.Status == http.StatusForbidden:
		return fmt.Errorf("the vault %s refused the use of the key %q: %s; check that the key is enabled, and that the "+
			"credentials have the role \"Key Vault Crypto User\" or an access policy that permits encryption and "+
			"decryption", p.vault.Host, p.config.KeyName, strings.TrimSuffix(text, "."))
	}
	return fmt.Errorf("the vault %s responded with %d %s", p.vault.Host, resp.Status, text)
}
