package suggest

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"apply", "destroy", "größe", "plan", "plans"}
	for given, want := range map[string]string{
		"aply": "apply", "aplpy": "apply", "Destroy": "destroy", "grösse": "größe", "plan": "plan", "planx": "plan",
		"": "", "validate": "", "palns": "plans",
	} {
		if got := Nearest(given, names); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
	if got := DidYouMean("aply", names); got != ` Did you mean "apply"?` {
		t.Errorf("aply: %q", got)
	}
	if got := DidYouMean("validate", names); got != "" {
		t.Errorf("validate: %q", got)
	}
	if got := Nearest("a.wbe", []string{"a.bed", "a.web"}); got != "a.web" {
		t.Errorf("swapped letters are one mistake: %q", got)
	}
	if got := Nearest("", []string{"ab"}); got != "ab" {
		t.Errorf("nothing is two letters from ab: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 3, 0}, {"", "abc", 9, 3}, {"kitten", "sitting", 9, 3}, {"kitten", "sitting", 2, 2}, {"ab", "ba", 9, 1}, {"ca", "abc", 9, 3}, {"abcd", "badc", 9, 2},
		{"ä", "a", 9, 1},
		{"abcdef", "a", 3, 3},
	} {
		for _, got := range []int{Distance(c.a, c.b, c.limit), Distance(c.b, c.a, c.limit)} {
			if got != c.want {
				t.Errorf("%q and %q, up to %d: %d, want %d", c.a, c.b, c.limit, got, c.want)
			}
		}
	}
}
