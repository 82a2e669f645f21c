// Package kubetest serves the parts of the Kubernetes API that are needed to keep states: secrets
// and leases of namespaces, in memory, with resource versions, conflicts, label selectors, size
// limits and bearer tokens. It is for tests only.
//
// Invariants: each write gets a new resource version; an update or deletion that names another
// resource version, or another UID, is a conflict; error responses are Status objects.
package kubetest
