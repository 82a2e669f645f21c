package terragrunt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// replacement replaces a range of a file.
type replacement struct {
	at   hcl.Range
	text string
}

// rewriter rewrites an expression. Parts that don't use outputs of other units become constants.
type rewriter struct {
	im    *importer
	c     *config
	needs map[string]*root // root modules by dependency block
	found []replacement
	bound []string // variables of the enclosing "for" expressions
	errs  tfdiags.Diagnostics
}

// language holds the functions that are available in roots.tofu.hcl.
var language = funcs.Table(funcs.Options{})

// rewrite returns the text of an expression for roots.tofu.hcl. needs are the root modules by
// dependency block.
func (im *importer) rewrite(c *config, expr hclsyntax.Expression, needs map[string]*root) (string, error) {
	if v, err := c.written(expr); err == nil {
		return literal(v), nil
	}
	r := &rewriter{im: im, c: c, needs: needs}
	r.visit(expr)
	if r.errs.HasErrors() {
		return "", r.errs.Err()
	}
	slices.SortFunc(r.found, func(a, b replacement) int { return a.at.Start.Byte - b.at.Start.Byte })
	var b strings.Builder
	rng := expr.Range()
	at := rng.Start.Byte
	for _, f := range r.found {
		b.Write(c.src[at:f.at.Start.Byte])
		b.WriteString(f.text)
		at = f.at.End.Byte
	}
	b.Write(c.src[at:rng.End.Byte])
	return b.String(), nil
}

func literal(v cty.Value) string { return string(hclwrite.TokensForValue(v).Bytes()) }

// inPlace returns the text of a value that replaces an expression. In a template, the text of a
// directive such as %{ if … } includes its marks, and so does its replacement.
func inPlace(v cty.Value, expr []byte) string {
	if !bytes.HasPrefix(expr, []byte("%{")) {
		return literal(v)
	}
	start, end := "${", "}"
	if bytes.HasPrefix(expr, []byte("%{~")) {
		start = "${~ "
	}
	if bytes.HasSuffix(expr, []byte("~}")) {
		end = " ~}"
	}
	return start + literal(v) + end
}

// visit adds replacements for an expression as a whole or for parts of it.
func (r *rewriter) visit(expr hclsyntax.Expression) {
	if tr, ok := expr.(*hclsyntax.ScopeTraversalExpr); ok {
		r.traversal(tr)
		return
	}
	if _, isText := expr.(*hclsyntax.LiteralValueExpr); isText {
		return // literal values stay as they are, even in templates
	}
	if !r.depends(expr) {
		v, err := r.c.written(expr)
		if err != nil {
			r.errs = r.errs.AppendError(err)
			return
		}
		r.found = append(r.found, replacement{expr.Range(), inPlace(v, expr.Range().SliceBytes(r.c.src))})
		return
	}
	switch e := expr.(type) {
	case *hclsyntax.TemplateExpr:
		r.all(e.Parts...)
	case *hclsyntax.TemplateWrapExpr:
		r.all(e.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		r.all(e.Expression)
	case *hclsyntax.TupleConsExpr:
		r.all(e.Exprs...)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			if key, ok := item.KeyExpr.(*hclsyntax.ObjectConsKeyExpr); !ok || hcl.ExprAsKeyword(key.Wrapped) == "" {
				r.visit(item.KeyExpr)
			}
			r.visit(item.ValueExpr)
		}
	case *hclsyntax.ObjectConsKeyExpr:
		r.all(e.Wrapped)
	case *hclsyntax.FunctionCallExpr:
		if why := dynamic[e.Name]; why != "" {
			r.errs = r.errs.Append(tfdiags.Errorf("Unsupported expression",
				"The result of %s is not constant: %s.", e.Name, why).At(expr.Range()))
			return
		}
		if _, known := language[e.Name]; !known {
			r.unsupported(expr)
			return
		}
		r.all(e.Args...)
	case *hclsyntax.RelativeTraversalExpr:
		r.all(e.Source)
	case *hclsyntax.ConditionalExpr:
		r.all(e.Condition, e.TrueResult, e.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		r.all(e.LHS, e.RHS)
	case *hclsyntax.UnaryOpExpr:
		r.all(e.Val)
	case *hclsyntax.IndexExpr:
		r.all(e.Collection, e.Key)
	case *hclsyntax.SplatExpr:
		r.all(e.Source)
	case *hclsyntax.ForExpr:
		r.all(e.CollExpr)
		r.bound = append(r.bound, e.KeyVar, e.ValVar)
		for _, part := range []hclsyntax.Expression{e.KeyExpr, e.ValExpr, e.CondExpr} {
			if part != nil {
				r.visit(part)
			}
		}
		r.bound = r.bound[:len(r.bound)-2]
	default:
		r.unsupported(expr)
	}
}

func (r *rewriter) all(exprs ...hclsyntax.Expression) {
	for _, e := range exprs {
		r.visit(e)
	}
}

func (r *rewriter) unsupported(expr hclsyntax.Expression) {
	r.errs = r.errs.Append(tfdiags.Errorf("Unsupported expression",
		"This kind of expression can't be used in roots.tofu.hcl.").At(expr.Range()))
}

// depends reports whether an expression uses outputs of other units or variables of an enclosing
// "for" expression.
func (r *rewriter) depends(expr hclsyntax.Expression) bool {
	return slices.ContainsFunc(expr.Variables(), func(tr hcl.Traversal) bool {
		return tr.RootName() == "dependency" || slices.Contains(r.bound, tr.RootName())
	})
}

// traversal replaces dependency.NAME.outputs with a reference, and other traversals with constants.
func (r *rewriter) traversal(e *hclsyntax.ScopeTraversalExpr) {
	tr := e.Traversal
	switch {
	case slices.Contains(r.bound, tr.RootName()):
		return
	case tr.RootName() != "dependency":
		v, err := r.c.written(e)
		r.errs = r.errs.AppendError(err)
		if err == nil {
			r.found = append(r.found, replacement{e.Range(), literal(v)})
		}
		return
	}
	if len(tr) >= 3 {
		name, isName := tr[1].(hcl.TraverseAttr)
		outputs, isOutputs := tr[2].(hcl.TraverseAttr)
		if root := r.needs[name.Name]; isName && isOutputs && outputs.Name == "outputs" && root != nil {
			if len(tr) > 3 {
				r.output(root, tr[3], e.Range())
			}
			at := e.Range()
			at.End = tr[2].SourceRange().End
			r.found = append(r.found, replacement{at, fmt.Sprintf("root[%q]", root.name)})
			return
		}
	}
	r.errs = r.errs.Append(tfdiags.Errorf("Unsupported reference",
		"Only outputs of units that are imported in the same run can be used, as in "+
			"dependency.NAME.outputs.OUTPUT.").At(e.Range()))
}

// output adds an error if a root module doesn't have the output that step selects.
func (r *rewriter) output(root *root, step hcl.Traverser, at hcl.Range) {
	name := ""
	switch step := step.(type) {
	case hcl.TraverseAttr:
		name = step.Name
	case hcl.TraverseIndex:
		name, _ = stringOf(step.Key)
	}
	cfg := r.im.module(root.dir)
	if cfg == nil || name == "" || cfg.Module.Outputs[name] != nil {
		return
	}
	r.errs = r.errs.Append(tfdiags.Errorf("Unknown output", "The module %s has no output %q.", r.im.relative(root.dir),
		name).At(at))
}
