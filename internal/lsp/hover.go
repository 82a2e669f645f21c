package lsp

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/lang/funcs"
)

// under has what is at an offset of a file: the blocks around it and, if the offset is in one, the
// attribute and the expression.
type under struct {
	blocks []*hclsyntax.Block // outermost first
	label  int                // index of the label of the innermost block at the offset, or -1
	header bool               // the offset is in the header of the innermost block
	attr   *hclsyntax.Attribute
	expr   hclsyntax.Expression // the narrowest expression that can be evaluated, or nil
	hidden bool                 // the expression uses a name that a "for" expression defines
}

// underAt returns what is at an offset.
func (p *parsed) underAt(offset int) under {
	u := under{label: -1}
	for body := p.body; body != nil; {
		next := (*hclsyntax.Body)(nil)
		for _, attr := range body.Attributes {
			if contains(attr.SrcRange, offset) {
				u.attr = attr
				if contains(attr.Expr.Range(), offset) {
					u.findExpr(offset)
				}
				return u
			}
		}
		for _, block := range body.Blocks {
			if !contains(block.Range(), offset) {
				continue
			}
			u.blocks, next = append(u.blocks, block), block.Body
			if offset < block.OpenBraceRange.Start.Byte {
				u.header = true
				for i, rng := range block.LabelRanges {
					if contains(rng, offset) {
						u.label = i
					}
				}
				return u
			}
		}
		body = next
	}
	return u
}

func contains(rng hcl.Range, offset int) bool {
	return offset >= rng.Start.Byte && offset <= rng.End.Byte
}

// findExpr sets the narrowest reference, or call whose name is at the offset.
func (u *under) findExpr(offset int) {
	w := &exprFinder{offset: offset}
	hclsyntax.Walk(u.attr.Expr, w)
	u.expr, u.hidden = w.found, w.isHidden
}

type exprFinder struct {
	offset   int
	found    hclsyntax.Expression
	isHidden bool
	names    []map[string]struct{}
}

// Enter implements hclsyntax.Walker.
func (w *exprFinder) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch e := node.(type) {
	case hclsyntax.ChildScope:
		w.names = append(w.names, e.LocalNames)
	case *hclsyntax.FunctionCallExpr:
		if contains(e.NameRange, w.offset) {
			w.set(e)
		}
	case *hclsyntax.ScopeTraversalExpr:
		if contains(e.SrcRange, w.offset) {
			w.set(w.cut(e))
		}
	case *hclsyntax.RelativeTraversalExpr:
		if contains(e.Traversal.SourceRange(), w.offset) {
			w.set(e)
		}
	}
	return nil
}

// set sets the expression. It is hidden if a name that it uses is defined around it.
func (w *exprFinder) set(e hclsyntax.Expression) {
	w.found, w.isHidden = e, false
	for _, tr := range e.Variables() {
		for _, names := range w.names {
			if _, ok := names[tr.RootName()]; ok {
				w.isHidden = true
			}
		}
	}
}

// cut returns a reference without the steps after the one at the offset.
func (w *exprFinder) cut(e *hclsyntax.ScopeTraversalExpr) hclsyntax.Expression {
	for i, step := range e.Traversal {
		if i > 0 && contains(step.SourceRange(), w.offset) && w.offset > step.SourceRange().Start.Byte {
			short := *e
			short.Traversal = e.Traversal[:i+1]
			short.SrcRange = hcl.RangeBetween(e.SrcRange, step.SourceRange())
			return &short
		}
	}
	return e
}

// Exit implements hclsyntax.Walker.
func (w *exprFinder) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(hclsyntax.ChildScope); ok {
		w.names = w.names[:len(w.names)-1]
	}
	return nil
}

// open returns the blocks in the form that contentOf needs.
func (u *under) open() []openBlock {
	var out []openBlock
	for _, b := range u.blocks {
		out = append(out, openBlock{b.Type, b.Labels})
	}
	return out
}

// hover describes what is at an offset of a file, in Markdown, with its range. It returns "" if there is
// nothing to say.
func (v *view) hover(p *parsed, dir string, offset int) (string, hcl.Range) {
	u := p.underAt(offset)
	cfg := v.module(dir)
	blocks := u.open()
	switch {
	case u.attr != nil && u.expr == nil && contains(u.attr.NameRange, offset):
		c := v.contentOf(cfg, blocks)
		return v.attributeText(c, &u, dir), u.attr.NameRange
	case u.expr != nil:
		return v.expressionText(cfg, &u, dir), u.expr.Range()
	case u.label >= 0 || u.header:
		last := u.blocks[len(u.blocks)-1]
		return v.blockText(cfg, &u, dir), last.DefRange()
	}
	return "", hcl.Range{}
}

// attributeText describes an argument, with the values that it has in the plan.
func (v *view) attributeText(c content, u *under, dir string) string {
	var b strings.Builder
	name := u.attr.Name
	switch {
	case c.schema != nil && c.schema.Attributes[name] != nil:
		a := c.schema.Attributes[name]
		fmt.Fprintf(&b, "`%s` %s\n\n%s\n", name, attributeDetail(a), a.Description)
		if a.DeprecationMessage != "" {
			fmt.Fprintf(&b, "\nDeprecated: %s\n", a.DeprecationMessage)
		}
	case c.called != nil && c.called.Variables[name] != nil:
		variable := c.called.Variables[name]
		fmt.Fprintf(&b, "`%s` %s\n\n%s\n", name, variable.Type.Type.FriendlyName(), variable.Description.Value)
	default:
		fmt.Fprintf(&b, "`%s`\n", name)
	}
	owner := c.owner
	if len(u.blocks) == 1 && u.blocks[0].Type == "locals" {
		owner = nil
	}
	points, more := v.points(dir, owner, maxPoints)
	b.WriteString(code(v.table(points, more, func(p point) (cty.Value, bool) { return v.argument(u, p, c) })))
	return b.String()
}

// argument returns the value of an argument of a block in the plan. What a provider has made of it counts.
func (v *view) argument(u *under, p point, c content) (cty.Value, bool) {
	if r, ok := c.owner.(addrs.Resource); ok && len(u.blocks) == 1 && c.schema != nil && c.schema.Attributes[u.attr.Name] != nil {
		object := v.object(p, r)
		if object != cty.NilVal && object.Type().IsObjectType() && object.Type().HasAttribute(u.attr.Name) {
			bare, m := object.Unmark()
			if bare.IsKnown() && !bare.IsNull() {
				return bare.GetAttr(u.attr.Name).WithMarks(m), true
			}
		}
	}
	val, err := v.eval(p, u.attr.Expr)
	return val, err == nil
}

// object returns the planned object of an instance with the marks of its schema, or NilVal.
func (v *view) object(p point, r addrs.Resource) cty.Value {
	val, err := v.evalText(p, r.String()+p.key.String())
	if err != nil {
		return cty.NilVal
	}
	return val
}

// expressionText describes a reference or a call of a function, with its values.
func (v *view) expressionText(cfg *configs.Config, u *under, dir string) string {
	var b strings.Builder
	switch e := u.expr.(type) {
	case *hclsyntax.FunctionCallExpr:
		for _, f := range funcs.Docs() {
			if f.Name == strings.TrimPrefix(e.Name, funcs.Namespace) {
				fmt.Fprintf(&b, "%s\n%s\n\n", code(signature(f)), f.Description)
			}
		}
	case *hclsyntax.ScopeTraversalExpr:
		if ref, err := addrs.ParseRef(e.Traversal, addrs.ModuleScope); err == nil && cfg != nil && !u.hidden {
			b.WriteString(v.subjectText(cfg, ref))
		}
	}
	if u.hidden || len(u.blocks) == 0 {
		return b.String()
	}
	owner, _ := blockSymbol(u.blocks[0])
	points, more := v.points(dir, owner, maxPoints)
	seen := map[string]bool{}
	for _, p := range points {
		val, err := v.eval(p, u.expr)
		if err != nil {
			val = cty.NilVal
		}
		seen[shown(val)] = true
	}
	if len(seen) == 1 { // the same value everywhere
		points, more = points[:1], 0
		points[0].label = ""
	}
	b.WriteString(code(v.table(points, more, func(p point) (cty.Value, bool) {
		val, err := v.eval(p, u.expr)
		return val, err == nil
	})))
	return b.String()
}

// subjectText says what a reference refers to.
func (v *view) subjectText(cfg *configs.Config, ref *addrs.Reference) string {
	text := "`" + ref.Subject.String() + "`"
	switch of := ref.Whole().(type) {
	case addrs.InputVariable:
		if variable := cfg.Module.Variables[of.Name]; variable != nil {
			text = fmt.Sprintf("`%s` %s\n\n%s", of, variable.Type.Type.FriendlyName(), variable.Description.Value)
		}
	case addrs.ModuleCallOutput:
		if child := cfg.Children[of.Call.Name]; child != nil && child.Module != nil && child.Module.Outputs[of.Output] != nil {
			text += "\n\n" + child.Module.Outputs[of.Output].Description.Value
		}
	case addrs.Resource:
		s := v.schemas.Resource(providerOf(cfg, of), of)
		if s == nil || len(ref.Remaining) == 0 {
			break
		}
		if a := s.Block.Attributes[addrs.FirstName(ref.Remaining)]; a != nil {
			text += fmt.Sprintf("\n\n`%s` %s\n\n%s", addrs.FirstName(ref.Remaining), attributeDetail(a), a.Description)
		}
	}
	return text + "\n\n"
}

// blockText describes a block at its header.
func (v *view) blockText(cfg *configs.Config, u *under, dir string) string {
	last := u.blocks[len(u.blocks)-1]
	c := v.contentOf(cfg, u.open())
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`\n\n", strings.Join(append([]string{last.Type}, last.Labels...), " "))
	if c.schema != nil {
		b.WriteString(describe(c.schema) + "\n\n")
	}
	of, _ := blockSymbol(last)
	if r, ok := of.(addrs.Resource); ok && len(u.blocks) == 1 {
		for _, m := range v.modules(dir) {
			if text := v.difference(r.In(m.Path)); text != "" {
				b.WriteString(code(clip(text)))
			}
		}
	}
	subject, isValue := of.(addrs.Referenceable)
	if _, isResource := of.(addrs.Resource); isValue && !isResource {
		points, more := v.points(dir, nil, maxPoints)
		b.WriteString(code(v.table(points, more, func(p point) (cty.Value, bool) {
			val := v.values.Value(p.in, subject)
			return val, val != cty.NilVal
		})))
	}
	return b.String()
}

func describe(b *configschema.Block) string {
	text := b.Description
	if b.DeprecationMessage != "" {
		text += "\n\nDeprecated: " + b.DeprecationMessage
	}
	return text
}

// code returns a block of code in Markdown, or "" for an empty text.
func code(text string) string {
	if text == "" {
		return ""
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "hcl\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}
