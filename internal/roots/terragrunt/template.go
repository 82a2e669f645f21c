package terragrunt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// template is the content that a file has in common for several units. The text has marks in place
// of the values that differ.
type template struct {
	text    string
	varying []varying
}

// varying is a value in a file that differs between units, or has outputs of other units.
type varying struct {
	name  string
	exprs []string // one expression per unit
	typ   string   // type of the variable that has the value
}

// mark returns the text that replaces the i-th differing value. It is a valid identifier.
func mark(i int) string { return fmt.Sprintf("terragrunt_value_%d_", i) }

var marks = regexp.MustCompile(`terragrunt_value_(\d+)_`)

// merge returns the common content of the files of several units. It returns nil if variables can't
// replace the differences.
func merge(all []*wanted) *template {
	first := all[0]
	same := func(equal func(w *wanted) bool) bool {
		return !slices.ContainsFunc(all, func(w *wanted) bool { return !equal(w) })
	}
	text := first.text()
	sameText := same(func(w *wanted) bool { return w.text() == text && !w.hasOutputs() })
	if sameText {
		return &template{text: text}
	}
	sameLength := same(func(w *wanted) bool { return len(w.segments) == len(first.segments) })
	if !sameLength {
		return nil
	}
	t := &template{}
	for i, s := range first.segments {
		isFixed := same(func(w *wanted) bool { return w.segments[i].text == s.text && w.segments[i].expr == "" })
		if isFixed {
			t.text += s.text
			continue
		}
		isValue := same(func(w *wanted) bool { return w.segments[i].value })
		if !isValue {
			return nil
		}
		t.text += mark(len(t.varying))
		t.varying = append(t.varying, vary(all, i))
	}
	if !configs.IsConfigFile(first.path) || !t.insertable() { // files of variables are constant
		return nil
	}
	return t
}

// vary returns the value of the i-th segment in the files of several units.
func vary(all []*wanted, i int) varying {
	v := varying{name: all[0].segments[i].name, typ: "any"}
	sameType, outputs := true, false
	for _, w := range all {
		s := w.segments[i]
		outputs = outputs || s.expr != ""
		sameType = sameType && !outputs && s.typed.Type().Equals(all[0].segments[i].typed.Type())
	}
	switch {
	case sameType:
		v.typ = all[0].segments[i].typed.Type().FriendlyName()
	case !outputs:
		v.typ = "string"
	}
	for _, w := range all {
		switch s := w.segments[i]; {
		case s.expr != "":
			v.exprs = append(v.exprs, s.expr)
		case sameType:
			v.exprs = append(v.exprs, literal(s.typed))
		default:
			v.exprs = append(v.exprs, quoted(s.text))
		}
	}
	return v
}

// insertable reports whether a variable is allowed at every mark. Each mark must be in a quoted
// string or a whole expression, and not in a terraform block. Labels and names in references are
// neither.
func (t *template) insertable() bool {
	file, diags := hclsyntax.ParseConfig([]byte(t.text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return false
	}
	body := file.Body.(*hclsyntax.Body)
	for _, b := range body.Blocks {
		if b.Type == "terraform" && marks.Match(b.Range().SliceBytes([]byte(t.text))) {
			return false
		}
	}
	found := 0
	_ = hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
		switch expr := node.(type) {
		case *hclsyntax.TemplateExpr:
			for _, part := range expr.Parts {
				if _, ok := part.(*hclsyntax.LiteralValueExpr); ok {
					found += len(marks.FindAll(part.Range().SliceBytes([]byte(t.text)), -1))
				}
			}
		case *hclsyntax.ScopeTraversalExpr:
			if name := expr.Traversal.RootName(); len(expr.Traversal) == 1 && marks.FindString(name) == name {
				found++
			}
		}
		return nil
	})
	return found == len(t.varying) && t.isModule()
}

// isModule reports whether the content is valid with variables in place of the marks. Some arguments
// must be constant, such as the default of a variable.
func (t *template) isModule() bool {
	names := make([]string, len(t.varying))
	for i, v := range t.varying {
		names[i] = v.name
	}
	files := fstest.MapFS{"main.tf": {Data: []byte(t.insert(names))}}
	_, err := configs.NewParser(files).Module(".", tfdiags.Drop)
	return err == nil
}

func (t *template) tokens() hclsyntax.Tokens {
	tokens, _ := hclsyntax.LexConfig([]byte(t.text), "", hcl.InitialPos)
	return tokens
}

func inText(t hclsyntax.Token) bool {
	return t.Type == hclsyntax.TokenQuotedLit || t.Type == hclsyntax.TokenStringLit
}

// insert returns the content with variables in place of the marks.
func (t *template) insert(names []string) string {
	var b strings.Builder
	end := 0
	for _, token := range t.tokens() {
		b.WriteString(t.text[end:token.Range.Start.Byte])
		end = token.Range.End.Byte
		b.WriteString(marks.ReplaceAllStringFunc(string(token.Bytes), func(found string) string {
			i, _ := strconv.Atoi(marks.FindStringSubmatch(found)[1])
			if inText(token) {
				return "${var." + names[i] + "}"
			}
			return "var." + names[i]
		}))
	}
	return b.String()
}

// sameContent reports whether a file contains the given text. It ignores formatting and the comment
// that Terragrunt adds to files that it generates.
func sameContent(file, text string) bool {
	normal := func(text string) string {
		if first, rest, _ := strings.Cut(text, "\n"); strings.Contains(first, "Generated by Terragrunt") {
			text = rest
		}
		return strings.TrimSpace(string(hclwrite.Format([]byte(text))))
	}
	return normal(file) == normal(text)
}
