package azureauth

import (
	"fmt"
	"os"
	"strings"

	"tofu/internal/configs/blocks"
)

// Config holds the shared arguments. Drivers embed it in their configuration.
type Config struct {
	Environment  string `cfg:"environment" env:"ARM_ENVIRONMENT" default:"public"`
	MetadataHost string `cfg:"metadata_host" env:"ARM_METADATA_HOSTNAME"`

	SubscriptionID string `cfg:"subscription_id" env:"ARM_SUBSCRIPTION_ID"`
	TenantID       string `cfg:"tenant_id" env:"ARM_TENANT_ID"`
	ClientID       string `cfg:"client_id" env:"ARM_CLIENT_ID"`
	ClientIDFile   string `cfg:"client_id_file_path" env:"ARM_CLIENT_ID_FILE_PATH"`

	ClientSecret     string `cfg:"client_secret,sensitive" env:"ARM_CLIENT_SECRET"`
	ClientSecretFile string `cfg:"client_secret_file_path" env:"ARM_CLIENT_SECRET_FILE_PATH"`

	Certificate         string `cfg:"client_certificate,sensitive" env:"ARM_CLIENT_CERTIFICATE"`
	CertificatePath     string `cfg:"client_certificate_path" env:"ARM_CLIENT_CERTIFICATE_PATH"`
	CertificatePassword string `cfg:"client_certificate_password,sensitive" env:"ARM_CLIENT_CERTIFICATE_PASSWORD"`

	UseOIDC          bool   `cfg:"use_oidc" env:"ARM_USE_OIDC"`
	OIDCRequestURL   string `cfg:"oidc_request_url" env:"ARM_OIDC_REQUEST_URL,ACTIONS_ID_TOKEN_REQUEST_URL,SYSTEM_OIDCREQUESTURI"`
	OIDCRequestToken string `cfg:"oidc_request_token,sensitive" env:"ARM_OIDC_REQUEST_TOKEN,ACTIONS_ID_TOKEN_REQUEST_TOKEN,SYSTEM_ACCESSTOKEN"`
	OIDCToken        string `cfg:"oidc_token,sensitive" env:"ARM_OIDC_TOKEN"`
	OIDCTokenFile    string `cfg:"oidc_token_file_path" env:"ARM_OIDC_TOKEN_FILE_PATH,AZURE_FEDERATED_TOKEN_FILE"`
	ADOConnection    string `cfg:"ado_service_connection_id" env:"AZURESUBSCRIPTION_SERVICE_CONNECTION_ID,ARM_OIDC_AZURE_SERVICE_CONNECTION_ID,ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID"`

	UseMSI bool `cfg:"use_msi" env:"ARM_USE_MSI"`
	UseAKS bool `cfg:"use_aks_workload_identity" env:"ARM_USE_AKS_WORKLOAD_IDENTITY"`
	UseCLI bool `cfg:"use_cli" env:"ARM_USE_CLI" default:"true"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"environment":             "The Azure cloud: public, china or usgovernment.",
		"metadata_host":           "The host of a metadata service that describes another Azure cloud.",
		"subscription_id":         "The ID of the subscription.",
		"tenant_id":               "The ID of the Microsoft Entra tenant.",
		"client_id":               "The client ID of the service principal or managed identity.",
		"client_id_file_path":     "A file with the client ID.",
		"client_secret":           "The secret of the service principal.",
		"client_secret_file_path": "A file with the secret of the service principal.",
		"client_certificate": "The certificate of the service principal and its private key, as " +
			"PKCS#12 in Base64.",
		"client_certificate_path": "A PKCS#12 file with the certificate of the service principal and its " +
			"private key.",
		"client_certificate_password": "The password of the certificate.",
		"use_oidc":                    "Whether to authenticate with an OpenID Connect token.",
		"oidc_request_url":            "The URL that issues OpenID Connect tokens.",
		"oidc_request_token":          "The bearer token for oidc_request_url.",
		"oidc_token":                  "An OpenID Connect token.",
		"oidc_token_file_path":        "A file with an OpenID Connect token.",
		"ado_service_connection_id":   "The ID of the service connection in Azure Pipelines.",
		"use_msi":                     "Whether to authenticate with a managed identity.",
		"use_aks_workload_identity": "Whether to authenticate with the workload identity of Azure " +
			"Kubernetes Service.",
		"use_cli": "Whether to authenticate with the Azure command line.",
	}
}

// Check implements blocks.Checker.
func (c *Config) Check() error {
	for _, pair := range []struct{ name, value, file, path string }{
		{"client_id", c.ClientID, "client_id_file_path", c.ClientIDFile},
		{"client_secret", c.ClientSecret, "client_secret_file_path", c.ClientSecretFile},
	} {
		if pair.path == "" {
			continue
		}
		text, err := readText(pair.path)
		if err != nil {
			return blocks.Invalid([]string{pair.file}, "%s", err)
		}
		if pair.value != "" && pair.value != text {
			return blocks.Invalid([]string{pair.file}, "the value in the file differs from %q; remove one of the two",
				pair.name)
		}
	}
	if c.Certificate != "" && c.CertificatePath != "" {
		return blocks.Invalid([]string{"client_certificate_path"}, "it can't be set together with "+
			"\"client_certificate\"")
	}
	return nil
}

// value returns text or, if that is empty, the content of the file at path without surrounding
// white space. Check has already read the file successfully.
func value(text, path string) string {
	if text == "" && path != "" {
		text, _ = readText(path)
	}
	return text
}

func readText(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", fmt.Errorf("the file %s is empty", path)
	}
	return text, nil
}
