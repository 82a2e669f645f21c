// Package remote keeps states in services for teams, over the JSON interface that such services
// share. It has two drivers: remote, for the backend block of that name, and cloud, for the cloud
// block. Operations run here; the service stores states and locks.
//
// A workspace of this program is a workspace of the service. If the settings name a workspace, it
// is the only one. The remote backend calls it "default", and a cloud block uses its own name. With
// a prefix or with tags, there are several workspaces, and none of them is called "default".
//
// Invariants: a state is written only while this process has locked the workspace, and only over
// the version that was read. A version whose response was lost is recognized by its content. If the
// service runs the operations of a workspace, they do not run here, unless the user requests that
// with TF_FORCE_LOCAL_BACKEND.
package remote
