package planview

import (
	"regexp"
	"slices"

	"tofu/internal/addrs"
)

// numbers matches the numbers in a value.
var numbers = regexp.MustCompile(`[0-9]+`)

// numberOf returns an instance key that is a number as text, and the expression for it. It returns
// "" for other keys.
func numberOf(key addrs.InstanceKey) (text, stands string) {
	if _, ok := key.IsInt(); ok {
		return numbers.FindString(key.String()), countText
	}
	if s, ok := key.IsString(); ok && s != "" && numbers.FindString(s) == s {
		return s, eachText
	}
	return "", ""
}

// A pattern is a group of changes that differ only in numbers, each of which is the key of the
// instance wherever it differs.
type pattern struct {
	group  *Group
	found  []string // numbers in the fields of the first change
	same   []bool   // whether the number is equal in all changes
	stands string
}

// texts calls each with the texts of fields that patterns compare. Old values that become unknown
// may differ in any way.
func texts(fields []Field, each func(*string)) {
	for i := range fields {
		if !fields[i].Unknown {
			each(&fields[i].Before)
		}
		each(&fields[i].After)
	}
}

// newPattern returns the pattern of a change whose key is a number, and the hash of the change
// without any numbers.
func (f *folded) newPattern(stands string) (p *pattern, shape string) {
	p = &pattern{group: f.Group, stands: stands}
	fields := slices.Clone(f.Fields)
	texts(fields, func(text *string) {
		p.found = append(p.found, numbers.FindAllString(*text, -1)...)
		*text = numbers.ReplaceAllString(*text, "\x00")
	})
	p.same = slices.Repeat([]bool{true}, len(p.found))
	return p, f.hash(fields)
}

// join adds the change of another pattern with the same shape, and reports whether it fits.
func (p *pattern) join(other *pattern) bool {
	own, _ := numberOf(p.group.Addr.Key)
	key, _ := numberOf(other.group.Addr.Key)
	same := slices.Clone(p.same)
	for i, n := range other.found {
		same[i] = same[i] && n == p.found[i]
		if !same[i] && (p.found[i] != own || n != key) {
			return false
		}
	}
	p.same = same
	p.group.add(other.group.Change, other.group.Fields)
	return true
}

// finish writes the expression for the key into the fields of the group. It is called once, after the
// last join.
func (p *pattern) finish() {
	next := 0
	p.group.Fields = slices.Clone(p.group.Fields)
	texts(p.group.Fields, func(text *string) {
		*text = numbers.ReplaceAllStringFunc(*text, func(n string) string {
			next++
			if p.same[next-1] {
				return n
			}
			return p.stands
		})
	})
}

// maxPatterns is the maximum number of patterns of one shape with which a change is compared.
const maxPatterns = 8

// patterns holds the latest patterns of each shape.
type patterns map[string][]*pattern

// join adds a change to a pattern, and reports whether there was one. If not, the change becomes a
// pattern if its key is a number.
func (all patterns) join(f *folded) bool {
	_, stands := numberOf(f.Addr.Key)
	if stands == "" {
		return false
	}
	p, shape := f.newPattern(stands)
	list := all[shape]
	for _, known := range list {
		if known.join(p) {
			return true
		}
	}
	if len(list) == maxPatterns {
		list[0].finish()
		list = list[1:]
	}
	all[shape] = append(list, p)
	return false
}
