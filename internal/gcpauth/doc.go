// Package gcpauth finds credentials for Google Cloud and authenticates requests with them, for the
// gcs backend and the gcp_kms key provider.
//
// It uses the first of these that is present: an access token, a credentials file or its content,
// Application Default Credentials. With these credentials, it can impersonate a service account.
// Package golang.org/x/oauth2/google reads the files and implements the protocols. Its requests go
// through package httpclient.
//
// Invariants: nothing is read or requested before a token is needed; errors name the places that
// were searched for credentials, and never contain a secret.
package gcpauth
