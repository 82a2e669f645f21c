// Package registry speaks HTTP to the services that providers and modules come from: it discovers a host's services,
// fetches documents and packages, and knows the module registry protocol.
//
// Sources of providers and the module installer share one [Client], so that a host is discovered once per run and all
// follow the same rules about credentials, retries and redirects.
//
// Invariants: a token goes to the host's service discovery and to the registry's or mirror's own documents, never to
// packages unless the registry asks for that, and never along with a redirect to another origin; what comes back is
// limited in size and time; a request is repeated only when a repetition can help; a cancelled context stops
// everything at once.
package registry
