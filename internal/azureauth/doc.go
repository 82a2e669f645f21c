// Package azureauth finds the endpoints of an Azure cloud and the credentials for them, from the
// arguments that the azurerm backend and the azure_vault key provider share.
//
// The first method for which all arguments are present is used, in this order: a client
// certificate, a client secret, an OpenID Connect token, a managed identity, the workload identity
// of a Kubernetes cluster, the Azure command line. Package azidentity implements the protocols of
// Microsoft Entra ID. Its requests go through package httpclient.
//
// Invariants: no credential is used and no token is requested before a token is needed. Config.Check
// only reads the files of client_id_file_path and client_secret_file_path, and Config.Cloud only
// asks the metadata service. If no method can be used, the error names what each of them lacks.
// Errors never contain a secret.
package azureauth
