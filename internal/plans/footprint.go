package plans

import "tofu/internal/addrs"

// Footprint is what a plan writes, and what it has read to decide that. Stores that let several
// runs change one state apply a plan only if all of this is still as it was.
type Footprint struct {
	// Revision identifies the state that the plan was made from, in the way of the store.
	Revision uint64
	Writes   []Write
	// Reads are instances whose objects the plan has read. Wholes are resources for which it has read
	// which instances exist, and all their objects, in all module instances.
	Reads   []addrs.AbsInstance
	Wholes  []addrs.ConfigResource
	Outputs []string // root outputs that change
	// Foreign are outputs of other workspaces of the same store that the plan has read.
	Foreign []OutputsRead
}

// Write is an instance whose objects a plan changes.
type Write struct {
	Addr     addrs.AbsInstance
	Existed  bool // the state had an object of it
	Destroys bool // an object of it is destroyed
}
