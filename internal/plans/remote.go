package plans

import "tofu/internal/addrs"

// RemoteRead is what a plan has read of the outputs of another state, by a terraform_remote_state
// data source. The plan can be applied only while these outputs are as they were.
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
