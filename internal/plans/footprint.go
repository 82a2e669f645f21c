package plans

import "tofu/internal/addrs"

// Footprint describes what a plan writes, and what was read to create it. Some stores let several
// runs change the same state at the same time. They apply a plan only if nothing in its footprint
// has changed.
type Footprint struct {
	// Revision identifies the state from which the plan was created. Its form depends on the store.
	Revision uint64
	Writes   []Write
	// Reads holds the instances whose objects the plan has read. Wholes holds the resources that
	// the plan has read as a whole: which instances exist in all module instances, and all of their
	// objects.
	Reads   []addrs.AbsInstance
	Wholes  []addrs.ConfigResource
	Outputs []string // root outputs that change
	// Foreign holds the outputs of other workspaces in the same store that the plan has read. Plan
	// files don't contain it: it is set from Plan.Remote when the plan is applied, because the store
	// must be open to decide which of these outputs it has.
	Foreign []OutputsRead
}

// Write is an instance whose objects a plan changes.
type Write struct {
	Addr     addrs.AbsInstance
	Existed  bool // whether the state has an object of the instance
	Destroys bool // whether an object of the instance is destroyed
}
