// Package azureauth finds the endpoints of an Azure cloud and the credentials for them, from the
// arguments that the azurerm backend and the azure_vault key provider share.
//
// The first method for which all arguments are present is used, in this order: a client
// certificate, a client secret, an OpenID Connect token, a managed identity, the workload identity
// of a Kubernetes cluster, the Azure command line. Package azidentity implements the protocols of
// Microsoft Entra ID. Its requests go through package httpclient.
//
// Invariants: nothing is read or requested before a token is needed; errors name the methods that
// were considered and what each of them lacks, and never contain a secret.
package azureauth
