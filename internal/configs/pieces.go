package configs

import (
	"bytes"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/lang/nesting"
	"tofu/internal/parallel"
)

// A file larger than wholeSize is parsed in pieces of about pieceSize bytes. The HCL parser keeps
// about 100 bytes per token until it is done, and copies them as their number grows. In large files
// this dominates the cost of parsing.
const (
	wholeSize = 1 << 14
	pieceSize = 1 << 9
)

// parseNative parses native syntax. It cuts a large file between blocks and parses the pieces in
// parallel. If a heredoc contains code, a cut may be inside of it. A piece then fails to parse, and
// the whole file is parsed instead, as for any file with errors. If only the settings are needed, it
// leaves out most blocks of resources and data sources, and doesn't report errors in them.
func parseNative(name string, src []byte, part Part) (*hcl.File, hcl.Diagnostics) {
	if part == Settings {
		pieces := cut(src, 1)
		if settings := slices.DeleteFunc(pieces, piece.isObject); len(settings) < len(pieces) {
			settings = append(settings, piece{}, piece{}) // at least two
			if body := parsePieces(name, settings); body != nil {
				return &hcl.File{Body: body, Bytes: src}, nil
			}
		}
	} else if len(src) > wholeSize {
		if body := parsePieces(name, cut(src, pieceSize)); body != nil {
			return &hcl.File{Body: body, Bytes: src}, nil
		}
	}
	return nesting.ParseChecked(name, src)
}

// piece is a part of a file. It starts at the beginning of a line.
type piece struct {
	src   []byte
	start hcl.Pos
}

// isObject reports whether the piece is one block of a resource or data source. It returns false for
// some of them, for example for a block in one line, or with a heredoc, which may contain code.
func (p piece) isObject() bool {
	header, rest, _ := bytes.Cut(p.src, []byte("\n"))
	words := bytes.Fields(header) // keyword, type, name and brace
	if len(words) != 4 || !declaresObjects(string(words[0])) || string(words[3]) != "{" ||
		bytes.Contains(p.src, []byte("<<")) {
		return false
	}
	_, after, closed := bytes.Cut(rest, []byte("\n}\n"))
	if !closed {
		return false
	}
	for line := range bytes.Lines(after) { // blank lines and comments may follow the block
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.HasPrefix(line, []byte("//")) {
			return false
		}
	}
	return true
}

// cut splits src into pieces of at least size bytes, except for the last. A cut is between a line
// with only a closing brace and the next line that isn't empty, which must begin with a lower-case
// letter. cut returns nil if src may contain a block comment, because a cut inside a comment might
// not cause an error.
func cut(src []byte, size int) []piece {
	if bytes.Contains(src, []byte("/*")) {
		return nil
	}
	var out []piece
	at := hcl.InitialPos
	for at.Byte < len(src) {
		end := len(src)
		for from := at.Byte + size; from < len(src); {
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
// errors or attributes, or if there are fewer than two pieces.
func parsePieces(name string, pieces []piece) *hclsyntax.Body {
	if len(pieces) < 2 {
		return nil
	}
	bodies := make([]*hclsyntax.Body, len(pieces))
	var wrong atomic.Bool // a piece has errors, so the remaining pieces need not be parsed
	parallel.Each(len(pieces), runtime.GOMAXPROCS(0), func(i int) {
		if wrong.Load() {
			return
		}
		file, diags := hclsyntax.ParseConfig(pieces[i].src, name, pieces[i].start)
		if len(diags) > 0 {
			wrong.Store(true)
			return
		}
		bodies[i] = file.Body.(*hclsyntax.Body)
	})
	whole := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}}
	for _, b := range bodies {
		if b == nil || len(b.Attributes) > 0 {
			return nil
		}
		whole.Blocks = append(whole.Blocks, b.Blocks...)
		whole.EndRange = b.EndRange
	}
	whole.SrcRange = hcl.RangeBetween(bodies[0].SrcRange, whole.EndRange)
	return whole
}
