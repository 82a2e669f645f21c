package ui

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAlign(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"", "", ""},
		{"abc", "abc", " a b c"},
		{"abc", "", "-a-b-c"},
		{"", "ab", "+a+b"},
		{"abcdefgh", "abxdefhi", " a b-c+x d e f-g h+i"},
		{"1234", "4123", "+4 1 2 3-4"},
		{"abcabba", "cbabac", "-a-b c+b a b-b a+c"},
		{"xy", "ab", "-x-y+a+b"},
	} {
		if got := script(test.old, test.new); got != test.want {
			t.Errorf("%s to %s: got %q, want %q", test.old, test.new, got, test.want)
		}
	}
}

func script(old, new string) string {
	a, b := strings.Split(old, ""), strings.Split(new, "")
	var out strings.Builder
	for _, p := range align(a, b) {
		switch {
		case p.new < 0:
			out.WriteString("-" + a[p.old])
		case p.old < 0:
			out.WriteString("+" + b[p.new])
		default:
			out.WriteString(" " + a[p.old])
		}
	}
	return out.String()
}

// FuzzAlign checks that following an alignment turns the one list into the other, in order, and
// keeps only what is equal.
func FuzzAlign(f *testing.F) {
	f.Add("abcabba", "cbabac")
	f.Add("aaaa", "aa")
	f.Add(strings.Repeat("ab", 700), strings.Repeat("cd", 900))
	f.Fuzz(func(t *testing.T, old, new string) {
		a, b := []byte(old), []byte(new)
		var gotA, gotB []byte
		for _, p := range align(a, b) {
			if p.old >= 0 {
				gotA = append(gotA, a[p.old])
			}
			if p.new >= 0 {
				gotB = append(gotB, b[p.new])
			}
			if p.old >= 0 && p.new >= 0 && a[p.old] != b[p.new] {
				t.Fatalf("%q is kept as %q", a[p.old], b[p.new])
			}
		}
		if !slices.Equal(gotA, a) || !slices.Equal(gotB, b) {
			t.Fatalf("%q to %q: the alignment spells %q and %q", old, new, gotA, gotB)
		}
	})
}

func TestAlignIsLinearForLongLists(t *testing.T) {
	a, b := make([]int, 200_000), make([]int, 200_000)
	for i := range a {
		a[i], b[i] = i*2, i*2+1
	}
	start := time.Now()
	if got := len(align(a, b)); got != len(a)+len(b) {
		t.Errorf("%d pairs for lists that share nothing", got)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("aligning took %s", took)
	}
}
