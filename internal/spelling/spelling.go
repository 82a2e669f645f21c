// Package spelling finds the name that was meant where another one was written, for error messages.
//
// Invariants: names that are as near as one another are told apart by their order, so the caller's order decides; what is further
// away than a slip of the pen is not guessed at.
package spelling

import "fmt"

// slip is how many letters may be wrong, missing or too many.
const slip = 2

// Nearest gives the first of the names that are most like the given one, "" when none is near.
func Nearest(given string, names []string) string {
	best, distance := "", slip+1
	for _, name := range names {
		if d := Distance(given, name, distance); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// DidYouMean is the sentence that offers the nearest name, with a space before it; empty when none is near.
func DidYouMean(given string, names []string) string {
	if near := Nearest(given, names); near != "" {
		return fmt.Sprintf(" Did you mean %q?", near)
	}
	return ""
}

// Distance is how many letters have to be changed, left out or put in to make one word of the other (Levenshtein's distance), or the
// limit where it is not less.
func Distance(from, to string, limit int) int {
	a, b := []rune(from), []rune(to)
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1) // the distances from the first letters of a to all beginnings of b
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
