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

// Distance returns the Levenshtein distance between two words, counted in code points. If the
// distance is limit or more, it returns limit.
func Distance(from, to string, limit int) int {
	a, b := []rune(from), []rune(to)
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1) // distances from the current prefix of a to every prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return min(row[len(b)], limit)
}
