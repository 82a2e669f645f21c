package plans

import "tofu/internal/addrs"

// RemoteRead describes the outputs of another state that a plan has read with a
// terraform_remote_state data source. The plan can be applied only while these outputs are
// unchanged.
type RemoteRead struct {
	Data    addrs.AbsInstance
	Backend string
	Config  []byte // the settings of the backend, as JSON
	OutputsRead
}

// OutputsRead says which outputs of a workspace were read, and at which revision of its state.
type OutputsRead struct {
	Workspace string
	Revision  uint64   // revision of the state that was read; its form depends on the store
	Names     []string // names of the outputs that are used, including missing ones; sorted
	Missing   []string // names in Names that did not exist; sorted
	All       bool     // whether the names of all existing outputs were read, too
}
