// Package kubernetes keeps states in secrets of a Kubernetes cluster, in the layout of OpenTofu.
//
// The secret tfstate-WORKSPACE-SUFFIX holds the compressed state, the lease
// lock-tfstate-WORKSPACE-SUFFIX its lock: a lease whose spec names a holder is a held lock, and an
// annotation describes the holder. Labels mark both and name the workspace. A state has to fit into
// one secret, which the API server limits to 1 MiB.
//
// Invariants: a secret and a lease are replaced only if they still have the resource version that
// was read. A write whose response was lost is recognized by reading the object. Credentials come
// from kubeconfig files, the arguments of the block, a plugin or the pod, as in kubectl; plugins
// run with the first request.
package kubernetes
