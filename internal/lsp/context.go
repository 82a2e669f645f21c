package lsp

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// place is the part of a file that the cursor is in, found from the text before it. It doesn't need a file without syntax
// errors, because a file has errors while it is typed.
type place struct {
	blocks []openBlock // around the cursor, outermost first
	header []string    // type and labels of the block whose next label is being typed, or nil
	attr   string      // the attribute whose value is being typed, or ""
	// key reports whether the cursor is at the name of an argument, a block or, in a value, of an
	// attribute of an object.
	key      bool
	inObject bool   // the innermost bracket is that of an object in an expression
	path     string // a traversal before the cursor without its last dot or bracket, such as "var.list[0]"
	index    bool   // path is followed by an index that is being typed
	quoted   bool   // the cursor is in a string
	word     string // what has been typed of the name at the cursor
	start    int    // offset of the word
}

// openBlock is a block around the cursor.
type openBlock struct {
	kind   string
	labels []string
}

// frame is an open bracket, or the file.
type frame struct {
	body   bool // the content of a block, or of the file
	object bool
	begun  int // index of the first token of the current statement
	attr   string
}

// placeAt returns the place at an offset of a text.
func placeAt(text []byte, offset int) place {
	tokens, _ := hclsyntax.LexConfig(text[:offset], "", hcl.InitialPos)
	tokens = tokens[:len(tokens)-1] // without the end of the file
	p := place{start: offset}
	frames := []frame{{body: true}}
	for i, t := range tokens {
		top := &frames[len(frames)-1]
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			if top.body || top.object {
				top.begun, top.attr = i+1, ""
			}
		case hclsyntax.TokenComma:
			if top.object {
				top.begun, top.attr = i+1, ""
			}
		case hclsyntax.TokenEqual, hclsyntax.TokenColon:
			if (top.body || top.object) && top.attr == "" {
				top.attr = strings.Trim(textOf(tokens[top.begun:i]), `"`)
			}
		case hclsyntax.TokenOBrace:
			if top.body && top.attr == "" {
				names := labels(tokens[top.begun:i])
				if len(names) > 0 {
					p.blocks = append(p.blocks, openBlock{names[0], names[1:]})
				}
				frames = append(frames, frame{body: true, begun: i + 1})
			} else {
				frames = append(frames, frame{object: true, begun: i + 1})
			}
		case hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp,
			hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			frames = append(frames, frame{begun: i + 1})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd,
			hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			if len(frames) > 1 {
				if top.body && len(p.blocks) > 0 {
					p.blocks = p.blocks[:len(p.blocks)-1]
				}
				frames = frames[:len(frames)-1]
			}
		}
	}
	p.finish(tokens, frames, offset)
	return p
}

// finish sets what the last tokens and the open brackets decide.
func (p *place) finish(tokens hclsyntax.Tokens, frames []frame, offset int) {
	top := frames[len(frames)-1]
	end := len(tokens)
	if end > 0 {
		if last := tokens[end-1]; last.Range.End.Byte == offset &&
			(last.Type == hclsyntax.TokenIdent || last.Type == hclsyntax.TokenQuotedLit) {
			p.word, p.start = string(last.Bytes), last.Range.Start.Byte
			end--
		}
	}
	if end > 0 && tokens[end-1].Type == hclsyntax.TokenOQuote {
		p.quoted = true
	}
	for _, f := range frames {
		if f.body {
			p.attr = f.attr
		}
	}
	switch {
	case p.quoted && frames[len(frames)-2].body && frames[len(frames)-2].attr == "":
		p.header = labels(tokens[frames[len(frames)-2].begun : end-1])
	case p.quoted:
		if end > 1 && tokens[end-2].Type == hclsyntax.TokenOBrack {
			p.path, p.index = pathBefore(tokens[:end-2]), true
		}
	case end > 0 && tokens[end-1].Type == hclsyntax.TokenDot:
		p.path = pathBefore(tokens[:end-1])
	case top.body && top.attr == "":
		p.key = end == top.begun
		if !p.key {
			p.header = labels(tokens[top.begun:end])
		}
	case top.object && top.attr == "":
		p.key, p.inObject = end == top.begun, true
	}
}

// labels returns the type and the labels in the header of a block.
func labels(tokens hclsyntax.Tokens) []string {
	var out []string
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenIdent, hclsyntax.TokenQuotedLit:
			out = append(out, string(t.Bytes))
		case hclsyntax.TokenCQuote:
			if i > 0 && tokens[i-1].Type == hclsyntax.TokenOQuote {
				out = append(out, "")
			}
		}
	}
	return out
}

// pathBefore returns the text of the traversal at the end of a list of tokens.
func pathBefore(tokens hclsyntax.Tokens) string {
	start, depth := len(tokens), 0
	name := true // whether a name may come next, seen from the end
	for i := len(tokens) - 1; i >= 0; i-- {
		switch t := tokens[i].Type; {
		case t == hclsyntax.TokenCBrack:
			depth++
		case t == hclsyntax.TokenOBrack:
			if depth--; depth < 0 {
				return textOf(tokens[start:])
			}
			name = true
			continue
		case depth > 0:
			continue
		case t == hclsyntax.TokenIdent && name:
			name = false
		case t == hclsyntax.TokenDot && !name:
			name = true
			continue
		default:
			return textOf(tokens[start:])
		}
		if depth == 0 {
			start = i
		}
	}
	return textOf(tokens[start:])
}

func textOf(tokens hclsyntax.Tokens) string {
	var b strings.Builder
	for _, t := range tokens {
		b.Write(t.Bytes)
	}
	return b.String()
}
