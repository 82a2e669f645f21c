// Package registry implements the HTTP protocols of provider and module registries: service
// discovery, fetching documents and packages, and the module registry protocol.
//
// Provider sources and the module installer share one [Client]. A host's services are therefore
// discovered only once per run, and all requests follow the same rules for credentials, retries and
// redirects.
//
//	client := registry.New(cliConfig)
//	base, err := client.Service(ctx, "example.com", "providers.v1")
//	…
//	doc, err := client.Get(ctx, base.JoinPath("acme/lab/versions"), "example.com")
//
// Invariants: a token is sent with service discovery on its host and with requests for documents of
// the registry or mirror; it is sent with package downloads only if the registry asks for that, and
// never to another origin after a redirect; responses are limited in size and time; a request is
// repeated only if that can help; canceling a context stops everything.
package registry
