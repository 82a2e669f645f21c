package plans

import (
	"fmt"
	"strconv"
	"time"
)

// Looked says how many of the stored objects a plan has read. It is in this form in JSON output.
type Looked struct {
	Objects int `json:"objects"`
	Read    int `json:"read"`
	// Oldest is when the oldest of the others was last read. Unknown is the number of the others for
	// which that is not known; if it is all of them, Oldest is zero.
	Oldest  time.Time `json:"oldest,omitzero"`
	Unknown int       `json:"unknown,omitempty"`
}

// Plus adds what another plan has read, of its own objects.
func (l Looked) Plus(other Looked) Looked {
	l.Objects, l.Read, l.Unknown = l.Objects+other.Objects, l.Read+other.Read, l.Unknown+other.Unknown
	if l.Oldest.IsZero() || !other.Oldest.IsZero() && other.Oldest.Before(l.Oldest) {
		l.Oldest = other.Oldest
	}
	return l
}

// Text returns a sentence about what the plan has not read, without a period. at is the time of the
// plan.
func (l *Looked) Text(at time.Time) string {
	text := fmt.Sprintf("Looked at %s of %s", grouped(l.Read), grouped(l.Objects))
	if l.Objects == 1 {
		text += " object; "
	} else {
		text += " objects; "
	}
	switch {
	case l.Oldest.IsZero():
		return text + "when the others were last read is not known"
	case l.Unknown > 0:
		return text + fmt.Sprintf("the oldest of the others was read %s, and of %s it is not known when", ago(at.Sub(l.Oldest)),
			grouped(l.Unknown))
	}
	return text + "the oldest of the others was read " + ago(at.Sub(l.Oldest))
}

// grouped returns a number with a comma after each group of three digits.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func ago(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		switch n := int(d / unit.of); {
		case n == 1:
			return "1 " + unit.name + " ago"
		case n > 1:
			return grouped(n) + " " + unit.name + "s ago"
		}
	}
	return "less than a minute ago"
}
