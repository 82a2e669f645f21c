// Package kubeauth finds a Kubernetes cluster and authenticates requests to it, for the kubernetes
// backend. The cluster and the credentials come from kubeconfig files, as kubectl reads them, or
// from the pod that this program runs in. It replaces the client library of Kubernetes, which is
// ten times as large as all other parts of the backend.
//
// Credentials are bearer tokens, files of tokens, passwords, client certificates and the programs
// that kubectl calls credential plugins, with impersonation on top.
//
// Invariants: files are read once, except files of tokens, which are read for each request because
// they are replaced before they expire. A plugin runs with the first request that needs it, again
// after its credentials have expired, and once more if the cluster refuses them. Credentials are
// sent to the cluster only, not to a host that it redirects to.
package kubeauth
