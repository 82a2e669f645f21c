package funcs

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/limits"
)

// TestBounds evaluates short expressions that would exhaust the memory, the stack or the CPU, and
// similar harmless expressions.
func TestBounds(t *testing.T) {
	repeat, text := strings.Repeat, cty.StringVal
	million := text(repeat("a", 1_000_000))
	dir := t.TempDir()
	table := Table(Options{BaseDir: dir})
	sparse := filepath.Join(dir, "sparse")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, limits.Size+1); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, function string
		args           []cty.Value
		want           string // expected error; "" if the call succeeds
	}{
		{"aliases of aliases", "yamldecode", []cty.Value{text(aliases(12))}, "after expanding its aliases"},
		{"some aliases", "yamldecode", []cty.Value{text(aliases(3))}, ""},
		{"many aliases", "yamldecode", []cty.Value{text("a: &a [1, 2, 3]\nb:\n" + repeat("- *a\n", 10_000))}, ""},
		{"merged aliases", "yamldecode", []cty.Value{text("a: &a {x: 1}\nb: &b {<<: *a}\nc: {<<: *b}\n")}, ""},
		{"open brackets", "yamldecode", []cty.Value{text(repeat("[", 100_000) + repeat("]", 100_000))}, "1000 open brackets"},
		{"open braces", "yamldecode", []cty.Value{text(repeat("{a: ", 100_000))}, "1000 open brackets"},
		{"list in list", "yamldecode", []cty.Value{text(repeat("- ", 100_000))}, "1000 open brackets"},
		{"deep indentation", "yamldecode", []cty.Value{text("a:\n" + repeat(" ", 30_000) + "b: 1")}, "1000 open brackets"},
		{"lists of lists", "yamldecode", []cty.Value{text(repeat("- [1, {a: 2}]\n", 2_000))}, ""},
		{"brackets in text", "yamldecode", []cty.Value{text("a: |\n" + repeat("  if [ -f x ]; then\n", 2_000))}, ""},
		{"digits in YAML", "yamldecode", []cty.Value{text(repeat("9", 1_000_000))}, "digits"},
		{"digits in JSON", "jsondecode", []cty.Value{text(repeat("9", 1_000_000))}, "digits"},
		{"digits", "parseint", []cty.Value{text(repeat("9", 1_000_000)), cty.NumberIntVal(10)}, "digits"},
		{"a bomb", "base64gunzip", []cty.Value{text(zipped(t, maxText+1))}, "decompressed"},
		{"no bomb", "base64gunzip", []cty.Value{text(zipped(t, 1<<20))}, ""},
		{"costs of days", "bcrypt", []cty.Value{text("x"), cty.NumberIntVal(31)}, "at most 18"},
		{"square", "replace", []cty.Value{million, text("a"), million}, "the result"},
		{"square by pattern", "replace", []cty.Value{million, text("/a/"), million}, "the result"},
		{"square by groups", "replace", []cty.Value{million, text("/.*/"), text(repeat("$0", 1000))}, "the result"},
		{"one of many", "replace", []cty.Value{million, text("/b/"), million}, ""},
		{"matches", "regexall", []cty.Value{text("a"), text(repeat("a", maxElements+1))}, "matches"},
		{"a large file", "file", []cty.Value{text("sparse")}, "more than 256 MB"},
		{"a large file in Base64", "filebase64", []cty.Value{text("sparse")}, "more than 256 MB"},
		{"alternatives", "fileset", []cty.Value{text("."), text(repeat("{a,b}", 40))}, "braces expand to"},
		{"stars", "fileset", []cty.Value{text("."), text(repeat("**/", 400))}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := table[test.function].Call(test.args)
			if got := fmt.Sprint(err); err == nil != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %.200s, want %q", got, test.want)
			}
		})
	}
}

// aliases returns a document with n levels. Each level refers to the previous one ten times.
func aliases(n int) string {
	doc := "l0: &l0 [x]\n"
	for i := range n {
		doc += fmt.Sprintf("l%d: &l%d [%s]\n", i+1, i+1,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i), 10), ", "))
	}
	return doc
}

func zipped(t *testing.T, size int) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(make([]byte, size))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
