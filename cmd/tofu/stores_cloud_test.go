package main

import (
	"context"
	"maps"
	"net/url"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"tofu/internal/testenv/azuretest"
	"tofu/internal/testenv/gcptest"
	"tofu/internal/testenv/hosts"
)

// clouds holds the test servers of Azure and Google Cloud, and the proxy to them.
type clouds struct {
	azure *azuretest.Server
	gcp   *gcptest.Server
	proxy *hosts.Proxy
}

// startClouds starts the servers when a script first needs them. They run until all tests have
// ended.
var startClouds = sync.OnceValues(func() (*clouds, error) {
	service := func(variable string) *url.URL {
		u, err := url.Parse(os.Getenv(variable))
		if err != nil || u.Host == "" {
			return nil
		}
		return u
	}
	gcp, err := gcptest.New(service("TEST_GCS_URL"))
	if err != nil {
		return nil, err
	}
	c := &clouds{azure: azuretest.New(service("TEST_AZURE_URL")), gcp: gcp}
	for host, key := range map[string]string{"states.vault.azure.net": "rsa", "states.managedhsm.azure.net": "aes256"} {
		if err := c.azure.Rotate(host, key); err != nil {
			return nil, err
		}
	}
	all := c.azure.Hosts()
	maps.Copy(all, c.gcp.Hosts())
	dir, err := os.MkdirTemp("", "clouds")
	if err != nil {
		return nil, err
	}
	c.proxy, err = hosts.New(dir, all)
	return c, err
})

// useClouds redirects the requests of a script's programs to the test servers.
func useClouds(ts *testscript.TestScript) *clouds {
	c, err := startClouds()
	ts.Check(err)
	for name, value := range c.proxy.Env() {
		ts.Setenv(name, value)
	}
	return c
}

// vaultStore makes the key vaults available to the script. It sets the key provider's environment
// variables for credentials.
func vaultStore(ts *testscript.TestScript, _ string) store {
	useClouds(ts)
	ts.Setenv("ARM_TENANT_ID", azuretest.Tenant)
	ts.Setenv("ARM_CLIENT_ID", azuretest.ClientID)
	ts.Setenv("ARM_CLIENT_SECRET", azuretest.Secret)
	return nil
}

// gcpKMSStore makes Cloud KMS available to the script. It sets the key provider's environment
// variable for a token, and KEY to the name of the key.
func gcpKMSStore(ts *testscript.TestScript, _ string) store {
	ts.Setenv("GOOGLE_OAUTH_ACCESS_TOKEN", useClouds(ts).gcp.Token("https://www.googleapis.com/auth/cloud-platform"))
	ts.Setenv("KEY", gcptest.Key)
	return nil
}

// azureStore creates a container. It sets CONTAINER to the container's name, and the backend's
// environment variable to the access key of the storage account.
func azureStore(ts *testscript.TestScript, name string) store {
	c := useClouds(ts)
	container, err := c.azure.MakeContainer(context.Background(), name)
	ts.Check(err)
	ts.Setenv("CONTAINER", name)
	ts.Setenv("ACCOUNT", azuretest.Account)
	ts.Setenv("ARM_ACCESS_KEY", c.azure.AccessKey())
	return container
}

// gcsStore creates a bucket. It sets BUCKET to the bucket's name, and the backend's environment
// variable to an access token.
func gcsStore(ts *testscript.TestScript, name string) store {
	c := useClouds(ts)
	bucket, err := c.gcp.MakeBucket(context.Background(), name)
	ts.Check(err)
	ts.Setenv("BUCKET", name)
	ts.Setenv("GOOGLE_OAUTH_ACCESS_TOKEN", c.gcp.Token("https://www.googleapis.com/auth/cloud-platform"))
	return bucket
}
