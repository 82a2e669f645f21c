package funcs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/text/unicode/norm"
)

// TestMain replaces the operators, as the program does when it starts.
func TestMain(m *testing.M) {
	LimitOperators()
	os.Exit(m.Run())
}

func TestTableHasNamespace(t *testing.T) {
	table := Table(Options{})
	if len(table) != 2*len(functions) {
		t.Errorf("%d names for %d functions: duplicate names", len(table), len(functions))
	}
	for _, r := range functions {
		for _, name := range []string{r.name, "core::" + r.name} {
			if fn, ok := table[name]; !ok || fn == (function.Function{}) {
				t.Errorf("missing function %s", name)
			}
		}
	}
}

func TestDocs(t *testing.T) {
	docs := Docs()
	if len(docs) != 134 {
		t.Errorf("got %d functions, want 134", len(docs))
	}
	for i, doc := range docs {
		if i > 0 && docs[i-1].Theme == doc.Theme && docs[i-1].Name >= doc.Name {
			t.Errorf("%s is listed before %s", docs[i-1].Name, doc.Name)
		}
		if !strings.HasPrefix(doc.Description, "`"+doc.Name+"`") || !strings.HasSuffix(doc.Description, ".") {
			t.Errorf("description of %s: %q", doc.Name, doc.Description)
		}
		params := doc.Params
		if doc.Variadic != nil {
			params = append(params, *doc.Variadic)
		}
		for _, p := range params {
			if p.Name == "" || p.Description == "" || p.Type == cty.NilType || p.Type.IsCapsuleType() {
				t.Errorf("parameter of %s: %+v", doc.Name, p)
			}
		}
		if doc.ReturnType == cty.NilType {
			t.Errorf("%s has no return type", doc.Name)
		}
	}
}

// call evaluates an expression that must succeed.
func call(t *testing.T, scope *hcl.EvalContext, expr string) cty.Value {
	t.Helper()
	v, diags := evaluate(expr, scope)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", expr, diags)
	}
	return v
}

func TestImpure(t *testing.T) {
	scope := testScope(t, Options{})

	now := call(t, scope, "timestamp()").AsString()
	if ts, err := time.Parse(time.RFC3339, now); err != nil || time.Since(ts) > time.Minute ||
		!strings.HasSuffix(now, "Z") {
		t.Errorf("timestamp() = %s", now)
	}

	id := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	a, b := call(t, scope, "uuid()").AsString(), call(t, scope, "uuid()").AsString()
	if a == b || !id.MatchString(a) || !id.MatchString(b) {
		t.Errorf("uuid() = %s and %s", a, b)
	}

	for expr, cost := range map[string]int{`bcrypt("secret", 4)`: 4, `bcrypt("secret")`: 10} {
		hash := []byte(call(t, scope, expr).AsString())
		if err := bcrypt.CompareHashAndPassword(hash, []byte("secret")); err != nil {
			t.Errorf("%s: %s", expr, err)
		}
		if got, err := bcrypt.Cost(hash); got != cost || err != nil {
			t.Errorf("%s: cost %d, %v", expr, got, err)
		}
	}
	for _, expr := range []string{`bcrypt("x", 32)`, `bcrypt("x", 4.5)`, `bcrypt("x", 4, 4)`,
		`bcrypt(join("", range(80)), 4)`} {
		if v, diags := evaluate(expr, scope); !diags.HasErrors() {
			t.Errorf("%s = %s", expr, show(v))
		}
	}
}

// TestUnicode checks that grapheme clusters follow Unicode 17, and that normalization and case
// conversion follow the Unicode version of Go's tables.
func TestUnicode(t *testing.T) {
	if norm.Version != unicode.Version {
		t.Errorf("normalization uses Unicode %s, Go's tables %s", norm.Version, unicode.Version)
	}
	scope := testScope(t, Options{})
	want := map[string]string{
		`length("\u0915\u094d\u0937")`:          "1",
		`length("\u0915\u094d")`:                "1",
		`strrev("\u0915\u094d\u0937-")`:         `"-\u0915\u094d\u0937"`,
		`substr("a\u0915\u094d\u0937b", 1, 1)`:  `"\u0915\u094d\u0937"`,
		`substr("a\u0915\u094d\u0937b", -2, 1)`: `"\u0915\u094d\u0937"`,
		`upper("\u0264")`:                       `"\u0264"`,
	}
	if major, _, _ := strings.Cut(unicode.Version, "."); major >= "17" {
		want[`upper("\u0264")`] = `"\ua7cb"`
	}
	for expr, result := range want {
		if got := show(call(t, scope, expr)); got != show(call(t, scope, result)) {
			t.Errorf("with Unicode %s: %s = %s, want %s", unicode.Version, expr, got, result)
		}
	}
}

func TestPlanTimestampBeforePlan(t *testing.T) {
	if got := show(call(t, testScope(t, Options{}), "plantimestamp()")); got != "unknown string, not null" {
		t.Errorf("got %s", got)
	}
}

func TestRSADecrypt(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA1019 the language promises this padding
	ciphertext, err := rsa.EncryptPKCS1v15(rand.Reader, &key.PublicKey, []byte("top secret é"))
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, der []byte) cty.Value {
		return cty.StringVal(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	scope := testScope(t, Options{})
	scope.Variables["text"] = cty.StringVal(base64.StdEncoding.EncodeToString(ciphertext))
	scope.Variables["pkcs1"] = encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	scope.Variables["pkcs8"] = encode("PRIVATE KEY", pkcs8)
	scope.Variables["other"] = encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(other))
	for _, expr := range []string{"rsadecrypt(text, pkcs1)", "rsadecrypt(text, pkcs8)"} {
		if got := call(t, scope, expr).AsString(); got != "top secret é" {
			t.Errorf("%s = %q", expr, got)
		}
	}
	if v, diags := evaluate("rsadecrypt(text, other)", scope); !diags.HasErrors() {
		t.Errorf("no error for the wrong key: %s", show(v))
	}
	if _, diags := evaluate(`rsadecrypt("AAAA", pkcs1)`, scope); !diags.HasErrors() {
		t.Error("no error for three bytes")
	}
}

// TestTemplateDepth checks how nesting levels are counted. With n = 3, count.tftpl renders four
// templates, three of which are nested.
func TestTemplateDepth(t *testing.T) {
	tests := []struct {
		limit, expr string
		err         string // expected error; "" if the expression must succeed
	}{
		{"5", `templatefile("count.tftpl", { n = 5 })`, ""},
		{"5", `templatefile("count.tftpl", { n = 6 })`, `^Call to function "templatefile" failed: templates are ` +
			`nested more than 5 levels deep; .*: count.tftpl, which renders count.tftpl, which renders count.tftpl, ` +
			`which renders count.tftpl …\.$`},
		{"6", `templatefile("count.tftpl", { n = 6 })`, ""},
		{"0", `templatefile("inner.tftpl", { x = 1 })`, ""},
		{"0", `templatefile("nested.tftpl", { x = 1 })`, "nested more than 0 levels"},
		{"2", `templatestring("$${templatefile(\"count.tftpl\", { n = 1 })}", {})`, ""},
		{"2", `templatestring("$${templatefile(\"count.tftpl\", { n = 2 })}", {})`, "nested more than 2 levels"},
		{"3", `templatefile("twice.tftpl", {})`, "nested more than 3 levels"},
		{"", `templatefile("count.tftpl", { n = 1000 })`, ""},
		{"many", `templatefile("inner.tftpl", { x = 1 })`,
			`TF_TEMPLATE_RECURSION_DEPTH is "many", but must be a whole number`},
		{"-1", `templatefile("inner.tftpl", { x = 1 })`, `TF_TEMPLATE_RECURSION_DEPTH is "-1", but must be a whole number`},
	}
	scope := testScope(t, Options{})
	for _, test := range tests {
		t.Setenv("TF_TEMPLATE_RECURSION_DEPTH", test.limit)
		_, diags := evaluate(test.expr, scope)
		switch {
		case test.err == "" && diags.HasErrors():
			t.Errorf("limit %q: %s: %s", test.limit, test.expr, diags)
		case test.err != "" && !diags.HasErrors():
			t.Errorf("limit %q: %s did not fail", test.limit, test.expr)
		case test.err != "" && !regexp.MustCompile(test.err).MatchString(diags[0].Detail):
			t.Errorf("limit %q: %s: %s", test.limit, test.expr, diags[0].Detail)
		}
	}
	// The failure must not affect later calls with the same table.
	if got := call(t, scope, `try(templatefile("inner.tftpl", { x = 1 }), "failed")`); got.AsString() != "failed" {
		t.Errorf("with an invalid limit: %s", show(got))
	}
	t.Setenv("TF_TEMPLATE_RECURSION_DEPTH", "1")
	call(t, scope, `[can(templatefile("loop.tftpl", {})), templatefile("inner.tftpl", { x = 1 })]`)
}

// TestConcurrent calls functions of a shared table concurrently, so that the race detector can find
// data races.
func TestConcurrent(t *testing.T) {
	scope := testScope(t, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, expr := range []string{
				`templatefile("nested.tftpl", { x = 1 })`, `can(templatefile("loop.tftpl", {}))`,
				`fileset(".", "**")`, `try(tonumber("x"), upper("x"))`, `cidrsubnet("10.0.0.0/8", 8, 3)`,
			} {
				if _, diags := evaluate(expr, scope); diags.HasErrors() {
					t.Errorf("%s: %s", expr, diags)
				}
			}
		})
	}
	wg.Wait()
}

// TestNestedTry would never end if each level evaluated the next one more than once.
func TestNestedTry(t *testing.T) {
	const depth = 200
	expr := strings.Repeat("try(can(", depth) + "1" + strings.Repeat("))", depth)
	if got := call(t, testScope(t, Options{}), expr); !got.True() {
		t.Errorf("got %s", show(got))
	}
}

// panicked returns the diagnostic of a function that panicked, or nil.
func panicked(diags hcl.Diagnostics) *hcl.Diagnostic {
	for _, diag := range diags {
		extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](diag)
		if !ok {
			continue
		}
		if _, panicked := errors.AsType[function.PanicError](extra.FunctionCallError()); panicked {
			return diag
		}
	}
	return nil
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"", "a ${x}", "%{ if x }y%{ endif }", "${templatestring(x, {x = x})}",
		"%{ for y in [x] }${y}%{ endfor ~}\n", "$${", "${"} {
		f.Add(s, "v")
	}
	scope := &hcl.EvalContext{Functions: Table(Options{BaseDir: f.TempDir()}), Variables: map[string]cty.Value{}}
	f.Fuzz(func(t *testing.T, template, x string) {
		if strings.Contains(template, "file") { // some files never end
			t.Skip()
		}
		variables := map[string]cty.Value{"template": cty.StringVal(template), "x": cty.StringVal(x)}
		child := scope.NewChild()
		child.Variables = variables
		_, diags := evaluate("templatestring(template, { x = x })", child)
		if diag := panicked(diags); diag != nil {
			t.Error(diag)
		}
	})
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"%s", "%5.2f %d", "%[2]v%[1]v", "%%", "%-+#010x", "%*d", "%q"} {
		f.Add(s, "a", 1.5)
	}
	scope := &hcl.EvalContext{Functions: Table(Options{})}
	f.Fuzz(func(t *testing.T, spec, s string, n float64) {
		// Skip large widths, which could need gigabytes of memory.
		if n != n || len(spec) > 100 || regexp.MustCompile(`[0-9]{4}`).MatchString(spec) {
			t.Skip()
		}
		child := scope.NewChild()
		child.Variables = map[string]cty.Value{"spec": cty.StringVal(spec), "s": cty.StringVal(s),
			"n": cty.NumberFloatVal(n)}
		for _, expr := range []string{"format(spec, s, n)", "format(spec, [s, n], { a = n })",
			"formatlist(spec, [s, s], n)", "formatdate(spec, s)", "formatdate(spec, \"2018-01-02T23:12:01Z\")"} {
			_, diags := evaluate(expr, child)
			if diag := panicked(diags); diag != nil {
				t.Error(expr, diag)
			}
		}
	})
}

// FuzzStrings calls all functions that take only strings and read no files.
func FuzzStrings(f *testing.F) {
	for _, s := range []string{"", "a", "10.0.0.0/8", "fd00::/8", "aGVsbG8=", "{\"a\":1}", "a: [1]", "a,b\n1,2",
		"2018-01-02T23:12:01Z", "%41", "/a(b)?/", "UTF-16"} {
		f.Add(s, s)
	}
	type target struct {
		name string
		fn   function.Function
		n    int
	}
	var targets []target
	for _, r := range functions {
		fn := r.function(&binding{})
		strs := r.theme != Filesystem && fn.VarParam() == nil && !strings.HasPrefix(r.name, "file")
		for _, p := range fn.Params() {
			strs = strs && p.Type == cty.String
		}
		if strs && len(fn.Params()) <= 2 {
			targets = append(targets, target{r.name, fn, len(fn.Params())})
		}
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		args := []cty.Value{cty.StringVal(a), cty.StringVal(b)}
		for _, target := range targets {
			_, err := target.fn.Call(args[:target.n])
			if _, ok := errors.AsType[function.PanicError](err); ok {
				t.Errorf("%s(%q): %s", target.name, args[:target.n], err)
			}
		}
	})
}

// TestTooDeep checks that nesting too deeply is an error. A stack overflow would end the program.
func TestTooDeep(t *testing.T) {
	const n = 100_000
	table := Table(Options{})
	for name, text := range map[string]string{
		"jsondecode":     strings.Repeat("[", n) + strings.Repeat("]", n),
		"templatestring": "${" + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) + "}",
	} {
		args := []cty.Value{cty.StringVal(text)}
		if name == "templatestring" {
			args = append(args, cty.EmptyObjectVal)
		}
		if _, err := table[name].Call(args); err == nil {
			t.Errorf("%s: no error", name)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d characters", name, len(err.Error()))
		}
	}
}
