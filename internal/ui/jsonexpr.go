package ui

import (
	"encoding/json"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang"
)

// expression describes an unevaluated expression by its references and, if it is constant, by
// its value.
type expression struct {
	ConstantValue json.RawMessage `json:"constant_value,omitempty"`
	References    []string        `json:"references,omitempty"`
}

// exprJSON describes an expression. It returns nil if expr is nil.
func exprJSON(expr hcl.Expression) *expression {
	if expr == nil {
		return nil
	}
	out := &expression{}
	analyzed := lang.Analyze(expr, addrs.ModuleScope)
	for _, ref := range analyzed.Refs.Objects {
		out.References = append(out.References, referenceTexts(ref)...)
	}
	for _, fn := range analyzed.Refs.Functions {
		out.References = append(out.References, fn.Func.String())
	}
	// Without an evaluation context, a template in a JSON file evaluates to its own text, which
	// is what the document shows.
	if v, diags := expr.Value(nil); !diags.HasErrors() {
		out.ConstantValue = valueJSON(v)
	}
	return out
}

// referenceTexts returns a reference and its prefixes that are references too, the longest
// first: "a.b[0].c", "a.b[0]", "a.b".
func referenceTexts(ref *addrs.Reference) []string {
	subject := ref.Subject.String()
	var out []string
	for i := len(ref.Remaining); i > 0; i-- {
		if text, ok := addrs.StepsText(ref.Remaining[:i]); ok {
			out = append(out, subject+text)
		}
	}
	out = append(out, subject)
	switch subject := ref.Subject.(type) {
	case addrs.ResourceInstance:
		if subject.Key != addrs.NoKey {
			out = append(out, subject.Resource.String())
		}
	case addrs.ModuleCallOutput:
		out = append(out, subject.Call.String())
	}
	return out
}

// traversalTexts returns the references of a depends_on argument.
func traversalTexts(traversals []hcl.Traversal) []string {
	var out []string
	for _, tr := range traversals {
		if ref, err := addrs.ParseRef(tr, addrs.ModuleScope); err == nil {
			out = append(out, ref.Subject.String())
		}
	}
	return out
}

// bodyJSON describes a body by its schema, without dynamic blocks.
func bodyJSON(body hcl.Body, sch *configschema.Block) map[string]any {
	content, _, _ := sch.FixUpBody(body).PartialContent(sch.OptionalFields())
	if content == nil {
		return nil
	}
	var out map[string]any
	for name, attr := range content.Attributes {
		put(&out, name, any(exprJSON(attr.Expr)))
	}
	for _, block := range content.Blocks {
		nested := sch.BlockTypes[block.Type]
		inner := bodyJSON(block.Body, &nested.Block)
		if inner == nil {
			inner = map[string]any{}
		}
		switch nested.Nesting {
		case configschema.NestingSingle, configschema.NestingGroup:
			put(&out, block.Type, any(inner))
		case configschema.NestingMap:
			byKey, _ := out[block.Type].(map[string]any)
			put(&byKey, block.Labels[0], any(inner))
			put(&out, block.Type, any(byKey))
		default:
			list, _ := out[block.Type].([]map[string]any)
			put(&out, block.Type, any(append(list, inner)))
		}
	}
	return out
}
