package configs

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/lang/lazyblock"
)

func TestPieces(t *testing.T) {
	block := func(i int) string {
		return fmt.Sprintf("resource \"a\" \"b%d\" {\n  c = \"${d.e[%d]}ä\" # x\n}\n", i, i)
	}
	many := func(between string) string {
		var b strings.Builder
		for i := range 20 {
			b.WriteString(block(i) + between)
		}
		return b.String()
	}
	tests := []struct {
		name, src string
		pieces    bool
	}{
		{"blocks", many(""), true},
		{"empty lines", "\n\n" + many("\n\n\n") + "\n", true},
		{"comments", many("# resource\n}\n// }\n"), false}, // a closing brace alone is an error
		{"comments between", "# first\n" + many("# next\n"), false},
		{"no final newline", strings.TrimSuffix(many(""), "\n"), true},
		{"nested", many("locals {\n  x = {\n    y = [\n{\n}\n]\n  }\n}\n"), true},
		{"CRLF", strings.ReplaceAll(many(""), "\n", "\r\n"), false},
		{"block comment", many("") + "/*\n" + many("") + "*/\n", false},
		{"heredoc with code", "locals {\n  x = <<EOT\n" + many("") + "EOT\n}\n", false},
		{"heredoc that ends like code", many("") + "locals {\n  x = <<EOT\n" + many("") + "EOT\n}\n", false},
		{"attribute", many("") + "x = 1\n", false},
		{"error", many("") + "}\n", false},
		{"nested error", many("") + "locals {\n  x = \n}\n" + many(""), false},
		{"byte order mark", "\ufeff" + many(""), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			src := []byte(test.src)
			want, diags := hclsyntax.ParseConfig(src, "main.tf", hcl.InitialPos)
			got := parsePieces("main.tf", cut(src), false)
			if (got != nil) != test.pieces {
				t.Fatalf("%d pieces: parsed in pieces = %v, diagnostics of the whole file: %v", len(cut(src)),
					got != nil, diags)
			}
			if got == nil {
				return
			}
			if diags.HasErrors() {
				t.Fatal("no error for a file with errors:", diags)
			}
			if !reflect.DeepEqual(got, want.Body) {
				t.Errorf("the pieces differ: got %#v, want %#v", got, want.Body)
			}
		})
	}
}

// FuzzPieces checks that cutting a file into pieces, and parsing blocks later, never change the result.
func FuzzPieces(f *testing.F) {
	f.Add("resource \"a\" \"b\" {\n  x = local.y\n}\n# c\n\nlocals {\n  y = 1\n}\nresource \"c\" \"d\" {\n  x = {\n}\n}\n")
	f.Add("resource \"a\" \"b\" {\n  x = 1\n}\nlocals {\n  y = <<E\n}\nresource \"a\" \"b\" {\n}\nE\n}\n")
	f.Add("a {\n}\nb {\n  c = <<E\n}\nd\nE\n}\n")
	f.Add("a {\n  b = \"${{\n}\n}\"\n}\nc {}\n")
	f.Add("a {\n  b = 1 /* c\n}\nd {\n}\ne {\n  */\n}\nf {\n}\n")
	f.Add("/*\na {\n}\nb {\n}\nc */\nd {\n}\ne {\n  f = \"/*\"\n}\ng {\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		src := []byte(text)
		want, diags := hclsyntax.ParseConfig(src, "main.tf", hcl.InitialPos)
		for _, delay := range []bool{false, true} {
			got := parsePieces("main.tf", cut(src), delay)
			if got != nil && (diags.HasErrors() || !reflect.DeepEqual(parsedBlocks(got), parsedBlocks(want.Body))) {
				t.Errorf("the pieces of %q differ from the whole file: %v", text, diags)
			}
		}
	})
}

// parsedBlocks returns the blocks of a file, all of them parsed.
func parsedBlocks(body hcl.Body) hcl.Blocks {
	native, ok := body.(*hclsyntax.Body)
	if !ok {
		native = body.(delayedBody).Body
	}
	schema := &hcl.BodySchema{}
	for _, block := range append(native.Blocks, &hclsyntax.Block{Type: "resource", Labels: []string{"type", "name"}}) {
		schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: block.Type, LabelNames: block.Labels})
	}
	content, _ := body.Content(schema)
	for _, block := range content.Blocks {
		block.Body, _ = lazyblock.Native(block.Body)
	}
	return content.Blocks
}

// FuzzSettings checks that files without errors have the same settings with and without the blocks of
// resources and data sources.
func FuzzSettings(f *testing.F) {
	f.Add("resource \"a\" \"b\" {\n  c = 1\n}\nterraform {\n}\n")
	f.Add("resource \"a\" \"b\" {\n  c = <<E\nx {\n}\nterraform {\n}\nE\n}\n")
	f.Add("data \"a\" \"b\" {\n  x {\n}\ndata \"c\" \"d\" {\n}\n}\nlocals {\n}\n")
	f.Add("resource \"a\" \"b\" {\n/*\n}\nvariable \"x\" {\n}\nresource \"c\" \"d\" {\n*/\n}\n")
	f.Add("resource \"a\" \"b\" {\n  }\nvariable \"x\" {\n}\n")
	f.Add("resource \"a\" \"b\" {\n  c = \"\\\"{${\"}{\"}\" # {\n  }\nvariable \"x\" {\n  // }}}\n}\n")
	f.Add("resource \"a\" \"b\" {}\nvariable \"x\" {\n}\n# resource\nephemeral \"a\" \"b\" {\n}\n// }\n")
	settings := func(body any) (out hclsyntax.Blocks) {
		for _, block := range body.(*hclsyntax.Body).Blocks {
			if !declaresObjects(block.Type) {
				out = append(out, block)
			}
		}
		return out
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, diags := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos)
		if diags.HasErrors() {
			return
		}
		got, diags := parseNative("main.tf", []byte(text), Settings, false)
		if diags.HasErrors() || !reflect.DeepEqual(settings(got.Body), settings(want.Body)) {
			t.Errorf("the settings of %q differ from the whole file: %v", text, diags)
		}
	})
}
