package configs

import (
	"bytes"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/lang/lazyblock"
	"tofu/internal/lang/nesting"
	"tofu/internal/parallel"
)

// parseNative parses native syntax. It cuts a file between blocks and parses the pieces in parallel,
// because the HCL parser keeps about 100 bytes per token until it is done, and copies them as their
// number grows, which would dominate the cost of large files. If a heredoc or a block comment contains
// code, a cut may be inside of it. A piece then fails to parse, and the whole file is parsed instead, as
// for any file with errors. If only the settings are needed, parseNative leaves out most blocks of
// resources and data sources, and doesn't report errors in them. With delay, it doesn't parse plain
// resource blocks; only the Content of the result has them.
func parseNative(name string, src []byte, part Part, delay bool) (*hcl.File, hcl.Diagnostics) {
	pieces := cut(src)
	if part == Settings {
		if settings := slices.DeleteFunc(pieces, piece.isObject); len(settings) < len(pieces) {
			settings = append(settings, piece{}, piece{}) // at least two
			if body := parsePieces(name, settings, false); body != nil {
				return &hcl.File{Body: body, Bytes: src}, nil
			}
		}
	} else if body := parsePieces(name, pieces, delay); body != nil {
		return &hcl.File{Body: body, Bytes: src}, nil
	}
	return nesting.ParseChecked(name, src)
}

// piece is a part of a file. It starts at the beginning of a line.
type piece struct {
	src   []byte
	start hcl.Pos
}

// isObject reports whether the piece is one block of a resource or data source. It returns false for
// some of them, for example for a block in one line, or with a heredoc or a block comment, which may
// contain code.
func (p piece) isObject() bool {
	header, rest, _ := bytes.Cut(p.src, []byte("\n"))
	words := bytes.Fields(header) // keyword, type, name and brace
	if len(words) != 4 || !declaresObjects(string(words[0])) || string(words[3]) != "{" ||
		bytes.Contains(p.src, []byte("<<")) || bytes.Contains(p.src, []byte("/*")) {
		return false
	}
	body, after, closed := bytes.Cut(rest, []byte("\n}\n"))
	if !closed || !balanced(body) {
		return false
	}
	for line := range bytes.Lines(after) { // blank lines and comments may follow the block
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.HasPrefix(line, []byte("//")) {
			return false
		}
	}
	return true
}

// balanced reports whether each brace in src has its counterpart there, so that src isn't more than the body
// of a block. It returns false for some text with escaped templates.
func balanced(src []byte) bool {
	var open []byte // braces and quotes
	for i := 0; i < len(src); i++ {
		quoted := len(open) > 0 && open[len(open)-1] == '"'
		switch c := src[i]; {
		case c == '"' && quoted, c == '}' && !quoted && len(open) > 0:
			open = open[:len(open)-1]
		case c == '"', c == '{' && !quoted:
			open = append(open, c)
		case c == '}' && !quoted, c == '\n' && quoted:
			return false
		case c == '\\' && quoted:
			i++
		case (c == '$' || c == '%') && quoted && bytes.HasPrefix(src[i+1:], []byte("{")):
			if src[i-1] == c {
				return false
			}
			open = append(open, '{')
			i++
		case !quoted && (c == '#' || c == '/' && bytes.HasPrefix(src[i+1:], []byte("/"))):
			line, _, _ := bytes.Cut(src[i:], []byte("\n"))
			i += len(line) - 1
		}
	}
	return len(open) == 0
}

// cut splits src into pieces. A cut is between a line with only a closing brace and the next line that
// isn't empty, which must begin with a lower-case letter.
func cut(src []byte) []piece {
	var out []piece
	at := hcl.InitialPos
	for at.Byte < len(src) {
		end := len(src)
		for from := at.Byte; from < len(src); {
			i := bytes.Index(src[from:], []byte("\n}\n"))
			if i < 0 {
				break
			}
			from += i + len("\n}\n")
			next := bytes.TrimLeft(src[from:], "\n")
			if len(next) > 0 && 'a' <= next[0] && next[0] <= 'z' {
				end = len(src) - len(next)
				break
			}
		}
		p := piece{src[at.Byte:end], at}
		out = append(out, p)
		at = hcl.Pos{Line: at.Line + bytes.Count(p.src, []byte("\n")), Column: 1, Byte: end}
	}
	return out
}

// parsePieces returns the body that consists of the pieces' blocks. It returns nil if a piece has
// errors or attributes, or if there are fewer than two pieces. With delay, it doesn't parse pieces
// that consist of plain resource blocks.
func parsePieces(name string, pieces []piece, delay bool) hcl.Body {
	if len(pieces) < 2 {
		return nil
	}
	bodies := make([]*hclsyntax.Body, len(pieces))
	delayed := make([][]*hcl.Block, len(pieces))
	var wrong atomic.Bool // a piece has errors, so the remaining pieces need not be parsed
	parallel.Each(len(pieces), runtime.GOMAXPROCS(0), func(i int) {
		if wrong.Load() {
			return
		}
		if delay {
			if blocks, ok := lazyblock.Blocks(pieces[i].src, name, pieces[i].start); ok {
				delayed[i] = blocks
				return
			}
		}
		file, diags := hclsyntax.ParseConfig(pieces[i].src, name, pieces[i].start)
		body := file.Body.(*hclsyntax.Body)
		if len(diags) > 0 || len(body.Attributes) > 0 {
			wrong.Store(true)
			return
		}
		bodies[i] = body
	})
	if wrong.Load() {
		return nil
	}
	whole := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}}
	for i, b := range bodies {
		if b == nil {
			continue
		}
		if i == 0 {
			whole.SrcRange = b.SrcRange
		}
		whole.Blocks = append(whole.Blocks, b.Blocks...)
		whole.EndRange = b.EndRange
	}
	whole.SrcRange = hcl.RangeBetween(whole.SrcRange, whole.EndRange)
	if blocks := slices.Concat(delayed...); len(blocks) > 0 {
		return delayedBody{whole, blocks}
	}
	return whole
}

// delayedBody is the body of a file, some of whose blocks are not parsed yet. Only Content returns them.
type delayedBody struct {
	*hclsyntax.Body
	blocks []*hcl.Block
}

// Content implements hcl.Body.
func (b delayedBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := b.Body.Content(schema)
	content.Blocks = append(content.Blocks, b.blocks...)
	slices.SortFunc(content.Blocks, func(x, y *hcl.Block) int { return x.TypeRange.Start.Byte - y.TypeRange.Start.Byte })
	return content, diags
}
