package tfdiags

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// rangeInBody returns the range of the innermost item in body to which path leads. It finds blocks
// by name and, in lists, by index. If the index of a set or map can't be resolved, the search ends
// at the first block of that type. If the path selects all blocks of a type, rangeInBody returns
// the range of the enclosing body.
func rangeInBody(body hcl.Body, path cty.Path) hcl.Range {
	for len(path) > 0 {
		step, ok := path[0].(cty.GetAttrStep)
		if !ok {
			break
		}
		attrs, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: step.Name}}})
		if attrs != nil {
			if attr, ok := attrs.Attributes[step.Name]; ok {
				return rangeInExpr(attr.Expr, path[1:])
			}
		}
		blocks := blocksOf(body, step.Name)
		if len(blocks) == 0 || len(path) == 1 {
			break
		}
		block, rest := pickBlock(blocks, path[1:])
		body, path = block.Body, rest
	}
	return body.MissingItemRange()
}

func blocksOf(body hcl.Body, name string) hcl.Blocks {
	for labels := range 2 { // nested blocks have no label or, if they form a map, one label
		schema := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: name, LabelNames: []string{"key"}[:labels]}}}
		content, _, diags := body.PartialContent(schema)
		if !diags.HasErrors() && content != nil && len(content.Blocks) > 0 {
			return content.Blocks
		}
	}
	return nil
}

// pickBlock returns the block that the first step of path selects, and the rest of the path. If the
// first step is not an index, it returns the first block and the whole path. If there is no block
// with the index, it returns the first block and a nil path.
func pickBlock(blocks hcl.Blocks, path cty.Path) (*hcl.Block, cty.Path) {
	if len(path) == 0 {
		return blocks[0], path
	}
	step, ok := path[0].(cty.IndexStep)
	if !ok {
		return blocks[0], path
	}
	if step.Key.Type() == cty.Number {
		if i, _ := step.Key.AsBigFloat().Int64(); i >= 0 && int(i) < len(blocks) {
			return blocks[i], path[1:]
		}
	}
	if step.Key.Type() == cty.String {
		for _, b := range blocks {
			if len(b.Labels) == 1 && b.Labels[0] == step.Key.AsString() {
				return b, path[1:]
			}
		}
	}
	return blocks[0], nil
}

// rangeInExpr returns the range of the item at path inside object and tuple constructors.
func rangeInExpr(expr hcl.Expression, path cty.Path) hcl.Range {
	for _, step := range path {
		next := stepInto(expr, step)
		if next == nil {
			break
		}
		expr = next
	}
	return expr.Range()
}

func stepInto(expr hcl.Expression, step cty.PathStep) hcl.Expression {
	key := ""
	switch step := step.(type) {
	case cty.GetAttrStep:
		key = step.Name
	case cty.IndexStep:
		if step.Key.Type() == cty.Number {
			items, diags := hcl.ExprList(expr)
			i, _ := step.Key.AsBigFloat().Int64()
			if diags.HasErrors() || i < 0 || int(i) >= len(items) {
				return nil
			}
			return items[i]
		}
		if step.Key.Type() != cty.String {
			return nil
		}
		key = step.Key.AsString()
	}
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		return nil
	}
	for _, pair := range pairs {
		if v, diags := pair.Key.Value(nil); !diags.HasErrors() && v.Type() == cty.String && v.IsKnown() &&
			!v.IsNull() && v.AsString() == key {
			return pair.Value
		}
	}
	return nil
}
