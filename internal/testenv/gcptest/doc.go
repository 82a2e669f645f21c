// Package gcptest serves the parts of Google Cloud that have no emulator: the OAuth 2.0 token
// endpoint, the credentials of impersonated service accounts, the metadata server, and Cloud KMS.
//
// The servers use the documented protocols; Cloud KMS supports both HTTP and gRPC. They check what
// the real services check: signatures of service accounts, tokens and their scopes, checksums, and
// additional authenticated data. With a proxy of package hosts, clients reach them under the real
// host names.
package gcptest
