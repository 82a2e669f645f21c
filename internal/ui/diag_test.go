package ui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/funcs"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// testContext returns a context with a value for every kind of reference.
func testContext() *hcl.EvalContext {
	table := funcs.Table(funcs.Options{})
	return &hcl.EvalContext{
		Functions: map[string]function.Function{"upper": table["upper"], "tonumber": table["tonumber"],
			"format": table["format"], "length": table["length"]},
		Variables: map[string]cty.Value{
			"var": cty.ObjectVal(map[string]cty.Value{
				"n": cty.NumberIntVal(5), "big": cty.MustParseNumberVal("12345678901234567890123"),
				"t": cty.True, "s": cty.StringVal("a\nb"),
				"null":   cty.NullVal(cty.String),
				"secret": cty.StringVal("hush").Mark(marks.Sensitive),
				"gone":   cty.StringVal("hush").Mark(marks.Ephemeral),
				"late":   cty.UnknownVal(cty.String), "any": cty.DynamicVal,
				"thing": cty.UnknownVal(cty.EmptyObject),
				"list":  cty.ListVal([]cty.Value{cty.StringVal("a")}), "none": cty.ListValEmpty(cty.String),
				"set":   cty.SetVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")}),
				"map":   cty.MapVal(map[string]cty.Value{"k": cty.Zero}),
				"tuple": cty.TupleVal([]cty.Value{cty.Zero, cty.True}), "nothing": cty.EmptyTupleVal,
				"o0": cty.EmptyObjectVal, "o1": cty.ObjectVal(map[string]cty.Value{"a": cty.Zero}),
				"o2": cty.ObjectVal(map[string]cty.Value{"a": cty.Zero,
					"b": cty.StringVal("hush").Mark(marks.Sensitive)}),
			}),
		},
	}
}

// problems evaluates the conditions of the check blocks in a file. It returns an error for each
// condition that fails or can't be evaluated.
func problems(t *testing.T, name, text string) tfdiags.Diagnostics {
	t.Helper()
	file, hclDiags := hclsyntax.ParseConfig([]byte(text), name, hcl.InitialPos)
	diags := tfdiags.FromHCL(hclDiags)
	if hclDiags.HasErrors() {
		return diags
	}
	ctx := testContext()
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		for _, attr := range block.Body.Attributes {
			v, hclDiags := attr.Expr.Value(ctx)
			diags = diags.AppendHCL(hclDiags)
			if hclDiags.HasErrors() {
				continue
			}
			rng := attr.Expr.Range()
			d := tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Condition failed",
				Detail:  "The condition in " + block.Labels[0] + " is not met.",
				Subject: &rng, Expression: attr.Expr, EvalContext: ctx, Address: "cloud_server." + block.Labels[0]}
			switch attr.Name {
			case "warn":
				d.Severity = tfdiags.Warning
			case "unknown":
				d.Extra = tfdiags.CausedByUnknown{}
			case "sensitive":
				d.Extra = tfdiags.CausedBySensitive{}
			case "assert":
				d.Extra = tfdiags.CheckRule{Address: block.Labels[0]}
			}
			v, _ = v.Unmark()
			if v.IsKnown() && v.Type() == cty.Bool && v.True() {
				continue
			}
			diags = append(diags, d)
		}
	}
	diags.Sort() // attributes have no fixed order
	return diags
}

func TestDiagnostics(t *testing.T) {
	golden(t, "diagnostics", func(t *testing.T, files map[string]string) map[string]string {
		diags := problems(t, "main.tf", files["main.tf"])
		read := func(name string) []byte {
			if text, ok := files[name]; ok {
				return []byte(text)
			}
			return nil
		}
		human := func(o Options) string {
			var b bytes.Buffer
			o.Out, o.Sources = &b, read
			NewHuman(o).Diagnostics(diags)
			return b.String()
		}
		var doc bytes.Buffer
		if err := WriteValidation(&doc, diags, read); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{
			"human":    human(Options{}),
			"colored":  visible(human(Options{Color: true, ErrColor: true, ErrWidth: 60})),
			"compact":  human(Options{CompactWarnings: true}),
			"separate": human(Options{SeparateWarnings: true}),
			"grouped":  human(Options{GroupErrors: true}),
			"json":     indented(t, doc.Bytes()),
		}
		for name, text := range got {
			if files[name] != "" && strings.Contains(strings.ReplaceAll(text, `\"hush\"`, ""), `"hush"`) {
				t.Errorf("%s shows a secret:\n%s", name, text)
			}
		}
		return got
	})
}

// visible makes color codes readable.
func visible(s string) string { return strings.ReplaceAll(s, "\x1b[", "^[") }

func TestDiagnosticWithoutSource(t *testing.T) {
	rng := hcl.Range{Filename: "x.tf", Start: hcl.Pos{Line: 3, Column: 1, Byte: 10},
		End: hcl.Pos{Line: 3, Column: 2, Byte: 11}}
	var b bytes.Buffer
	NewHuman(Options{Out: &b}).Diagnostics(tfdiags.Diagnostics{
		{Severity: tfdiags.Error, Summary: "Odd\x1b[31m", Detail: "It is.", Subject: &rng},
		{Severity: tfdiags.Error, Summary: "No place", Address: "a.b"},
	})
	want := "\nError: No place\n\n  with a.b,\n\n\nError: Odd\u241b[31m\n\n  on x.tf line 3:\n  (source code " +
		"not available)\n\nIt is.\n"
	if b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
}

// TestDiagnosticBeforeALongCharacter checks that the highlighted text doesn't end within a
// character.
func TestDiagnosticBeforeALongCharacter(t *testing.T) {
	at := hcl.Pos{Line: 1, Column: 5, Byte: 4}
	d := tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "s", Subject: &hcl.Range{Filename: "x.tf",
		Start: at, End: at}}
	var b bytes.Buffer
	NewHuman(Options{Out: &b, Color: true, ErrColor: true,
		Sources: func(string) []byte { return []byte("a = €5\n") }}).Diagnostics(d.List())
	if got := visible(b.String()); !strings.Contains(got, "   1: a = ^[4m€^[0m5") {
		t.Error(got)
	}
}

func TestDiagnosticAtTheEndOfAFile(t *testing.T) {
	text := "a = 1\n"
	rng := hcl.Range{Filename: "x.tf", Start: hcl.Pos{Line: 2, Column: 1, Byte: 6},
		End: hcl.Pos{Line: 2, Column: 1, Byte: 6}}
	src := newSources(func(string) []byte { return []byte(text) })
	d := src.describe(tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "s", Subject: &rng})
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"severity":"error","summary":"s","detail":"","range":{"filename":"x.tf","start":{"line":2,"column":1,"byte":6},"end":{"line":2,"column":2,"byte":7}}}`
	if string(b) != want {
		t.Errorf("got %s\nwant %s", b, want)
	}
}

// TestNamesOnTerminals checks that control characters in a name, which may come from a disk or
// backend, do not reach the terminal. JSON output has the unchanged name.
func TestNamesOnTerminals(t *testing.T) {
	const name = "w\x1b[2Jx"
	var b, j bytes.Buffer
	human := NewHuman(Options{Out: &b, Err: &b})
	human.Message(Workspaces{Current: name, Names: []string{name}})
	human.Message(Addresses{Addrs: []string{name}})
	human.Message(Text{Text: "\x1b[1m- m in\x1b[0m " + name})
	at := hcl.Pos{Line: 1, Column: 1}
	human.Diagnostics(tfdiags.Diagnostics{{Severity: tfdiags.Error, Summary: "s",
		Subject: &hcl.Range{Filename: name, Start: at, End: at}}})
	got := b.String()
	for _, want := range []string{"* w␛[2Jx\n", "\nw␛[2Jx\n", "\x1b[1m- m in\x1b[0m w␛[2Jx\n", "on w␛[2Jx line 1"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if strings.Contains(got, "\x1b[2J") {
		t.Errorf("it reaches the terminal: %q", got)
	}
	NewJSON(Options{Out: &j}).Message(Workspaces{Current: name, Names: []string{name}})
	if !strings.Contains(j.String(), `"w\u001b[2Jx"`) {
		t.Errorf("JSON has another name: %s", j.String())
	}
}
