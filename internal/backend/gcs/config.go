package gcs

import (
	"encoding/base64"
	"net/url"
	"os"
	"regexp"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
	"tofu/internal/gcpauth"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	Bucket string `cfg:"bucket,required"`
	Prefix string `cfg:"prefix"`
	gcpauth.Config
	EncryptionKey string `cfg:"encryption_key,sensitive" env:"GOOGLE_ENCRYPTION_KEY" conflicts:"kms_encryption_key"`
	KMSKey        string `cfg:"kms_encryption_key" env:"GOOGLE_KMS_ENCRYPTION_KEY"`
	Endpoint      string `cfg:"storage_custom_endpoint" env:"GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT,GOOGLE_STORAGE_CUSTOM_ENDPOINT"`
	Universe      string `cfg:"universe_domain" env:"GOOGLE_BACKEND_UNIVERSE_DOMAIN,GOOGLE_CLOUD_UNIVERSE_DOMAIN"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"bucket":                  "The name of the bucket.",
		"prefix":                  "The directory of the states in the bucket.",
		"encryption_key":          "The key with which the service encrypts states: 32 bytes in Base64.",
		"kms_encryption_key":      "The Cloud KMS key with which the service encrypts states.",
		"storage_custom_endpoint": "The URL of the service, in the form https://HOST/storage/v1/b.",
		"universe_domain":         "The domain of a sovereign cloud.",
	}
}

// kmsKey matches names of Cloud KMS keys.
var kmsKey = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)

// Check implements blocks.Checker.
func (c *Config) Check() error {
	if strings.ContainsAny(c.Bucket, "/ ") {
		return blocks.Invalid([]string{"bucket"}, "it is the name of a bucket, without a path; set \"prefix\" for that")
	}
	if _, err := c.customerKey(); err != nil {
		return blocks.Invalid([]string{"encryption_key"}, "%s", err)
	}
	if c.KMSKey != "" && !kmsKey.MatchString(c.KMSKey) {
		return blocks.Invalid([]string{"kms_encryption_key"}, "it must have the form "+
			"projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY")
	}
	if c.KMSKey != "" && c.EncryptionKey != "" {
		return blocks.Invalid([]string{"encryption_key"}, "it can't be set together with \"kms_encryption_key\"")
	}
	if _, err := c.base(); err != nil {
		return blocks.Invalid([]string{"storage_custom_endpoint"}, "%s", err)
	}
	return nil
}

// customerKey returns the key that encryption_key contains, or that is in the file that
// encryption_key names. It returns nil if the argument is not set.
func (c *Config) customerKey() ([]byte, error) {
	if c.EncryptionKey == "" {
		return nil, nil
	}
	text := c.EncryptionKey
	if content, err := os.ReadFile(text); err == nil {
		text = string(content)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != 32 {
		return nil, errInvalidKey
	}
	return key, nil
}

// base returns the URL of the service's JSON interface, without a slash at the end.
func (c *Config) base() (*url.URL, error) {
	universe := c.Universe
	if universe == "" {
		universe = gcpauth.DefaultUniverse
	}
	text := c.Endpoint
	if text == "" {
		text = "https://storage." + universe
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errInvalidURL
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/b")
	if u.Path == "" {
		u.Path = "/storage/v1"
	}
	return u, nil
}

// Identity implements backend.Identifier.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	return []string{"gcs", base.Host, c.Bucket, c.layout().State(workspace)}, nil
}
