package diff

import (
	"slices"
	"strconv"
	"strings"
	"testing"
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
	for _, p := range Align(a, b) {
		switch {
		case p.New < 0:
			out.WriteString("-" + a[p.Old])
		case p.Old < 0:
			out.WriteString("+" + b[p.New])
		default:
			out.WriteString(" " + a[p.Old])
		}
	}
	return out.String()
}

// FuzzAlign checks that applying an alignment to the old list results in the new list, and that
// only equal elements are kept.
func FuzzAlign(f *testing.F) {
	f.Add("abcabba", "cbabac")
	f.Add("aaaa", "aa")
	f.Add(strings.Repeat("ab", 700), strings.Repeat("cd", 900))
	f.Fuzz(func(t *testing.T, old, new string) {
		a, b := []byte(old), []byte(new)
		var gotA, gotB []byte
		for _, p := range Align(a, b) {
			if p.Old >= 0 {
				gotA = append(gotA, a[p.Old])
			}
			if p.New >= 0 {
				gotB = append(gotB, b[p.New])
			}
			if p.Old >= 0 && p.New >= 0 && a[p.Old] != b[p.New] {
				t.Fatalf("%q is kept as %q", a[p.Old], b[p.New])
			}
		}
		if !slices.Equal(gotA, a) || !slices.Equal(gotB, b) {
			t.Fatalf("%q to %q: the alignment spells %q and %q", old, new, gotA, gotB)
		}
	})
}

// TestLongLists checks that common elements are kept even if long lists have little in common.
func TestLongLists(t *testing.T) {
	const n = 200_000
	a, b := make([]int, n), make([]int, n)
	for i := range a {
		a[i], b[i] = i*2, i*2+1
	}
	if got := len(Align(a, b)); got != 2*n {
		t.Errorf("%d pairs for lists that share nothing", got)
	}
	for i := 0; i < n; i += 10 {
		b[i] = a[i]
	}
	if got := len(Align(a, b)); got != 2*n-n/10 {
		t.Errorf("%d pairs for lists that share every tenth element", got)
	}
}

// BenchmarkAlign measures the time per element, which must not depend on the length of the lists.
func BenchmarkAlign(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		old, new := make([]int, n), make([]int, n)
		for i := range old {
			old[i], new[i] = i, i
			if i%3 == 0 {
				new[i] = -i % 97
			}
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				Align(old, new)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
		})
	}
}
