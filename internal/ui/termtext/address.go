package termtext

import (
	"regexp"
	"strings"
)

// instanceKey matches an instance key with its brackets.
var instanceKey = regexp.MustCompile(`\[(?:\d+|"(?:[^"\\]|\\.)*")\]`)

// minPart is the minimum number of columns that a shortened part of an address keeps.
const minPart = 4

// CutAddress is like CutMiddle, but keeps the instance keys in an address if there is room.
func CutAddress(address string, columns int) string {
	over := Width(address) - columns
	if over <= 0 {
		return address
	}
	var parts []string // alternately names and keys
	end := 0
	for _, at := range instanceKey.FindAllStringIndex(address, -1) {
		parts = append(parts, address[end:at[0]], address[at[0]:at[1]])
		end = at[1]
	}
	parts = append(parts, address[end:])
	widths := make([]int, (len(parts)+1)/2)
	for i := range widths {
		widths[i] = Width(parts[2*i])
	}
	for ; over > 0; over-- {
		longest := 0
		for i, n := range widths {
			if n > widths[longest] {
				longest = i
			}
		}
		if widths[longest] <= minPart {
			return CutMiddle(address, columns)
		}
		widths[longest]--
	}
	for i, n := range widths {
		parts[2*i] = CutMiddle(parts[2*i], n)
	}
	return strings.Join(parts, "")
}
