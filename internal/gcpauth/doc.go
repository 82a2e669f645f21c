// Package gcpauth finds credentials of Google Cloud and authenticates requests with them, for the
// gcs backend and the gcp_kms key provider.
//
// The first of these is used: an access token, a credentials file or its content, Application
// Default Credentials. With them, a service account may be impersonated. Files and protocols are
// those of package golang.org/x/oauth2/google; its requests go through package httpclient.
//
// Invariants: nothing is read or requested before a token is needed; errors name the places that
// were looked at and never contain a secret.
package gcpauth
