//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"tofu/internal/testenv/azuretest"
	"tofu/internal/testenv/gcptest"
	"tofu/internal/testenv/hosts"
)

// prepareAzure creates a container for states.
func prepareAzure(g *gateway, name string) (*preparedStore, error) {
	account, err := url.Parse(os.Getenv("TEST_AZURE_URL"))
	if err != nil {
		return nil, err
	}
	azure := azuretest.New(account)
	container, err := azure.MakeContainer(context.Background(), name)
	if err != nil {
		return nil, err
	}
	g.unlock = func() { _ = container.BreakLease(context.Background(), "state") } // an error means there is no lease
	out, err := behindHosts(g, azure.Hosts())
	if err != nil {
		return nil, err
	}
	out.env = append(out.env, "ARM_ACCESS_KEY="+azure.AccessKey())
	out.block = fmt.Sprintf(`
terraform {
  backend "azurerm" {
    storage_account_name = %q
    container_name       = %q
    key                  = "state"
  }
}
`, azuretest.Account, name)
	return out, nil
}

// azureFaults are faults that exist only with leases.
var azureFaults = []storeFault{{"lease broken before it", false, nil}}

// prepareGCS creates a bucket for states.
func prepareGCS(g *gateway, name string) (*preparedStore, error) {
	service, err := url.Parse(os.Getenv("TEST_GCS_URL"))
	if err != nil {
		return nil, err
	}
	google, err := gcptest.New(service)
	if err != nil {
		return nil, err
	}
	if _, err := google.MakeBucket(context.Background(), name); err != nil {
		return nil, err
	}
	out, err := behindHosts(g, google.Hosts())
	if err != nil {
		return nil, err
	}
	out.env = append(out.env, "GOOGLE_OAUTH_ACCESS_TOKEN="+
		google.Token("https://www.googleapis.com/auth/cloud-platform"))
	out.block = fmt.Sprintf(`
terraform {
  backend "gcs" {
    bucket = %q
  }
}
`, name)
	return out, nil
}

// behindHosts starts a proxy that redirects requests for well-known hosts to the test servers. g
// counts these requests.
func behindHosts(g *gateway, servers map[string]http.Handler) (*preparedStore, error) {
	for host, server := range servers {
		servers[host] = g.watch(server)
	}
	dir, err := os.MkdirTemp("", "hosts")
	if err != nil {
		return nil, err
	}
	proxy, err := hosts.New(dir, servers)
	if err != nil {
		return nil, err
	}
	out := &preparedStore{close: func() {
		_ = proxy.Close()
		_ = os.RemoveAll(dir)
	}}
	for name, value := range proxy.Env() {
		out.env = append(out.env, name+"="+value)
	}
	return out, nil
}
