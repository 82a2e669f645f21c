package statefile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"tofu/internal/states/statefile"
)

// otherLayout returns a state as another program may write it: with the members of the objects around
// attributes in any order, with any white space, and with escaped characters in strings. depth is the
// number of objects and arrays that contain the text.
func otherLayout(tb testing.TB, rng *rand.Rand, text json.RawMessage, depth int) (out []byte) {
	tb.Helper()
	space := func() {
		out = append(out, strings.Repeat([]string{" ", "\n ", "\t", "\r\n"}[rng.IntN(4)], max(rng.IntN(20)-10, 0))...)
	}
	value := func(text json.RawMessage) { out = append(out, otherLayout(tb, rng, text, depth+1)...) }
	const attributes = 5 // the depth of their object, whose text is kept as it is
	space()
	defer func() { space() }()
	switch d := json.NewDecoder(bytes.NewReader(text)); text[0] {
	case '[', '{':
		if _, err := d.Token(); err != nil {
			tb.Fatal(err)
		}
		var elements [][2]json.RawMessage // names, which arrays don't have, and values
		for d.More() {
			var name, value json.RawMessage
			if text[0] == '{' {
				literal, err := d.Token()
				if err != nil {
					tb.Fatal(err)
				}
				name, _ = json.Marshal(literal)
			}
			if err := d.Decode(&value); err != nil {
				tb.Fatal(err)
			}
			elements = append(elements, [2]json.RawMessage{name, value})
		}
		if text[0] == '{' && depth < attributes {
			rng.Shuffle(len(elements), func(i, j int) { elements[i], elements[j] = elements[j], elements[i] })
		}
		out = append(out, text[0])
		space()
		for i, e := range elements {
			if i > 0 {
				out = append(out, ',')
			}
			if e[0] != nil {
				value(e[0])
				out = append(out, ':')
			}
			value(e[1])
		}
		return append(out, text[0]+2)
	case '"':
		at := rng.IntN(len(text)-1) + 1
		if depth <= attributes && text[at] >= 'a' && text[at] <= 'z' && !bytes.ContainsRune(text, '\\') {
			return fmt.Appendf(out, `%s\u%04x%s`, text[:at], text[at], text[at+1:])
		}
	}
	return append(out, text...)
}

// TestOtherLayouts checks that the layout of a state doesn't matter.
func TestOtherLayouts(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/everything.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	want, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		text := otherLayout(t, rng, bytes.TrimSpace(data), 0)
		got, err := statefile.Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got.Serial != want.Serial || got.Lineage != want.Lineage || got.TerraformVersion != want.TerraformVersion ||
			!statefile.Equal(got.State, want.State) || !statefile.SameProviders(got.State, want.State) {
			t.Fatalf("another layout is another state:\n%s", text)
		}
	}
}
