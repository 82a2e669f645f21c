// Package suggest finds the existing name that a misspelt name is most like, for error messages.
//
// Invariants: of names at the same distance the first wins, so the order of the caller's list
// decides. A name at a distance greater than two is never suggested.
package suggest

import (
	"fmt"
	"strings"
)

// maxDistance is the largest edit distance at which a name is suggested.
const maxDistance = 2

// Nearest returns the name most like given, or "" if none is near.
func Nearest(given string, names []string) string {
	best, distance := "", maxDistance+1
	for _, name := range names {
		if d := Distance(given, name, distance); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// DidYouMean returns a sentence that suggests the nearest name, with a leading space, or "" if no
// name is near. The name is quoted unless it contains quotes itself, as addresses may.
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

// Distance returns the Levenshtein distance of two words in code points, or limit if the distance
// is not less than limit.
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
