package version

import (
	"runtime/debug"
	"testing"
)

func TestCommit(t *testing.T) {
	for _, c := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, "unknown"},
		{[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, "unknown"},
		{[]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}, "abc"},
		{[]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}, "abc-dirty"},
	} {
		if got := commitOf(c.settings); got != c.want {
			t.Errorf("commitOf(%v) = %q, want %q", c.settings, got, c.want)
		}
	}
}

// TestLinked checks that the value that the linker sets is used everywhere.
func TestLinked(t *testing.T) {
	old := commit
	defer func() { commit = old }()
	for whole, short := range map[string]string{"0123456789abcdef-dirty": "0123456789ab-dirty",
		"0123456789abcdef": "0123456789ab", "v1": "v1"} {
		commit = whole
		if got := Engine(); got != (Info{"tofu", Own, whole}) {
			t.Errorf("Engine() = %v", got)
		}
		if want := "tofu " + Own + " (commit " + short + ")"; Build() != want {
			t.Errorf("Build() = %q, want %q", Build(), want)
		}
	}
}
