// Package gcptest serves the parts of Google Cloud that have no emulator: the OAuth 2.0 token
// endpoint, the credentials of impersonated service accounts, the metadata server, and Cloud KMS.
//
// The servers speak the documented protocols, Cloud KMS both its HTTP interface and gRPC, and check
// what a real service checks: the signatures of service accounts, tokens and their scopes,
// checksums and additional authenticated data. They answer for their real hosts through a proxy of
// package hosts.
package gcptest
