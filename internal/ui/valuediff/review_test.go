package valuediff

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"tofu/internal/plans"
)

func TestShortHash(t *testing.T) {
	sha := "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for text, want := range map[string]string{
		sha:                              `"9f86d081…0a08"`,
		"sha256:" + sha:                  `"sha256:9f86d081…0a08"`,
		strings.ToUpper(sha):             `"9F86D081…0A08"`,
		sha[:32]:                         `"9f86d081…d015"`,
		sha[:33]:                         "",
		strings.Repeat("1", 32):          "", // a number
		"not a hash":                     "",
		strings.Repeat("g", 64):          "",
		"a long prefix of a text:" + sha: "",
	} {
		if got := shortText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestJSONFormat checks the remark about two strings with the same JSON value.
func TestJSONFormat(t *testing.T) {
	for _, test := range []struct{ before, after, review, full string }{
		{`{"a": 1, "b": [2]}`, `{"a":1,"b":[2]}`, "whitespace changes", "whitespace changes"},
		{`{"a": 1, "b": [2]}`, `{"b":[2],"a":1}`, "only the order of keys changes", "whitespace changes"},
		{`{"a": "é"}`, `{"a":"\u00e9"}`, "only the formatting changes", "whitespace changes"},
		{`{"a": 1}`, `{"a": 2}`, "", ""},
	} {
		for review, want := range map[bool]string{true: test.review, false: test.full} {
			d := &Differ{Review: review}
			if got := d.Value(cty.StringVal(test.before), cty.StringVal(test.after)).Text; got != want {
				t.Errorf("%s and %s, review %v: got %q, want %q", test.before, test.after, review, got, want)
			}
		}
	}
}

// TestWords checks that two strings are equal after their changed words are removed.
func TestWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"alpha", "beta", " ", ",", "π", "1", "\n"})
		before := strings.Join(rapid.SliceOfN(word, 0, 20).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(word, 0, 20).Draw(t, "after"), "")
		gone, added := Words(before, after)
		if gone == nil && added == nil {
			return // the strings are equal or too different
		}
		if x, y := without(before, gone), without(after, added); x != y {
			t.Errorf("%q and %q: %q and %q remain", before, after, x, y)
		}
	})
}

func without(text string, spans []Span) string {
	var b strings.Builder
	end := 0
	for _, s := range spans {
		b.WriteString(text[end:s.Start])
		end = s.End
	}
	return b.String() + text[end:]
}

// TestHunks checks that hunks contain all changed lines, and count the lines that they omit.
func TestHunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Line {
			return Line{Action: rapid.SampledFrom([]plans.Action{plans.NoOp, plans.NoOp, plans.NoOp, plans.NoOp,
				plans.Create, plans.Delete}).Draw(t, "action"), Text: rapid.StringN(0, 3, -1).Draw(t, "text")}
		})).Draw(t, "lines")
		total := 0
		for i, l := range Hunks(lines, 2) {
			if l.Skipped == 0 {
				total++
				continue
			}
			for j := total; j < total+l.Skipped; j++ {
				if lines[j].Action != plans.NoOp {
					t.Fatalf("line %d is left out by hunk %d", j, i)
				}
			}
			total += l.Skipped
		}
		if total != len(lines) {
			t.Errorf("%d lines of %d", total, len(lines))
		}
	})
}

// FuzzReview checks that a comparison for review finds a difference if and only if the strings
// differ.
func FuzzReview(f *testing.F) {
	for _, text := range []string{"", "a", "1.0", "a: 1\nb:\n  - x\n", `{"a": [1, 2]}`, "-----BEGIN CERTIFICATE-----\nAA==\n" +
		"-----END CERTIFICATE-----\n", base64.StdEncoding.EncodeToString([]byte("key: value\nother: value\n")),
		"&a [*a]\n: x\n", "9f86d081884c7d659a2feaa0c55ad015", "[[[[[[{}]]]]]]", "- \x00\n- a: b\n"} {
		f.Add(text, text+" ")
		f.Add(text, "1.0")
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		was, is := cty.StringVal(before), cty.StringVal(after)
		n := (&Differ{Review: true}).Value(was, is)
		if same := was.RawEquals(is); n.Changed() == same {
			t.Errorf("%q and %q: changed is %v", before, after, n.Changed())
		}
	})
}

// TestLikeness checks that elements are paired with the most similar ones, even in large sets.
func TestLikeness(t *testing.T) {
	const n = 5000
	object := func(i int, note string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(fmt.Sprint("name", i)),
			"port": cty.NumberIntVal(int64(i)), "note": cty.StringVal(note)})
	}
	var old, new []cty.Value
	for i := range n {
		old, new = append(old, object(i, "before")), append(new, object(n-1-i, "after"))
	}
	root := (&Differ{Review: true}).Value(cty.SetVal(old), cty.SetVal(new))
	for _, e := range root.Elements {
		if e.Action != plans.Update || e.Members[0].Node.Changed() || e.Members[2].Node.Changed() {
			t.Fatalf("an element is not paired with its like: %+v", e)
		}
	}
	if len(root.Elements) != n {
		t.Errorf("%d elements", len(root.Elements))
	}
}

// TestLikenessAfterInsertion checks a new first element that is similar to the next one. The
// next element must still be paired with its old version.
func TestLikenessAfterInsertion(t *testing.T) {
	rule := func(name, cidr, note string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name), "cidr": cty.StringVal(cidr),
			"protocol": cty.StringVal("tcp"), "note": cty.StringVal(note)})
	}
	old := []cty.Value{rule("a", "10.0.1.0/24", "old"), rule("b", "10.0.2.0/24", "old")}
	new := []cty.Value{rule("new", "10.0.1.0/24", "first"), rule("a", "10.0.1.0/24", "new"),
		rule("b", "10.0.2.0/24", "new")}
	if got := matches(old, new); !slices.Equal(got, []int{-1, 0, 1}) {
		t.Errorf("got %v", got)
	}
}

// TestShortButDifferent checks that two different strings with the same short form are shown as
// different, and that a private key is not shown.
func TestShortButDifferent(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"
	n := (&Differ{Review: true}).Value(cty.StringVal(key), cty.StringVal(key+"\n"))
	if !n.Changed() || !strings.HasSuffix(n.Text, "in another layout") || n.Lines != nil {
		t.Errorf("key: got %+v", n)
	}
	hash := func(middle string) cty.Value { return cty.StringVal("0123abcd" + strings.Repeat(middle, 20) + "0000") }
	n = (&Differ{Review: true}).Value(hash("5"), hash("6"))
	if n.Before == n.After || n.Before != LeafText(hash("5")) {
		t.Errorf("hash: got %+v", n)
	}
}
