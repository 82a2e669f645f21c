package command

import "testing"

func TestGreen(t *testing.T) {
	const on, off = "\x1b[32m\x1b[1m", "\x1b[0m"
	for text, want := range map[string]string{
		"Success! The configuration is valid.": on + "Success!" + off + " The configuration is valid.",
		"\nImport successful!":                 "\n" + on + "Import successful!" + off,
		"\nThe state was repaired.":            "\n" + on + "The state was repaired." + off,
	} {
		if got := green(text); got != want {
			t.Errorf("%q", got)
		}
	}
}
