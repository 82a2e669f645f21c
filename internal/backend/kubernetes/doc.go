// Package kubernetes keeps states in secrets of a Kubernetes cluster, in the layout of OpenTofu.
//
// The secret tfstate-WORKSPACE-SUFFIX holds the compressed state. The lease
// lock-tfstate-WORKSPACE-SUFFIX is its lock: the lock is held if the spec of the lease names a
// holder, and an annotation describes the holder. Labels mark both objects and name the workspace.
// A state has to fit into one secret, which the API server limits to 1 MiB.
//
// Invariants: a secret and a lease are replaced only if they still have the resource version that
// was read. A write whose response was lost is recognized by reading the object. Credentials come
// from kubeconfig files, the arguments of the block, a plugin or the pod, as in kubectl; plugins
// run when the first request is sent.
package kubernetes
