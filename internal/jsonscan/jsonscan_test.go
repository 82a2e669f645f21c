package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tofu/internal/jsonscan"
	"tofu/internal/limits"
)

// values lists texts that consist of one value, which may be invalid.
var values = []string{
	`null`, `true`, `false`, `nul`, `True`, `truex`, ``, ` `, `{`, `}`, `[`, `]`, `{}`, `[]`, ` [ ] `, `[,]`, `[1,]`,
	`[1 2]`, `[1,2]`, `{"a"}`,
	`{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":1,"a":2}`, ` { "a" : [ { } , null ] } `, `[[[[[]]]]]`,
	`[[[[[]]]]`, `[}`, `{]`,
	`0`, `-0`, `-`, `+1`, `01`, `1.`, `.5`, `1.5`, `1e`, `1e5`, `1E+05`, `1e-`, `-12.5e-3`, `1_0`, `0x1`, `NaN`,
	`1e999999999`,
	`""`, `"`, `"a`, `"a"b`, `"\"`, `"\""`, `"\\"`, `"\x"`, `"\u12"`, `"\u12G4"`, `"\u0041\n"`, `"\ud800"`,
	`"\ud83d\ude00"`, "\"\x01\"", "\"\x7f\"", "\"\xff\"",
	`"ä€😀"`, "\"\n\"", `{"\u0061":1}`, `{"ä":"\u00e4"}`, `"a" "b"`, `//`, "\ufeff1", "[1,\x00]",
	strings.Repeat("[", 10000) + strings.Repeat("]", 10000),
	strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	strings.Repeat(`{"a":`, 10000) + `1` + strings.Repeat("}", 10000),
	strings.Repeat(`{"a":`, 10001) + `1` + strings.Repeat("}", 10001),
}

// check compares the results of a Scanner for data with those of encoding/json.
func check(t *testing.T, data []byte) {
	t.Helper()
	s := jsonscan.Scanner{Data: data}
	raw, ok := s.Raw()
	ok = ok && s.End()
	if ok != json.Valid(data) {
		t.Fatalf("%.80q: valid is %v", data, ok)
	}
	if !ok {
		return
	}
	if want := bytes.Trim(data, " \t\r\n"); !bytes.Equal(raw, want) || cap(raw) != len(raw) {
		t.Fatalf("%.80q: Raw returns %.80q", data, raw)
	}
	var text string
	s = jsonscan.Scanner{Data: data}
	if got, ok := s.Text(); ok != (raw[0] == '"') {
		t.Fatalf("%.80q: Text reports %v", data, ok)
	} else if ok && (json.Unmarshal(data, &text) != nil || text != got) {
		t.Fatalf("%q: Text returns %q", data, got)
	}
	members := make(map[string]json.RawMessage)
	s = jsonscan.Scanner{Data: data}
	if ok := s.Members(func(name []byte) bool {
		text := string(name)
		value, ok := s.Raw()
		members[text] = value
		return ok
	}); ok != (raw[0] == '{') {
		t.Fatalf("%.80q: Members reports %v", data, ok)
	} else if want := make(map[string]json.RawMessage); ok && json.Unmarshal(data, &want) == nil {
		for name, value := range want {
			if !bytes.Equal(members[name], value) {
				t.Fatalf("member %q of %.80q is %.80q", name, data, members[name])
			}
		}
		if len(members) != len(want) {
			t.Fatalf("%.80q has %d members, not %d", data, len(want), len(members))
		}
	}
}

func TestAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range values {
		check(t, []byte(text))
	}
}

// TestEveryByteAtEveryPlace checks texts of several words with each byte in each place of a word: in a
// string, in a name, and in white space.
func TestEveryByteAtEveryPlace(t *testing.T) {
	for _, long := range []string{`"0123456789abcdefghij"`, `{"0123456789abcdefghij":1}`, "[1,\n                    2]",
		"\n                    \r\n\t  {}", `["\u0041\"\\\n\\",  -12.5e3, true, null, {"a": {}, "b": [ ]}]`} {
		for at := range len(long) + 1 {
			for c := range 256 {
				check(t, []byte(long[:at]+string([]byte{byte(c)})+long[at:]))
				if at < len(long) {
					check(t, []byte(long[:at]+string([]byte{byte(c)})+long[at+1:]))
				}
			}
			check(t, []byte(long[:at]))
		}
	}
}

// TestDepth checks that the limit of nesting counts the objects and arrays that callers have entered.
func TestDepth(t *testing.T) {
	for _, depth := range []int{limits.Depth, limits.Depth + 1} {
		text := strings.Repeat(`[{"a":`, depth/2) + strings.Repeat("[", depth%2) + "1" + strings.Repeat("]", depth%2) +
			strings.Repeat("}]", depth/2)
		for enter := range 4 {
			s := jsonscan.Scanner{Data: []byte(text)}
			var read func(level int) bool
			read = func(level int) bool {
				switch {
				case level == enter:
					return s.Skip()
				case level%2 == 0:
					return s.Elements(func() bool { return read(level + 1) })
				}
				return s.Members(func([]byte) bool { return read(level + 1) })
			}
			if got := read(0) && s.End(); got != (depth <= limits.Depth) || got != json.Valid([]byte(text)) {
				t.Errorf("%d levels, of which %d are entered: %v", depth, enter, got)
			}
		}
	}
}

func FuzzAgreesWithEncodingJSON(f *testing.F) {
	for _, text := range values {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}

func BenchmarkRaw(b *testing.B) {
	var value any = "some text"
	for range 12 {
		value = []any{value, map[string]any{"number": 1.5, "nested": value, "null": nil, "true": true}}
	}
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s := jsonscan.Scanner{Data: data}
		if _, ok := s.Raw(); !ok {
			b.Fatal("Raw reports invalid JSON")
		}
	}
}

func TestStringEnd(t *testing.T) {
	for src, want := range map[string]int{`"a" b`: 3, `"\"x"`: 5, `"\\"`: 4, `""`: 2, `"open`: 5, `"\`: 2} {
		if got := jsonscan.StringEnd([]byte(src), 0); got != want {
			t.Errorf("%s: %d, want %d", src, got, want)
		}
	}
}
