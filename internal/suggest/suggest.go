// Package suggest finds the existing name that is most similar to a misspelled one, for error
// messages.
//
// Invariants: if several names have the same distance, the first one in the caller's list wins. A
// name whose distance is greater than two is never suggested.
package suggest

import (
	"fmt"
	"strings"
)

// maxDistance is the largest edit distance at which a name is suggested.
const maxDistance = 2

// Nearest returns the name that is most similar to the given one, or "" if no name is similar
// enough.
func Nearest(given string, names []string) string {
	best, distance := "", maxDistance+1
	for _, name := range names {
		if d := Distance(given, name, distance); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// DidYouMean returns a sentence that suggests the nearest name, or "" if no name is similar enough.
// The sentence starts with a space. The name is quoted unless it contains quotes itself, as some
// addresses do.
func DidYouMean(given string, names []string) string {
	switch near := Nearest(given, names); {
	case near == "":
		return ""
	case strings.Contains(near, `"`):
		return fmt.Sprintf(" Did you mean %s?", near)
	default:
		return fmt.Sprintf(" Did you mean %q?", near)
	}
}

// Distance returns the number of letters to insert, delete, replace or swap with a neighbor to turn one
// word into the other, counted in code points. If the distance is limit or more, it returns limit.
func Distance(from, to string, limit int) int {
	a, b := []rune(from), []rune(to)
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	// rows[i%3][j] is the distance between the first i letters of a and the first j letters of b.
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above := rows[i%3], rows[(i-1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			d := above[j-1]
			if a[i-1] != b[j-1] {
				d = 1 + min(d, above[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, 1+rows[(i-2)%3][j-2])
			}
			row[j] = d
		}
	}
	return min(rows[len(a)%3][len(b)], limit)
}
