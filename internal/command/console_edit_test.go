package command

import (
	"slices"
	"testing"
)

func TestComplete(t *testing.T) {
	words := []string{"length(", "local.zone", "local.zones", "lower(", "module.net", "module.net.id", "var.name"}
	for _, test := range []struct {
		line    string
		pos     int
		want    string
		wantPos int
		choices []string
	}{
		{"v", 1, "var.name", 8, nil},
		{"upper(va", 8, "upper(var.name", 14, nil},
		{"[len + 1]", 4, "[length( + 1]", 8, nil},
		{"local.z", 7, "local.zone", 10, nil},
		{"local.zone", 10, "local.zone", 10, []string{"local.zone", "local.zones"}},
		{"lo", 2, "lo", 2, []string{"local.zone", "local.zones", "lower("}},
		{"module.net.", 11, "module.net.id", 13, nil},
		{"nothing", 7, "nothing", 7, nil},
		{"", 0, "", 0, nil},
		{"1 + ", 4, "1 + ", 4, nil},
	} {
		line, pos, choices := completeName(words, test.line, test.pos)
		if line != test.want || pos != test.wantPos || !slices.Equal(choices, test.choices) {
			t.Errorf("%q at %d: got %q at %d with %q, want %q at %d with %q", test.line, test.pos, line, pos,
				choices, test.want, test.wantPos, test.choices)
		}
	}
}
