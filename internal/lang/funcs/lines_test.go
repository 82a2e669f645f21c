package funcs

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/tools/txtar"

	"tofu/internal/lang/marks"
)

var planTime = time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))

// TestLines evaluates the lines of testdata/*.txt. A line is
//
//	expression => value
//	expression ### "regular expression that the error matches"
//
// where the value has the format of show. The function table is the one for validation and
// planning, in which impure functions are unknown.
func TestLines(t *testing.T) {
	scope := testScope(t, Options{PureOnly: true, PlanTimestamp: planTime})
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data: ", err)
	}
	called := make(map[string]bool)
	for _, name := range files {
		for where, line := range readLines(t, name) {
			for _, call := range callName.FindAllStringSubmatch(line, -1) {
				called[call[1]] = true
			}
			if expr, want, ok := strings.Cut(line, " ### "); ok {
				checkError(t, scope, where, expr, want)
			} else if expr, want, ok := strings.Cut(line, " => "); ok {
				checkValue(t, scope, where, expr, want)
			} else {
				t.Errorf("%s: the line contains neither => nor ###", where)
			}
		}
	}
	for _, r := range functions {
		if !called[r.name] {
			t.Errorf("no test calls %s", r.name)
		}
	}
}

var callName = regexp.MustCompile(`\b([a-z0-9_]+)\(`)

// readLines yields the lines of a file, except comments, in order. The key of each line is its
// position.
func readLines(t *testing.T, name string) func(func(string, string) bool) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, string) bool) {
		defer f.Close()
		s := bufio.NewScanner(f)
		for n := 1; s.Scan(); n++ {
			if line := s.Text(); line != "" && !strings.HasPrefix(line, "#") {
				if !yield(fmt.Sprintf("%s:%d", name, n), line) {
					return
				}
			}
		}
	}
}

func checkValue(t *testing.T, scope *hcl.EvalContext, where, expr, want string) {
	v, diags := evaluate(expr, scope)
	if diags.HasErrors() {
		t.Errorf("%s: %s\n%s", where, expr, diags)
	} else if got := show(v); got != want {
		t.Errorf("%s: %s\n got %s\nwant %s", where, expr, got, want)
	}
}

func checkError(t *testing.T, scope *hcl.EvalContext, where, expr, want string) {
	pattern, err := strconv.Unquote(want)
	if err != nil {
		t.Errorf("%s: the regular expression is not in quotes", where)
		return
	}
	v, diags := evaluate(expr, scope)
	if !diags.HasErrors() {
		t.Errorf("%s: %s\n got %s\nwant the error %s", where, expr, show(v), want)
	} else if got := diags[0].Detail; !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("%s: %s\n got the error %s\nwant the error %s", where, expr, got, want)
	}
}

func evaluate(expr string, scope *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	e, diags := hclsyntax.ParseExpression([]byte(expr), "test", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return e.Value(scope)
}

// testScope returns the scope in which the lines are evaluated. It has the functions, which read
// the files in testdata/files.txtar; the object "unknown" with an unknown value of each kind; and
// the ephemeral values eph.string and eph.object.
func testScope(t testing.TB, o Options) *hcl.EvalContext {
	o.BaseDir = writeFiles(t)
	t.Setenv("HOME", filepath.Join(o.BaseDir, "home"))
	str := cty.StringVal("short").Mark(marks.Ephemeral)
	return &hcl.EvalContext{
		Functions: Table(o),
		Variables: map[string]cty.Value{
			"unknown": cty.ObjectVal(map[string]cty.Value{
				"any":    cty.DynamicVal,
				"bool":   cty.UnknownVal(cty.Bool),
				"list":   cty.UnknownVal(cty.List(cty.String)),
				"map":    cty.UnknownVal(cty.Map(cty.String)),
				"number": cty.UnknownVal(cty.Number),
				"set":    cty.UnknownVal(cty.Set(cty.String)),
				"string": cty.UnknownVal(cty.String),
				"tuple":  cty.UnknownVal(cty.Tuple([]cty.Type{cty.String, cty.Number})),
				"object": cty.UnknownVal(cty.Object(map[string]cty.Type{"a": cty.String})),
			}),
			"eph": cty.ObjectVal(map[string]cty.Value{
				"string": str,
				"object": cty.ObjectVal(map[string]cty.Value{"a": str, "b": cty.True}),
				"both":   str.Mark(marks.Sensitive),
			}),
		},
	}
}

func writeFiles(t testing.TB) string {
	dir := t.TempDir()
	archive, err := txtar.ParseFile("testdata/files.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := archive.Files
	files = append(files,
		txtar.File{Name: "bytes.bin", Data: []byte{0, 0xff, 0xfe}},
		txtar.File{Name: "only.tftpl", Data: []byte("${value}")})
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("plain.txt", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// show formats a value with all relevant details: the kind of collection, marks, and refinements of
// unknown values.
func show(v cty.Value) string {
	v, ms := v.Unmark()
	s := showUnmarked(v)
	names := make([]string, 0, len(ms))
	for m := range ms {
		names = append(names, fmt.Sprint(m))
	}
	slices.Sort(names)
	for _, name := range names {
		s = name + "(" + s + ")"
	}
	return s
}

func showUnmarked(v cty.Value) string {
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return showUnknown(v)
	case v.IsNull():
		return "null " + ty.FriendlyName()
	case ty == cty.String:
		return strconv.Quote(v.AsString())
	case ty == cty.Number:
		return v.AsBigFloat().Text('g', -1)
	case ty == cty.Bool:
		return strconv.FormatBool(v.True())
	case ty.IsMapType(), ty.IsObjectType():
		return strings.TrimPrefix(kind(ty)+"{"+showElements(v, true)+"}", "object")
	default:
		return strings.TrimPrefix(kind(ty)+"["+showElements(v, false)+"]", "tuple")
	}
}

func kind(ty cty.Type) string {
	switch {
	case ty.IsTupleType():
		return "tuple"
	case ty.IsObjectType():
		return "object"
	default:
		return ty.FriendlyName() + " "
	}
}

func showElements(v cty.Value, keys bool) string {
	var parts []string
	for k, e := range v.Elements() {
		part := show(e)
		if keys {
			part = k.AsString() + " = " + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func showUnknown(v cty.Value) string {
	s := "unknown " + v.Type().FriendlyName()
	if v.Type() == cty.DynamicPseudoType {
		return s
	}
	r := v.Range()
	if r.DefinitelyNotNull() {
		s += ", not null"
	}
	if v.Type() == cty.String && r.StringPrefix() != "" {
		s += ", from " + strconv.Quote(r.StringPrefix())
	}
	if v.Type().IsCollectionType() {
		if n := r.LengthLowerBound(); n > 0 {
			s += fmt.Sprint(", at least ", n)
		}
		if n := r.LengthUpperBound(); n < math.MaxInt {
			s += fmt.Sprint(", at most ", n)
		}
	}
	return s
}

// TestShow checks that show returns different strings for different values.
func TestShow(t *testing.T) {
	values := []cty.Value{
		cty.StringVal("a"), cty.NumberIntVal(1), cty.StringVal("1"), cty.True, cty.NullVal(cty.String), cty.DynamicVal,
		cty.UnknownVal(cty.String), cty.UnknownVal(cty.String).RefineNotNull(),
		cty.StringVal("a").Mark(marks.Sensitive),
		cty.StringVal("a").Mark(marks.Ephemeral), cty.EmptyTupleVal, cty.ListValEmpty(cty.String),
		cty.SetValEmpty(cty.String),
		cty.ListValEmpty(cty.Number), cty.EmptyObjectVal, cty.MapValEmpty(cty.String),
		cty.UnknownVal(cty.String).Refine().StringPrefix("ab").NewValue(),
		cty.UnknownVal(cty.List(cty.String)),
		cty.UnknownVal(cty.List(cty.String)).Refine().CollectionLengthLowerBound(1).NewValue(),
		cty.UnknownVal(cty.List(cty.String)).Refine().CollectionLengthUpperBound(1).NewValue(),
	}
	seen := make(map[string]cty.Value)
	for _, v := range values {
		if other, ok := seen[show(v)]; ok {
			t.Errorf("%#v and %#v have the same text", v, other)
		}
		seen[show(v)] = v
	}
	if len(seen) != len(values) {
		t.Errorf("%d texts for %d values", len(seen), len(values))
	}
}
