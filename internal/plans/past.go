package plans

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tofu/internal/addrs"
)

// Past describes a plan that returns objects to an earlier time, with the current configuration.
type Past struct {
	At   time.Time // time of the earlier state; zero if the plan undoes what was changed outside
	Undo string    // ID of the only run whose changes are taken back, or ""
	Run  string    // ID of the run that ended with the earlier state; "" if the user named a time
	Lost []Lost    // what the plan can't bring back, sorted by address
}

// Lost describes in which way a plan can't return one object to an earlier time.
type Lost struct {
	Addr addrs.AbsInstance
	Why  LostReason
	// Attributes holds the sorted names of the attributes that will or may differ from their
	// earlier values.
	Attributes []string
	// MovedTo is the present address of the object, if Why is LostMove.
	MovedTo *addrs.AbsInstance
}

// LostReason says why an object will differ from its earlier version. The strings are those in JSON
// output.
type LostReason string

const (
	// LostIdentity means that the object no longer exists or must be replaced. A new object gets
	// its earlier values.
	LostIdentity LostReason = "created_anew"
	// LostAttributes means that the provider decides the attributes, or that the configuration
	// ignores changes to them.
	LostAttributes LostReason = "attributes_differ"
	// LostConfig means that the object has changed since the earlier time, and that the
	// configuration does not declare it. It stays as it is now.
	LostConfig LostReason = "not_declared"
	// LostRemoval means that the object was removed from the state without being destroyed. It is
	// imported again, although it may be in another state by now.
	LostRemoval LostReason = "imported_again"
	// LostImport means that the object was imported after the earlier time. Therefore it is not
	// destroyed.
	LostImport LostReason = "imported_since"
	// LostOther means that another object was imported to the same address after the earlier time.
	LostOther LostReason = "other_object"
	// LostPlace means that the object no longer exists, and that another object was moved to its
	// address.
	LostPlace LostReason = "address_taken"
	// LostMove means that the object was moved to an address that the configuration does not
	// declare.
	LostMove LostReason = "moved"
)

// Text returns what is lost, as the rest of a sentence that begins with the object's address.
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

// When describes the time to which the plan returns: "at the end of the run ID (TIME)", "at TIME" or
// "before they were changed outside"; and "before the run ID" if it takes back only that run.
func (p *Past) When() string {
	switch p.Undo {
	case "":
	case "last":
		return "before the last run"
	default:
		return "before the run " + p.Undo
	}
	if p.At.IsZero() {
		return "before they were changed outside"
	}
	at := p.At.UTC().Format(time.RFC3339)
	if p.Run != "" {
		return "at the end of the run " + p.Run + " (" + at + ")"
	}
	return "at " + at
}

// Sort sorts Lost by address and reason.
func (p *Past) Sort() {
	slices.SortFunc(p.Lost, func(x, y Lost) int { return cmp.Or(x.Addr.Compare(y.Addr), cmp.Compare(x.Why, y.Why)) })
}
