// Package oci reads artifacts from OCI registries: providers' packages and module packages that were pushed there.
//
// It gives the sources of providers and the module installer what they need of the OCI distribution protocol, with the
// credentials that the CLI configuration and the configuration files of Docker and its relatives have.
//
// Invariants: registries are reached over HTTPS only; credentials go to the registry and its token service, never along
// with a redirect to another origin; a credential helper runs only when a configuration names it; content is verified
// against its digest.
package oci
