// Package oci reads artifacts from OCI registries: packages of providers and modules.
//
// It implements the parts of the OCI distribution protocol that provider sources and the module
// installer need. Credentials come from the CLI configuration and from the configuration files of
// Docker and compatible tools.
//
// Invariants: registries are accessed over HTTPS only; credentials are sent to the registry and its
// token service, never to another origin after a redirect; a credential helper runs only if a
// configuration names it; content is verified against its digest.
package oci
