package azureauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"tofu/internal/httpclient"
	"tofu/internal/limits"
)

func missingOIDC(c *Config) string {
	if !c.UseOIDC {
		return "use_oidc is not true"
	}
	if missing := needs("tenant_id", c.TenantID, "client_id", c.clientID()); missing != "" {
		return missing
	}
	if c.OIDCToken+c.OIDCTokenFile != "" {
		return ""
	}
	if c.OIDCRequestURL == "" || c.OIDCRequestToken == "" {
		return "oidc_token, oidc_token_file_path, or both oidc_request_url and oidc_request_token not set"
	}
	return ""
}

// openOIDC exchanges a token of the platform that runs this program for a Microsoft Entra ID token.
func openOIDC(c *Credential, options azcore.ClientOptions) (azcore.TokenCredential, error) {
	assertion := func(ctx context.Context) (string, error) { return c.config.assertion(ctx, c.client) }
	return azidentity.NewClientAssertionCredential(c.config.TenantID, c.config.clientID(), assertion,
		&azidentity.ClientAssertionCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: c.cloud.other})
}

// assertion returns the platform's token. It reads token files again each time, because platforms
// renew them.
func (c *Config) assertion(ctx context.Context, client *httpclient.Client) (string, error) {
	switch {
	case c.ADOConnection != "" && c.OIDCRequestURL != "" && c.OIDCRequestToken != "":
		return c.pipelinesToken(ctx, client)
	case c.OIDCToken != "":
		return c.OIDCToken, nil
	case c.OIDCTokenFile != "":
		return readText(c.OIDCTokenFile)
	}
	return c.actionsToken(ctx, client)
}

// actionsToken requests a token from GitHub Actions or a service with the same interface.
func (c *Config) actionsToken(ctx context.Context, client *httpclient.Client) (string, error) {
	u, err := c.requestURL()
	if err != nil {
		return "", err
	}
	if query := u.Query(); !query.Has("audience") {
		query.Set("audience", "api://AzureADTokenExchange")
		u.RawQuery = query.Encode()
	}
	var answer struct{ Value string }
	if err := c.request(ctx, client, http.MethodGet, u, &answer); err != nil {
		return "", err
	}
	if answer.Value == "" {
		return "", fmt.Errorf("the response from %s has no token", u.Host)
	}
	return answer.Value, nil
}

// pipelinesToken requests a token for a service connection in Azure Pipelines.
func (c *Config) pipelinesToken(ctx context.Context, client *httpclient.Client) (string, error) {
	u, err := c.requestURL()
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set("api-version", "7.1")
	query.Set("serviceConnectionId", c.ADOConnection)
	u.RawQuery = query.Encode()
	var answer struct{ OIDCToken string }
	if err := c.request(ctx, client, http.MethodPost, u, &answer); err != nil {
		return "", err
	}
	if answer.OIDCToken == "" {
		return "", fmt.Errorf("the response from %s has no token", u.Host)
	}
	return answer.OIDCToken, nil
}

func (c *Config) requestURL() (*url.URL, error) {
	u, err := url.Parse(c.OIDCRequestURL)
	if err != nil || u.Host == "" {
		return nil, errors.New("\"oidc_request_url\" must be a URL with scheme and host")
	}
	return u, nil
}

func (c *Config) request(
	ctx context.Context, client *httpclient.Client, method string, u *url.URL, answer any,
) error {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.OIDCRequestToken)
	req.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-TFS-FedAuthRedirect", "Suppress") // requests an error status, not a login page
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := limits.ReadAll(resp.Body, 1<<20, "the response")
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s, which issues OpenID Connect tokens, responded with %s", u.Host, resp.Status)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("invalid response from %s: %w", u.Host, err)
	}
	return nil
}
