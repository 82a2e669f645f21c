package azurerm

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"

	"tofu/internal/azureauth"
	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	Account       string `cfg:"storage_account_name,required"`
	Container     string `cfg:"container_name,required"`
	Key           string `cfg:"key,required"`
	ResourceGroup string `cfg:"resource_group_name"`

	AccessKey  string `cfg:"access_key,sensitive" env:"ARM_ACCESS_KEY"`
	SASToken   string `cfg:"sas_token,sensitive" env:"ARM_SAS_TOKEN"`
	UseAzureAD bool   `cfg:"use_azuread_auth" env:"ARM_USE_AZUREAD"`
	azureauth.Config

	Snapshot        bool   `cfg:"snapshot" env:"ARM_SNAPSHOT"`
	CustomerKey     string `cfg:"customer_provided_key,sensitive" env:"ARM_CUSTOMER_PROVIDED_KEY" conflicts:"encryption_scope"`
	EncryptionScope string `cfg:"encryption_scope" env:"ARM_ENCRYPTION_SCOPE"`
	Timeout         int    `cfg:"timeout_seconds" env:"ARM_TIMEOUT_SECONDS" default:"300"`

	Endpoint    string `cfg:"endpoint" env:"ARM_ENDPOINT"`
	MSIEndpoint string `cfg:"msi_endpoint" env:"ARM_MSI_ENDPOINT"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"storage_account_name":  "The name of the storage account.",
		"container_name":        "The name of the container in the storage account.",
		"key":                   "The name of the blob with the state of the default workspace.",
		"resource_group_name":   "The resource group of the storage account, to look up its access key.",
		"access_key":            "An access key of the storage account.",
		"sas_token":             "A shared access signature for the container.",
		"use_azuread_auth":      "Whether to access blobs with a Microsoft Entra token instead of an access key.",
		"snapshot":              "Whether to take a snapshot of the blob before it is replaced.",
		"customer_provided_key": "The key with which the service encrypts the blob: 32 bytes in Base64.",
		"encryption_scope":      "The encryption scope with which the service encrypts the blob.",
		"timeout_seconds":       "The maximum duration of an operation in seconds, 0 for no limit.",
		"endpoint":              "No longer used.",
		"msi_endpoint":          "No longer used.",
	}
}

// Deprecated implements blocks.Deprecating.
func (*Config) Deprecated() blocks.Docs {
	return blocks.Docs{
		"endpoint":     "It has no effect. For Azure Stack, set metadata_host.",
		"msi_endpoint": "It has no effect. Set the environment variable MSI_ENDPOINT.",
	}
}

// accountName matches names of storage accounts, which are parts of host names.
var accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// Check implements blocks.Checker.
func (c *Config) Check() error {
	if !accountName.MatchString(c.Account) {
		return blocks.Invalid([]string{"storage_account_name"}, "it must have 3 to 24 lowercase letters and digits")
	}
	if c.Timeout < 0 {
		return blocks.Invalid([]string{"timeout_seconds"}, "it must not be negative")
	}
	if c.CustomerKey != "" {
		if key, err := base64.StdEncoding.DecodeString(c.CustomerKey); err != nil || len(key) != 32 {
			return blocks.Invalid([]string{"customer_provided_key"}, "it must be 32 bytes in Base64")
		}
		if c.EncryptionScope != "" {
			return blocks.Invalid([]string{"encryption_scope"},
				"it can't be set together with \"customer_provided_key\"")
		}
	}
	if c.AccessKey != "" {
		if _, err := base64.StdEncoding.DecodeString(c.AccessKey); err != nil {
			return blocks.Invalid([]string{"access_key"}, "it is not in Base64, as access keys are")
		}
		return nil
	}
	if c.SASToken != "" {
		return nil
	}
	if !c.UseAzureAD && c.ResourceGroup == "" {
		return blocks.Invalid([]string{"resource_group_name"}, "it is required to look up the access key of the "+
			"storage account. Set it, or set \"use_azuread_auth\", \"access_key\" or \"sas_token\"")
	}
	return c.Config.Check()
}

// encrypt adds the headers that tell the service how the blob is encrypted. writes reports whether
// the request writes the blob.
func (c *Config) encrypt(header http.Header, writes bool) {
	if c.CustomerKey != "" {
		header.Set("X-Ms-Encryption-Key", c.CustomerKey)
		header.Set("X-Ms-Encryption-Key-Sha256", c.customerKeySum())
		header.Set("X-Ms-Encryption-Algorithm", "AES256")
	}
	if c.EncryptionScope != "" && writes {
		header.Set("X-Ms-Encryption-Scope", c.EncryptionScope)
	}
}

// customerKeySum returns the checksum of the customer's key in Base64.
func (c *Config) customerKeySum() string {
	key, _ := base64.StdEncoding.DecodeString(c.CustomerKey) // Check has already decoded it
	sum := sha256.Sum256(key)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Identity implements backend.Identifier.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	return []string{"azurerm", c.Account, c.Container, c.blobName(workspace)}, nil
}
