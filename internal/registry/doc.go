// Package registry implements the HTTP protocols of provider and module registries: service
// discovery, fetching documents and packages, and the module registry protocol.
//
// Sources of providers and the module installer share one [Client], so that a host is discovered
// once per run, and all requests follow the same rules for credentials, retries and redirects.
//
//	client := registry.New(cliConfig, version.String)
//	base, err := client.Service(ctx, "example.com", "providers.v1")
//	…
//	doc, err := client.Get(ctx, base.JoinPath("acme/lab/versions"), "example.com")
//
// Invariants: a token is sent to the host's service discovery and to the documents of the registry
// or mirror, to packages only if the registry asks for that, and never to another origin after a
// redirect; responses are limited in size and time; a request is repeated only if that can help;
// canceling a context stops everything.
package registry
