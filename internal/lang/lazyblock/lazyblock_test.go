package lazyblock

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"
)

// at is where the texts of the tests are in their file.
var at = hcl.Pos{Line: 5, Column: 1, Byte: 100}

// accepted are texts that Blocks reads, besides what is in it.
var accepted = []string{
	"",
	"resource \"a\" \"b\" {\n}\n",
	"# c\n\nresource \"a-b\" \"b_1\" { # x\n  x = 1 # y\n\n  // z\n  y=-2.5\n}\n// end\n# ä\n",
	"resource \"a\" \"b\" {\n}\nresource \"c\" \"d\"   {\n\tz = local.a\n}\n\n\n",
	`resource "aws_instance" "web" {
  name  = "${local.a} ä"
  plain = "$5 100% \" \\ \n"
  other = "${ var.b["x-1"].c } and ${data.d.e[0].f}-${module.g.h}"
  ref   = aws_x.y.z[12]
  tags = { env = "prod", "k ${var.k}" : true, # c
    deep = {
      a = [null, false, "x",
        # why
        [ local.b, ],
      ]
    } }
  empty = {}
  none  = []
}
`,
}

// refused are texts that Blocks leaves to the parser.
var refused = []string{
	"variable \"a\" {\n}\n",
	"resource \"a\" {\n}\n",
	"resource \"a\" \"b\" {}\n",
	"resource \"a\" \"b\" {\n}",
	"resource \"a\" \"b\" {\n  x = 1\n  x = 2\n}\n",
	"resource \"a\" \"b\" {\n  nested {\n  }\n}\n",
	"resource \"a\" \"b\" {\n  x = f(1)\n}\n",
	"resource \"a\" \"b\" {\n  x = a ? b : c\n}\n",
	"resource \"a\" \"b\" {\n  x = a.*.b\n}\n",
	"resource \"a\" \"b\" {\n  x = a[b]\n}\n",
	"resource \"a\" \"b\" {\n  x = [for y in z : y]\n}\n",
	"resource \"a\" \"b\" {\n  x = { for = 1 }\n}\n",
	"resource \"a\" \"b\" {\n  x = \"$${a}\"\n}\n",
	"resource \"a\" \"b\" {\n  x = \"%{if a}b%{endif}\"\n}\n",
	"resource \"a\" \"b\" {\n  x = \"${~a}\"\n}\n",
	"resource \"a\" \"b\" {\n  x = \"\\u00e4\"\n}\n",
	"resource \"a\" \"b\" {\n  x = \"ä\" # the column of y is unknown\n  y = [\"ä\", z]\n}\n",
	"resource \"a\" \"b\" {\n  x = <<E\nE\n}\n",
	"resource \"a\" \"b\" {\n  x = 1 /* c */\n}\n",
	"resource \"a\" \"b\" {\r\n}\r\n",
	"resource \"a\" \"b\" {\n  x = \n}\n",
	"resource \"a\" \"b\" {\n  x = { a = 1 b = 2 }\n}\n",
	"resource \"a\" \"b\" {\n  x = [1 2]\n}\n",
	"resource \"a\" \"b\" {\n  x = " + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + "\n}\n",
}

func TestBlocks(t *testing.T) {
	for _, src := range accepted {
		if !compare(t, src) {
			t.Errorf("not accepted:\n%s", src)
		}
	}
	for _, src := range refused {
		if compare(t, src) {
			t.Errorf("accepted:\n%s", src)
		}
	}
}

// FuzzBlocks checks that what Blocks accepts has no errors, and that its results are those of the
// parser.
func FuzzBlocks(f *testing.F) {
	for _, src := range slices.Concat(accepted, refused) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) { compare(t, src) })
}

// TestExpressions is like FuzzBlocks, for blocks of fragments, some of which don't fit together.
func TestExpressions(t *testing.T) {
	fragment := rapid.SampledFrom([]string{" ", "  ", "\n", "\t", ",", "=", ":", ".", "-", "{", "}", "[", "]", "\"", "${",
		"}", "#c\n", "//\n", "a", "local.a", "for", "true", "null", "x1", "0", "12", "1.5", "e1", "$", "%", "\\", "\\\"",
		"ä", "x = ", "\n  y = ", "[0]", "[\"k\"]", "\"s\"", "{ k = v }", "[a, b]", "\"${a.b}\"", "(", "?", "*", "é", "́"})
	count := 0
	rapid.Check(t, func(t *rapid.T) {
		value := strings.Join(rapid.SliceOfN(fragment, 1, 8).Draw(t, "value"), "")
		if compare(t, "resource \"a\" \"b\" {\n  v = "+value+"\n}\n") {
			count++
		}
	})
	if count == 0 {
		t.Error("no value was accepted")
	}
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// compare compares the results of Blocks with those of the parser. It reports whether Blocks accepts
// the text.
func compare(t failer, src string) bool {
	t.Helper()
	if !utf8.ValidString(src) {
		return false
	}
	blocks, ok := Blocks([]byte(src), "main.tf", at)
	if !ok {
		return false
	}
	file, diags := hclsyntax.ParseConfig([]byte(src), "main.tf", at)
	if len(diags) > 0 {
		t.Fatalf("accepted, but %v:\n%s", diags, src)
	}
	want := file.Body.(*hclsyntax.Body)
	if len(want.Attributes) > 0 || len(want.Blocks) != len(blocks) {
		t.Fatalf("%d blocks instead of %d:\n%s", len(blocks), len(want.Blocks), src)
	}
	for i, native := range want.Blocks {
		got, block := *blocks[i], *native.AsHCLBlock()
		body := got.Body.(*Body)
		got.Body, block.Body = nil, nil
		equal(t, src, "blocks", got, block)
		compareBody(t, src, body, native.Body)
	}
	return true
}

func compareBody(t failer, src string, got *Body, want *hclsyntax.Body) {
	t.Helper()
	var attrs []*hclsyntax.Attribute
	for _, attr := range want.Attributes {
		attrs = append(attrs, attr)
	}
	slices.SortFunc(attrs, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
	names, traversals := []string{}, []hcl.Traversal{}
	for _, attr := range attrs {
		names = append(names, attr.Name)
		traversals = append(traversals, attr.Expr.Variables()...)
	}
	equal(t, src, "arguments", got.Arguments(), names)
	equal(t, src, "references", got.Traversals(), traversals)
	end, _ := End(got)
	equal(t, src, "ends", end, want.EndRange)
	equal(t, src, "ranges of missing items", got.MissingItemRange(), want.MissingItemRange())
	if len(want.Blocks) > 0 {
		t.Fatalf("nested blocks:\n%s", src)
	}
	none := &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "count"}}, Blocks: []hcl.BlockHeaderSchema{{Type: "x"}}}
	content, _, _ := got.PartialContent(none)
	other, _, _ := want.PartialContent(none)
	equal(t, src, "contents", len(content.Attributes)+len(content.Blocks), len(other.Attributes)+len(other.Blocks))
	native, _ := Native(got)
	equal(t, src, "bodies", native, want)
}

func equal(t failer, src, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s differ:\ngot  %#v\nwant %#v\nin\n%s", what, got, want, src)
	}
}
