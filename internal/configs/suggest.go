package configs

import "github.com/agext/levenshtein"

// nearest finds the name that was probably meant; empty when none is near.
func nearest(given string, names []string) string {
	best, distance := "", 3 // further away is no slip of the pen
	for _, name := range names {
		if d := levenshtein.Distance(given, name, nil); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// didYouMean is the sentence that offers the nearest name, with a leading space; empty when none is near.
func didYouMean(given string, names []string) string {
	if near := nearest(given, names); near != "" {
		return ` Did you mean "` + near + `"?`
	}
	return ""
}
