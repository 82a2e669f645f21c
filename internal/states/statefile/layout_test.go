package statefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// layouts returns a JSON text in layouts that files may have.
func layouts(tb testing.TB, text string) map[string][]byte {
	tb.Helper()
	indented := func(prefix, indent string) []byte {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(text), prefix, indent); err != nil {
			tb.Fatal(err)
		}
		return b.Bytes()
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		tb.Fatal(err)
	}
	return map[string][]byte{
		"one line": compact.Bytes(), "as written": indented(strings.Repeat(" ", 10), "  "), "less deep": indented("", "  "),
		"deeper": indented(strings.Repeat(" ", 12), "  "), "tabs": indented("", "\t"), "four": indented("", "    "),
		"spaces at the end": append(compact.Bytes(), ' '), "carriage returns": bytes.ReplaceAll(indented("", "  "),
			[]byte("\n"), []byte("\r\n")),
	}
}

var layoutTexts = []string{
	`{}`, `[]`, `null`, `12.5e3`, `"text"`, `{"a":[]}`, `{"a":{},"b":[{}]}`, `{"a":[1,2,{"b":null}],"c":true}`,
	`{"<a>":"x & y"}`, `{"a":"\u003c\u2028"}`, "{\"a\":\"\u2028\"}", "{\"a\":\"\u2030 \u2027\"}", "{\"a\":\"\xe2\"}",
	`{"a":"ends with a quote \" and \\"}`, `{"a":"{ [ , : ] }"}`, `{"a b":" "}`, `[[[[[[1]]]]],[2]]`,
}

// TestLaidOut checks that a text is copied only if laying it out again would not change it, and that
// text which this program has laid out is copied.
func TestLaidOut(t *testing.T) {
	check := func(text []byte) {
		for depth := range 8 {
			for _, indent := range []bool{false, true} {
				again := appendJSON(nil, text, depth, indent)
				if got, want := laidOut(text, depth, indent), bytes.Equal(again, text); got != want {
					t.Fatalf("%q at depth %d, indented %v: got %v, want %v", text, depth, indent, got, want)
				}
				if !laidOut(again, depth, indent) {
					t.Fatalf("%q at depth %d, indented %v: our own layout isn't recognized", again, depth, indent)
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, text := range layoutTexts {
		for _, layout := range layouts(t, text) {
			check(layout)
			for range 300 { // with a few bytes added or removed, as far as that is JSON
				changed := bytes.Clone(layout)
				for range 1 + rng.IntN(3) {
					at := rng.IntN(len(changed) + 1)
					if rng.IntN(2) == 0 && at < len(changed) {
						changed = append(changed[:at], changed[at+1:]...)
					} else {
						changed = append(changed[:at], append([]byte{" \n\t,:{}[]\"\\1<\xe2"[rng.IntN(14)]}, changed[at:]...)...)
					}
				}
				if json.Valid(changed) {
					check(changed)
				}
				for depth := range 3 { // invalid text must not cause a panic
					laidOut(changed, depth, true)
				}
			}
		}
	}
}

// TestCopiesAreEqual checks that a snapshot is the same whether the text of objects is copied or laid
// out again, in whatever layout the objects were.
func TestCopiesAreEqual(t *testing.T) {
	padding := strings.Repeat("long enough to be copied ", 30)
	texts := append([]string{`{"a":"` + padding + `"}`, `{"a":"` + padding + `","b":"<"}`, `{"a":"` + padding + `","b":[{}]}`},
		layoutTexts...)
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("lab")}}
	for _, indent := range []bool{false, true} {
		var want []byte
		for _, layout := range []string{"deeper", "one line", "as written", "tabs"} {
			s := states.New()
			for n := range 700 { // more than two chunks
				text := layouts(t, texts[n%len(texts)])[layout]
				addr := addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object",
					Name: fmt.Sprint("r", n/2)}, Key: addrs.IntKey(n % 2)}
				s.SetCurrent(addr, &states.Object{Attrs: text, Private: []byte("p")}, provider)
			}
			enc, opts := NewEncoder(), &Options{Indent: indent}
			f := &File{State: s, Lineage: "l", Serial: 1}
			for round := range 2 {
				got, err := enc.Encode(f, opts)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = got
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("round %d: the snapshot of objects in the layout %q differs (indented: %v)", round, layout, indent)
				}
			}
			read, err := Parse(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := NewEncoder().Encode(read, opts)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("the snapshot is different after it was read: %v", err)
			}
			if cap(got) != len(got) {
				t.Errorf("the buffer has %d bytes for %d", cap(got), len(got))
			}
		}
	}
}
