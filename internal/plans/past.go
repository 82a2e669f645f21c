package plans

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tofu/internal/addrs"
)

// Past says that a plan brings objects back to how they were at an earlier time, with the current
// configuration.
type Past struct {
	At   time.Time // time of the state with the earlier objects
	Run  string    // ID of the run that ended with that state; "" if the user named a time
	Lost []Lost    // what the plan can't bring back, sorted by address
}

// Lost describes what a plan against an earlier time can't bring back for one object.
type Lost struct {
	Addr addrs.AbsInstance
	Why  LostReason
	// Attributes holds the sorted names of the attributes that will or may differ from their
	// earlier values.
	Attributes []string
	// MovedTo is the present address of the object, if Why is LostMove.
	MovedTo *addrs.AbsInstance
}

// LostReason is why an object will not be as it was. Its text is the one in JSON output.
type LostReason string

const (
	// LostIdentity means that the object no longer exists or must be replaced. A new object gets
	// its values.
	LostIdentity LostReason = "created_anew"
	// LostAttributes means that the provider decides the attributes, or that the configuration
	// ignores changes to them.
	LostAttributes LostReason = "attributes_differ"
	// LostConfig means that the object has changed since that time. It stays as it is now, because
	// the configuration does not declare it.
	LostConfig LostReason = "not_declared"
	// LostRemoval means that the object was removed from the state without being destroyed. It is
	// imported again, although another state may have it by now.
	LostRemoval LostReason = "imported_again"
	// LostImport means that the object was imported after that time and is therefore not destroyed.
	LostImport LostReason = "imported_since"
	// LostOther means that another object was imported to the same address after that time.
	LostOther LostReason = "other_object"
	// LostPlace means that the object no longer exists and that another object was moved to its
	// address.
	LostPlace LostReason = "address_taken"
	// LostMove means that the object was moved to an address that the configuration does not
	// declare.
	LostMove LostReason = "moved"
)

// Text says what is lost. The text continues a sentence that begins with the address.
func (l *Lost) Text() string {
	switch l.Why {
	case LostIdentity:
		return "will be a new object. These attributes get different values: " + strings.Join(l.Attributes, ", ")
	case LostConfig:
		return "has changed since and stays as it is now, because the configuration does not declare it"
	case LostRemoval:
		return "was removed from the state but not destroyed, and is imported again. If another state has it now, " +
			"leave it out with -exclude"
	case LostImport:
		return "was imported since: no run is known to have created it. It is removed from the state, not destroyed, " +
			"and stays as it is now"
	case LostOther:
		return "is another object now, which was imported since: no run is known to have created it. It stays as it " +
			"is now"
	case LostPlace:
		return "no longer exists in the state, and another object was moved to its address since. It is not created " +
			"anew"
	case LostMove:
		return fmt.Sprintf("has since been moved to %s, which the configuration does not declare. Move it back with "+
			"\"tofu state mv\"", l.MovedTo)
	}
	return "may differ in these attributes: " + strings.Join(l.Attributes, ", ")
}

// When says which state the plan goes back to: "at the end of the run ID (TIME)" or "at TIME".
func (p *Past) When() string {
	at := p.At.UTC().Format(time.RFC3339)
	if p.Run != "" {
		return "at the end of the run " + p.Run + " (" + at + ")"
	}
	return "at " + at
}

// Sort sorts Lost by address.
func (p *Past) Sort() {
	slices.SortFunc(p.Lost, func(x, y Lost) int { return cmp.Or(x.Addr.Compare(y.Addr), cmp.Compare(x.Why, y.Why)) })
}
