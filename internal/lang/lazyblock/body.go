// Package lazyblock delays the parsing of plain resource blocks until something evaluates them.
//
// [Blocks] scans text that consists of resource blocks. It accepts only a small part of the
// configuration language: arguments whose values are literals, lists and objects, references, and
// strings with references. Text that it accepts has no syntax errors, and what [Body] returns
// without parsing is what the parsed body has: the names of the arguments, and the references in
// source order. Anything else is not accepted, and the caller parses it. FuzzBlocks compares both.
package lazyblock

import (
	"bytes"
	"slices"
	"sync/atomic"
	"weak"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Body is the body of a block with arguments only, which is parsed when its expressions are needed.
// It is safe for concurrent use.
type Body struct {
	src        []byte // the text of the block
	file       string
	start      hcl.Pos // of the block
	open, end  span    // the opening brace, and the place after the closing one
	args, refs []span

	// The parsed body is 15 times as large as the text. It is kept until the next garbage collection,
	// and longer while something uses it.
	parsed atomic.Pointer[weak.Pointer[hclsyntax.Body]]
}

// span is a part of one line.
type span struct{ start, end, line, column int32 } // offsets in the file; columns begin with 1

// Native returns a body in native syntax, which it parses if necessary. It reports false for other
// bodies.
func Native(body hcl.Body) (*hclsyntax.Body, bool) {
	if b, ok := body.(*Body); ok {
		return b.native(), true
	}
	native, ok := body.(*hclsyntax.Body)
	return native, ok
}

// End returns the place after a body in native syntax. It reports false for other bodies.
func End(body hcl.Body) (hcl.Range, bool) {
	if b, ok := body.(*Body); ok {
		return b.rangeOf(b.end), true
	}
	if native, ok := body.(*hclsyntax.Body); ok {
		return native.EndRange, true
	}
	return hcl.Range{}, false
}

// native returns the parsed body. Concurrent calls may both parse it.
func (b *Body) native() *hclsyntax.Body {
	if last := b.parsed.Load(); last != nil {
		if kept := last.Value(); kept != nil {
			return kept
		}
	}
	file, diags := hclsyntax.ParseConfig(b.src, b.file, b.start)
	if diags.HasErrors() {
		panic("unreachable: a scanned block has a syntax error: " + diags.Error())
	}
	body := file.Body.(*hclsyntax.Body).Blocks[0].Body
	last := weak.Make(body)
	b.parsed.Store(&last)
	return body
}

// Arguments returns the names of the arguments in source order.
func (b *Body) Arguments() []string {
	out := make([]string, len(b.args))
	for i, at := range b.args {
		out[i] = string(b.text(at))
	}
	return out
}

// Traversals returns the references in source order.
func (b *Body) Traversals() []hcl.Traversal {
	out := make([]hcl.Traversal, len(b.refs))
	for i, at := range b.refs {
		out[i] = b.traversal(at)
	}
	return out
}

// traversal parses a reference such as local.a, data.b.c["x"].d or e.f[0].
func (b *Body) traversal(at span) hcl.Traversal {
	text := b.text(at)
	part := func(from, to int) hcl.Range {
		return b.rangeOf(span{at.start + int32(from), at.start + int32(to), at.line, at.column + int32(from)})
	}
	end := identEnd(text, 0)
	out := hcl.Traversal{hcl.TraverseRoot{Name: string(text[:end]), SrcRange: part(0, end)}}
	for from := end; from < len(text); from = end {
		if text[from] == '.' {
			end = identEnd(text, from+1)
			out = append(out, hcl.TraverseAttr{Name: string(text[from+1 : end]), SrcRange: part(from, end)})
			continue
		}
		end = from + bytes.IndexByte(text[from:], ']') + 1
		key := text[from+1 : end-1]
		step := hcl.TraverseIndex{SrcRange: part(from, end)}
		if key[0] == '"' {
			step.Key = cty.StringVal(string(key[1 : len(key)-1]))
		} else {
			step.Key = cty.MustParseNumberVal(string(key))
		}
		out = append(out, step)
	}
	return out
}

func (b *Body) text(at span) []byte {
	return b.src[int(at.start)-b.start.Byte : int(at.end)-b.start.Byte]
}

func (b *Body) rangeOf(at span) hcl.Range {
	start := hcl.Pos{Line: int(at.line), Column: int(at.column), Byte: int(at.start)}
	end := hcl.Pos{Line: start.Line, Column: start.Column + int(at.end-at.start), Byte: int(at.end)}
	return hcl.Range{Filename: b.file, Start: start, End: end}
}

// Content implements hcl.Body.
func (b *Body) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	return b.native().Content(schema)
}

// PartialContent implements hcl.Body. It parses the body only if the schema names an argument that
// exists or is required.
func (b *Body) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	for _, attr := range schema.Attributes {
		if attr.Required || slices.ContainsFunc(b.args, func(at span) bool { return string(b.text(at)) == attr.Name }) {
			return b.native().PartialContent(schema)
		}
	}
	return &hcl.BodyContent{Attributes: hcl.Attributes{}, MissingItemRange: b.MissingItemRange()}, b, nil
}

// JustAttributes implements hcl.Body.
func (b *Body) JustAttributes() (hcl.Attributes, hcl.Diagnostics) { return b.native().JustAttributes() }

// MissingItemRange implements hcl.Body.
func (b *Body) MissingItemRange() hcl.Range {
	at := b.rangeOf(b.open)
	at.End = at.Start
	return at
}
