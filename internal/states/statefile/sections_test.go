package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// testResources returns n resources, each of about a kilobyte. change can change their text.
func testResources(n int, change func(i int, text string) string) []string {
	out := make([]string, n)
	for i := range out {
		module := ""
		if i >= n/2 {
			module = `"module":"module.m",`
		}
		text := fmt.Sprintf(`{%s"mode":"managed","type":"a","name":"r%d","provider":"provider[\"x/y\"]","instances":`+
			`[{"schema_version":0,"attributes":{"id":"%d","text":"%s"},"dependencies":["a.r%d"]}]}`,
			module, i, i, strings.Repeat(`{\"mode\": `, 90), i/2)
		out[i] = change(i, text)
	}
	return out
}

// parseWith parses a state with a number of processors, which is that of its sections.
func parseWith(processors int, data []byte) (*File, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	return Parse(data)
}

// TestSections checks that a state is read in sections with the same result, and with the same error if
// it is damaged somewhere.
func TestSections(t *testing.T) {
	const n, sections = 6000, 3
	lookalike := `{"mode":"managed","type":"a","name":"inner","provider":"provider[\"x/y\"]","instances":[]}`
	lookalikes := strings.Repeat(lookalike+",", 7_000_000/len(lookalike)) + lookalike
	at := func(when int, old, with string) func(int, string) string {
		return func(i int, text string) string {
			if i == when {
				text = strings.Replace(text, old, with, 1)
			}
			return text
		}
	}
	for name, test := range map[string]struct {
		change func(i int, text string) string
		ok     bool
	}{
		"plain":       {at(-1, "", ""), true},
		"lookalikes":  {at(10, `"attributes":{`, `"attributes":{"list":[`+lookalikes+`],`), true},
		"reordered":   {at(n-5, `"mode":"managed","type":"a",`, `"type":"a","mode":"managed",`), true},
		"only spaces": {at(n/2, `{`, strings.Repeat(" ", 7_000_000)+"{"), true},
		"the same resource, other instances": {func(i int, text string) string {
			key := fmt.Sprintf(`[{"index_key":%d,`, i)
			text = strings.Replace(text, `[{`, key, 1)
			return strings.Replace(text, fmt.Sprintf(`"name":"r%d"`, i), fmt.Sprintf(`"name":"r%d"`, i%10), 1)
		}, true},
		"syntax in the first section": {change: at(7, `:"managed"`, `"managed"`)},
		"syntax in the last section":  {change: at(n-7, `:"managed"`, `"managed"`)},
		"syntax between":              {change: at(n*2/3, `{`, ` `)},
		"twice":                       {change: at(n-1, fmt.Sprintf("r%d", n-1), fmt.Sprintf("r%d", n-2000))},
		"twice and syntax":            {change: at(n-1, fmt.Sprintf(`r%d"`, n-1), fmt.Sprintf("r%d", n-2000))},
		"a mode":                      {change: at(n/4, `"managed"`, `"x"`)},
		"a key":                       {change: at(n*3/4, `"schema_version"`, `"index_key":[],"schema_version"`)},
		"a name":                      {change: at(n-3, `"name"`, `"type"`)},
		"a number":                    {change: at(n/3, `on":0`, `on":-1`)},
		"no resource":                 {change: func(i int, text string) string { return at(n/2, text, "1")(i, text) }},
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"version":4,"serial":7,"resources":[` + strings.Join(testResources(n, test.change), ",") + `],"lineage":"l"}`
			texts := [][]byte{[]byte(text)}
			var indented bytes.Buffer
			if json.Indent(&indented, []byte(text), "", "  ") == nil {
				texts = append(texts, indented.Bytes())
			} else {
				texts = append(texts, []byte(strings.ReplaceAll(text, ",", ",\n  ")))
			}
			for _, text := range texts {
				want, wantErr := parseWith(1, text)
				got, err := parseWith(sections, text)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) || (err == nil) != test.ok {
					t.Fatalf("with sections: %v\nwithout: %v", err, wantErr)
				}
				if err == nil && (!Equal(got.State, want.State) || got.Serial != 7 || got.Lineage != "l") {
					t.Error("the state differs")
				}
			}
		})
	}
	text := `{"version":4,"resources":[` + strings.Join(testResources(n, func(_ int, s string) string { return s }), ",") + `]}`
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(sections))
	r := newReader([]byte(text))
	r.Pos = strings.Index(text, `{"mode"`)
	if starts := r.sectionStarts(); len(starts) != sections {
		t.Errorf("%d sections, want %d", len(starts), sections)
	}
}

// TestParseSections checks that divided snapshots are read like whole ones, and that damage is reported.
func TestParseSections(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	texts := testResources(50, func(i int, text string) string {
		if i < 45 {
			return text
		}
		text = strings.Replace(text, `[{`, fmt.Sprintf(`[{"index_key":%d,`, i), 1) // more instances of r25 to r29
		return strings.Replace(text, fmt.Sprintf(`"name":"r%d"`, i), fmt.Sprintf(`"name":"r%d"`, i-20), 1)
	})
	snapshot := func(resources string) []byte {
		return fmt.Appendf(nil, `{"version":4,"serial":7,"resources":[%s],"lineage":"l"}`, resources)
	}
	want, err := Parse(snapshot(strings.Join(texts, ",")))
	if err != nil {
		t.Fatal(err)
	}
	divided := func(texts []string, size int) (sections [][]byte) {
		for part := range slices.Chunk(texts, size) {
			sections = append(sections, []byte("["+strings.Join(part, ",")+"]"))
		}
		return sections
	}
	for _, size := range []int{1, 7, 50} {
		got, err := ParseSections(snapshot(""), divided(texts, size))
		if err != nil {
			t.Fatal(err)
		}
		if got.Serial != 7 || got.Lineage != "l" || !Equal(got.State, want.State) {
			t.Errorf("sections of %d resources: the result differs from that of a whole snapshot", size)
		}
	}
	for name, sections := range map[string][][]byte{
		"twice":        divided(append(slices.Clone(texts), texts[0]), 10),
		"damaged":      divided(append(slices.Clone(texts), "{"), 10),
		"no resources": {[]byte("[1]")},
		"no array":     {[]byte("[] []")},
	} {
		if _, err := ParseSections(snapshot(""), sections); !errors.As(err, new(DamagedError)) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
