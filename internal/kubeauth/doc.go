// Package kubeauth finds a Kubernetes cluster and authenticates requests to it, for the kubernetes
// backend. The cluster and the credentials come from kubeconfig files, as kubectl reads them, or
// from the pod that this program runs in. The client library of Kubernetes is not used, because it
// would be ten times as large as the rest of the backend.
//
// Credentials are bearer tokens, files with tokens, passwords, client certificates and kubectl's
// credential plugins. In addition, another user can be impersonated.
//
// Invariants: files are read once, except token files. Token files are read for each request,
// because tokens are replaced before they expire. A plugin runs when the first request needs it,
// again after its credentials have expired, and once more if the cluster refuses them. Credentials
// are sent only to the cluster, not to a host that it redirects to.
package kubeauth
