package lsp

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/lsp/protocol"
)

// tokenTypes is the legend of semantic tokens: the index of a type is its number.
var tokenTypes = []string{"keyword", "type", "variable", "property", "function", "namespace", "string", "number",
	"comment", "parameter"}

// Numbers of types in tokenTypes.
const (
	tokenKeyword = iota
	tokenType
	tokenVariable
	tokenProperty
	tokenFunction
	tokenNamespace
	tokenString
	tokenNumber
	tokenComment
	tokenParameter
)

// tokenModifiers is the legend of modifiers: the bit of a modifier is its index.
var tokenModifiers = []string{"declaration", "readonly"}

const declaration = 1 << 0

type token struct{ start, end, typ, modifiers int }

// semanticTokens returns the tokens of a file in the encoding of the protocol. Tokens never overlap.
func (p *parsed) semanticTokens() []uint32 {
	s := &painter{}
	if p.body != nil {
		s.body(p.body)
	}
	for _, o := range p.occurrences {
		if _, isOutput := o.of.(addrs.OutputValue); isOutput && o.call != "" && !o.name.Empty() {
			s.add(o.name, tokenProperty, 0)
		}
	}
	slices.SortStableFunc(s.out, func(a, b token) int { return a.start - b.start })
	out := []uint32{}
	var last protocol.Position
	end := 0
	for _, t := range s.out {
		if t.start < end {
			continue
		}
		end = t.end
		from, to := p.position(t.start), p.position(t.end)
		if from.Line != to.Line {
			continue
		}
		column := from.Character
		if from.Line == last.Line {
			column -= last.Character
		}
		out = append(out, from.Line-last.Line, column, to.Character-from.Character, uint32(t.typ), uint32(t.modifiers))
		last = from
	}
	return out
}

// painter collects the tokens of a syntax tree.
type painter struct {
	out   []token
	names []map[string]struct{}
}

func (s *painter) add(rng hcl.Range, typ, modifiers int) {
	if !rng.Empty() {
		s.out = append(s.out, token{rng.Start.Byte, rng.End.Byte, typ, modifiers})
	}
}

func (s *painter) body(body *hclsyntax.Body) {
	for _, attr := range body.Attributes {
		s.add(attr.NameRange, tokenProperty, 0)
		hclsyntax.Walk(attr.Expr, s)
	}
	for _, block := range body.Blocks {
		s.add(block.TypeRange, tokenKeyword, 0)
		_, name := blockSymbol(block)
		for i, rng := range block.LabelRanges {
			if i == name && i == len(block.Labels)-1 {
				s.add(rng, tokenVariable, declaration)
			} else {
				s.add(rng, tokenType, 0)
			}
		}
		s.body(block.Body)
	}
}

// wordTypes are the types of the words with which references begin.
var wordTypes = map[string]int{"var": tokenKeyword, "local": tokenKeyword, "module": tokenKeyword, "data": tokenKeyword,
	"ephemeral": tokenKeyword, "action": tokenKeyword, "each": tokenKeyword, "count": tokenKeyword, "self": tokenKeyword,
	"path": tokenKeyword, "terraform": tokenKeyword, "tofu": tokenKeyword}

// Enter implements hclsyntax.Walker.
func (s *painter) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch e := node.(type) {
	case hclsyntax.ChildScope:
		s.names = append(s.names, e.LocalNames)
	case *hclsyntax.FunctionCallExpr:
		s.add(e.NameRange, tokenFunction, 0)
	case *hclsyntax.ObjectConsKeyExpr:
		if hcl.ExprAsKeyword(e) != "" && !e.ForceNonLiteral {
			s.add(e.Range(), tokenProperty, 0)
		}
	case *hclsyntax.LiteralValueExpr:
		switch {
		case e.Val.IsNull() || e.Val.Type().FriendlyName() == "bool":
			s.add(e.SrcRange, tokenKeyword, 0)
		case e.Val.Type().FriendlyName() == "number":
			s.add(e.SrcRange, tokenNumber, 0)
		}
	case *hclsyntax.ScopeTraversalExpr:
		s.traversal(e.Traversal)
	case *hclsyntax.RelativeTraversalExpr:
		s.steps(e.Traversal, tokenProperty)
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (s *painter) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(hclsyntax.ChildScope); ok {
		s.names = s.names[:len(s.names)-1]
	}
	return nil
}

func (s *painter) traversal(tr hcl.Traversal) {
	root := tr[0].SourceRange()
	for _, names := range s.names {
		if _, ok := names[tr.RootName()]; ok {
			s.add(root, tokenParameter, 0)
			s.steps(tr[1:], tokenProperty)
			return
		}
	}
	typ, ok := wordTypes[tr.RootName()]
	if !ok {
		typ = tokenType // the type of a resource
	}
	s.add(root, typ, 0)
	for i, step := range tr[1:] {
		kind := tokenProperty
		switch {
		case i == 0 && tr.RootName() == "module":
			kind = tokenNamespace
		case i == 0 && (tr.RootName() == "data" || tr.RootName() == "ephemeral" || tr.RootName() == "action"):
			kind = tokenType
		case i == 0 && len(tr) > 1, i == 1 && typ == tokenKeyword && len(s.out) > 0 && s.out[len(s.out)-1].typ == tokenType:
			kind = tokenVariable
		}
		s.steps(hcl.Traversal{step}, kind)
	}
}

func (s *painter) steps(steps hcl.Traversal, typ int) {
	for _, step := range steps {
		s.add(stepName(step), typ, 0)
	}
}
