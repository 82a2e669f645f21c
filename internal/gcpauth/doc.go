// Package gcpauth finds credentials for Google Cloud and authenticates requests with them, for the
// gcs backend and the gcp_kms key provider.
//
// The first of these is used: an access token, a credentials file or its content, Application
// Default Credentials. With these credentials, a service account may be impersonated. Package
// golang.org/x/oauth2/google reads the files and implements the protocols. Its requests go through
// package httpclient.
//
// Invariants: nothing is read or requested before a token is needed; errors name the places that
// were searched and never contain a secret.
package gcpauth
