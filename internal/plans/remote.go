package plans

import "tofu/internal/addrs"

// RemoteRead holds the outputs of another state that a plan has read with a terraform_remote_state
// data source. The plan can be applied only while they are unchanged.
type RemoteRead struct {
	Data    addrs.AbsInstance
	Backend string
	Config  []byte // the settings of the backend, as JSON
	OutputsRead
}

// OutputsRead says which outputs of a workspace were read, and when.
type OutputsRead struct {
	Workspace string
	Revision  uint64   // of the state that was read, in the way of the store
	Names     []string // those that are used, also missing ones; sorted
	Missing   []string // those of Names that did not exist; sorted
	All       bool     // which other outputs exist was read as well
}
