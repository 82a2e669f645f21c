package plans

import "tofu/internal/addrs"

// Footprint describes what a plan writes, and what was read to make the plan. Some stores let
// several runs change one state. They apply a plan only if nothing in its footprint has changed.
type Footprint struct {
	// Revision identifies the state that the plan was made from. Its form depends on the store.
	Revision uint64
	Writes   []Write
	// Reads holds the instances whose objects the plan has read. Wholes holds the resources for
	// which the plan has read which instances exist, and all their objects, in all module
	// instances.
	Reads   []addrs.AbsInstance
	Wholes  []addrs.ConfigResource
	Outputs []string // root outputs that change
	// Foreign holds the outputs of other workspaces in the same store that the plan has read.
	Foreign []OutputsRead
}

// Write is an instance whose objects a plan changes.
type Write struct {
	Addr     addrs.AbsInstance
	Existed  bool // the state had an object of the instance
	Destroys bool // an object of the instance is destroyed
}
