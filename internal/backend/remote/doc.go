// Package remote keeps states in services for teams, over the JSON interface that such services
// share. It has two drivers: remote, for the backend block of that name, and cloud, for the cloud
// block. Operations run here; the service stores states and locks.
//
// A workspace is one of the service. With a name in the settings there is only that one, which is
// called "default" by the remote backend and by its own name with a cloud block. With a prefix or
// with tags there are several, and none is called "default".
//
// Invariants: a state is written only while this process has locked the workspace, and only over
// the version that was read. A version whose response was lost is recognized by its content. A
// workspace that the service runs operations for is not operated on here, unless the user demands
// it with TF_FORCE_LOCAL_BACKEND.
package remote
