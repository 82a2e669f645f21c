package configs

import "tofu/internal/spelling"

// didYouMean is the sentence that offers the nearest name, with a leading space; empty when none is near.
func didYouMean(given string, names []string) string {
	if near := spelling.Nearest(given, names); near != "" {
		return ` Did you mean "` + near + `"?`
	}
	return ""
}
