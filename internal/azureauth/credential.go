package azureauth

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"software.sslmate.com/src/go-pkcs12"

	"tofu/internal/httpclient"
)

// Credential gets tokens from Microsoft Entra ID. It is safe for concurrent use.
type Credential struct {
	config Config
	cloud  *Cloud
	client *httpclient.Client

	once   sync.Once
	source azcore.TokenCredential
	method string
	err    error
}

// Credential returns the credential that the arguments describe. If the arguments are not
// sufficient for any method, using the credential returns an error.
func (c *Config) Credential(cloud *Cloud, client *httpclient.Client) *Credential {
	return &Credential{config: *c, cloud: cloud, client: client}
}

// Token returns an access token for a scope, such as "https://storage.azure.com/.default". It is
// cached until shortly before it expires.
func (c *Credential) Token(ctx context.Context, scope string) (string, error) {
	c.once.Do(func() { c.source, c.method, c.err = c.choose() })
	if c.err != nil {
		return "", c.err
	}
	token, err := c.source.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
	if err != nil {
		return "", fmt.Errorf("getting a token with %s: %w", c.method, explain(err))
	}
	return token.Token, nil
}

// explain shortens an error from azidentity. It returns the server's description of the problem or,
// if the error contains none, the text without response headers and links to web pages.
func explain(err error) error {
	failed, ok := errors.AsType[*azidentity.AuthenticationFailedError](err)
	if !ok {
		return httpclient.Clean(err)
	}
	text := failed.Error()
	if _, answer, ok := strings.Cut(text, `"error_description": "`); ok {
		answer, _, _ = strings.Cut(answer, `"`)
		answer, _, _ = strings.Cut(strings.ReplaceAll(answer, `\r\n`, "\n"), "\n")
		answer, _, _ = strings.Cut(answer, " Trace ID:")
		return errors.New(answer)
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") &&
			!strings.HasPrefix(line, "To troubleshoot") {
			lines = append(lines, line)
		}
	}
	return errors.New(strings.Join(lines, " "))
}

// method is a way to authenticate.
type method struct {
	name string
	// missing returns the reason why the method can't be used, such as arguments that are not set,
	// or "" if it can be used.
	missing func(c *Config) string
	open    func(c *Credential, options azcore.ClientOptions) (azcore.TokenCredential, error)
}

// methods lists the methods in the order in which they are tried.
var methods = []method{
	{"a client certificate", missingCertificate, openCertificate},
	{"a client secret", missingSecret, openSecret},
	{"an OpenID Connect token", missingOIDC, openOIDC},
	{"a managed identity", missingMSI, openMSI},
	{"an AKS workload identity", missingAKS, openAKS},
	{"the Azure command line", missingCLI, openCLI},
}

// choose opens the first method for which all arguments are present, and returns its name.
func (c *Credential) choose() (azcore.TokenCredential, string, error) {
	options := azcore.ClientOptions{Transport: c.client.Std(), Cloud: c.cloud.sdk(),
		Telemetry: policy.TelemetryOptions{Disabled: true}}
	var lacks []string
	for i := range methods {
		m := &methods[i]
		if missing := m.missing(&c.config); missing != "" {
			lacks = append(lacks, fmt.Sprintf("  - %s: %s", m.name, missing))
			continue
		}
		source, err := m.open(c, options)
		if err != nil {
			return nil, "", fmt.Errorf("authenticating with %s: %w", m.name, err)
		}
		return source, m.name, nil
	}
	return nil, "", fmt.Errorf("there are no Azure credentials. Set the arguments, or their environment variables, "+
		"of one of these methods:\n%s", strings.Join(lacks, "\n"))
}

// needs returns a phrase that lists the arguments with empty values, or "" if all have values.
// pairs are names, each followed by its value.
func needs(pairs ...string) string {
	var names []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			names = append(names, pairs[i])
		}
	}
	if names == nil {
		return ""
	}
	return strings.Join(names, ", ") + " not set"
}

func (c *Config) clientID() string { return value(c.ClientID, c.ClientIDFile) }

func missingCertificate(c *Config) string {
	return needs("tenant_id", c.TenantID, "client_id", c.clientID(),
		"client_certificate_path", c.Certificate+c.CertificatePath)
}

func openCertificate(c *Credential, options azcore.ClientOptions) (azcore.TokenCredential, error) {
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(c.config.Certificate))
	if err != nil {
		return nil, fmt.Errorf("\"client_certificate\" is not a PKCS#12 file in Base64: %w", err)
	}
	name := "client_certificate"
	if c.config.CertificatePath != "" {
		name = c.config.CertificatePath
		data, err = os.ReadFile(name)
		if err != nil {
			return nil, err
		}
	}
	key, cert, chain, err := pkcs12.DecodeChain(data, c.config.CertificatePassword)
	if errors.Is(err, pkcs12.ErrIncorrectPassword) {
		return nil, fmt.Errorf("%s can't be opened: \"client_certificate_password\" is wrong or not set", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a PKCS#12 file with a certificate and its key: %w", name, err)
	}
	return azidentity.NewClientCertificateCredential(c.config.TenantID, c.config.clientID(),
		append([]*x509.Certificate{cert}, chain...), key, &azidentity.ClientCertificateCredentialOptions{
			ClientOptions: options, DisableInstanceDiscovery: c.cloud.other})
}

func missingSecret(c *Config) string {
	return needs("tenant_id", c.TenantID, "client_id", c.clientID(), "client_secret",
		value(c.ClientSecret, c.ClientSecretFile))
}

func openSecret(c *Credential, options azcore.ClientOptions) (azcore.TokenCredential, error) {
	return azidentity.NewClientSecretCredential(c.config.TenantID, c.config.clientID(),
		value(c.config.ClientSecret, c.config.ClientSecretFile), &azidentity.ClientSecretCredentialOptions{
			ClientOptions: options, DisableInstanceDiscovery: c.cloud.other})
}

func missingMSI(c *Config) string {
	if !c.UseMSI {
		return "use_msi is not true"
	}
	return ""
}

func openMSI(c *Credential, options azcore.ClientOptions) (azcore.TokenCredential, error) {
	o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
	if id := c.config.clientID(); id != "" {
		o.ID = azidentity.ClientID(id)
	}
	return azidentity.NewManagedIdentityCredential(o)
}

func missingAKS(c *Config) string {
	if !c.UseAKS {
		return "use_aks_workload_identity is not true"
	}
	return needs("tenant_id", cmp.Or(c.TenantID, os.Getenv("AZURE_TENANT_ID")),
		"client_id", cmp.Or(c.clientID(), os.Getenv("AZURE_CLIENT_ID")),
		"the environment variable AZURE_FEDERATED_TOKEN_FILE", os.Getenv("AZURE_FEDERATED_TOKEN_FILE"))
}

func openAKS(c *Credential, options azcore.ClientOptions) (azcore.TokenCredential, error) {
	return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
		ClientOptions: options, TenantID: c.config.TenantID, ClientID: c.config.clientID(),
		DisableInstanceDiscovery: c.cloud.other})
}

func missingCLI(c *Config) string {
	if !c.UseCLI {
		return "use_cli is false"
	}
	if _, err := exec.LookPath("az"); err != nil {
		return "the program az is not in PATH"
	}
	return ""
}

func openCLI(c *Credential, _ azcore.ClientOptions) (azcore.TokenCredential, error) {
	return azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{
		TenantID: c.config.TenantID, Subscription: c.config.SubscriptionID})
}

// Subscription returns the subscription ID in the arguments. If they have none and credentials come
// from the Azure command line, it returns the ID of the subscription that is selected there. With
// any other credentials, a missing ID is an error.
func (c *Credential) Subscription(ctx context.Context) (string, error) {
	if c.config.SubscriptionID != "" {
		return c.config.SubscriptionID, nil
	}
	c.once.Do(func() { c.source, c.method, c.err = c.choose() })
	if c.err != nil {
		return "", c.err
	}
	if _, ok := c.source.(*azidentity.AzureCLICredential); !ok {
		return "", fmt.Errorf("\"subscription_id\" is required with %s, but is not set", c.method)
	}
	out, err := exec.CommandContext(ctx, "az", "account", "show", "-o", "json").Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
		}
		return "", fmt.Errorf("asking the Azure command line for the subscription with \"az account show\": %w", err)
	}
	var account struct{ ID string }
	if err := json.Unmarshal(out, &account); err != nil || account.ID == "" {
		return "", errors.New("the response to \"az account show\" has no subscription; set \"subscription_id\", or select a " +
			"subscription with \"az account set\"")
	}
	return account.ID, nil
}
