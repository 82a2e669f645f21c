package configs

import (
	"bytes"
	"runtime"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/parallel"
)

// A file of at least wholeSize is parsed in pieces of about pieceSize. The parser keeps a hundred bytes for each token until it is
// through, and copies them again and again while their number grows: with many tokens that is most of what parsing costs.
const (
	wholeSize = 1 << 14
	pieceSize = 1 << 9
)

// parseNative parses native syntax. A large file is cut between blocks and its pieces are parsed at the same time. Where a cut was
// made is a guess, which is wrong if it lies within a text that looks like code; then a piece doesn't parse, and like every
// file with a problem the whole is parsed instead.
func parseNative(name string, src []byte) (*hcl.File, hcl.Diagnostics) {
	if len(src) > wholeSize {
		if body := parsePieces(name, cut(src, pieceSize)); body != nil {
			return &hcl.File{Body: body, Bytes: src}, nil
		}
	}
	return hclsyntax.ParseConfig(src, name, hcl.InitialPos)
}

// piece is a part of a file that begins at the beginning of a line.
type piece struct {
	src   []byte
	start hcl.Pos
}

// cut cuts where a line that is only a closing brace is followed by one that begins with a letter. A comment of several lines could
// hide that, without any piece noticing, so files that may have one stay whole.
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

// parsePieces gives the body that the pieces make up; nil if that takes more than putting their blocks together.
func parsePieces(name string, pieces []piece) *hclsyntax.Body {
	if len(pieces) < 2 {
		return nil
	}
	bodies := make([]*hclsyntax.Body, len(pieces))
	var wrong atomic.Bool // the others make no difference any more
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
