package azureauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"tofu/internal/httpclient"
	"tofu/internal/limits"
)

// Cloud holds the endpoints of an Azure cloud.
type Cloud struct {
	Login         string // URL of Microsoft Entra ID
	Management    string // URL of Azure Resource Manager
	Audience      string // audience of tokens for Azure Resource Manager
	StorageSuffix string // domain of storage accounts, after "blob."
	other         bool   // whether the cloud was described by a metadata service
}

// clouds maps the values of the argument "environment" to the public clouds.
var clouds = map[string]*Cloud{
	"public": {Login: "https://login.microsoftonline.com/", Management: "https://management.azure.com/",
		Audience: "https://management.core.windows.net/", StorageSuffix: "core.windows.net"},
	"usgovernment": {Login: "https://login.microsoftonline.us/", Management: "https://management.usgovcloudapi.net/",
		Audience: "https://management.core.usgovcloudapi.net/", StorageSuffix: "core.usgovcloudapi.net"},
	"china": {Login: "https://login.chinacloudapi.cn/", Management: "https://management.chinacloudapi.cn/",
		Audience: "https://management.core.chinacloudapi.cn/", StorageSuffix: "core.chinacloudapi.cn"},
}

// aliases maps other names of the clouds, which metadata services and the Azure tools use, to the
// names in clouds.
var aliases = map[string]string{
	"": "public", "azurecloud": "public", "azurepubliccloud": "public",
	"azureusgovernment": "usgovernment", "azureusgovernmentcloud": "usgovernment", "usgovernmentl4": "usgovernment",
	"usgovernmentl5": "usgovernment", "azurechinacloud": "china",
}

// canonical returns the name of a cloud in the form of the argument "environment".
func canonical(name string) string {
	name = strings.ToLower(name)
	if alias, ok := aliases[name]; ok {
		return alias
	}
	return name
}

// Cloud returns the cloud that the arguments select. It asks the metadata service if one is set.
func (c *Config) Cloud(ctx context.Context, client *httpclient.Client) (*Cloud, error) {
	if c.MetadataHost != "" {
		found, err := c.describedCloud(ctx, client)
		if err != nil {
			return nil, fmt.Errorf("asking the metadata service %s, which \"metadata_host\" sets: %w", c.MetadataHost, err)
		}
		return found, nil
	}
	if found := clouds[canonical(c.Environment)]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("there is no Azure cloud %q; set \"environment\" to public, usgovernment or china",
		c.Environment)
}

// description is a metadata service's description of a cloud.
type description struct {
	Name           string `json:"name"`
	Authentication struct {
		LoginEndpoint string   `json:"loginEndpoint"`
		Audiences     []string `json:"audiences"`
	} `json:"authentication"`
	ResourceManager string `json:"resourceManager"`
	Suffixes        struct {
		Storage string `json:"storage"`
	} `json:"suffixes"`
}

// describedCloud returns the cloud that the metadata service describes under the name in the
// argument "environment". If the service describes only one cloud, it returns that cloud.
func (c *Config) describedCloud(ctx context.Context, client *httpclient.Client) (*Cloud, error) {
	u := &url.URL{Scheme: "https", Host: c.MetadataHost, Path: "/metadata/endpoints",
		RawQuery: "api-version=2022-09-01"}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it responded with %s", resp.Status)
	}
	body, err := limits.ReadAll(resp.Body, 1<<20, "the response")
	if err != nil {
		return nil, err
	}
	var all []description
	if err := json.Unmarshal(body, &all); err != nil {
		var one description // older services describe only their own cloud
		if err := json.Unmarshal(body, &one); err != nil {
			return nil, fmt.Errorf("its response doesn't describe clouds: %w", err)
		}
		all = []description{one}
	}
	for i := range all {
		if len(all) == 1 || canonical(all[i].Name) == canonical(c.Environment) {
			return all[i].cloud()
		}
	}
	return nil, fmt.Errorf("it doesn't describe a cloud %q; set \"environment\" to the name of one of its clouds",
		c.Environment)
}

func (d *description) cloud() (*Cloud, error) {
	if d.Authentication.LoginEndpoint == "" || d.Suffixes.Storage == "" {
		return nil, errors.New("its response lacks the login endpoint or the domain of storage accounts")
	}
	out := &Cloud{Login: d.Authentication.LoginEndpoint, Management: d.ResourceManager, Audience: d.ResourceManager,
		StorageSuffix: d.Suffixes.Storage, other: true}
	if len(d.Authentication.Audiences) > 0 {
		out.Audience = d.Authentication.Audiences[0]
	}
	return out, nil
}

// sdk returns the cloud in the form that azidentity expects.
func (c *Cloud) sdk() cloud.Configuration {
	return cloud.Configuration{ActiveDirectoryAuthorityHost: c.Login}
}
