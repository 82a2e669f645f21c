package rootsfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// A Piece is a part of the text of a roots.tofu.hcl, or one element of a for_each argument in it. Its name
// says where in the file it begins, and what it is.
type Piece struct {
	Name string
	Text []byte
	Node hclsyntax.Node // nil for an element
}

// PiecesDir is the name of a directory with pieces of the roots.tofu.hcl that would be next to it.
const PiecesDir = ".roots.tofu.hcl"

// pieceName is the format of the names of pieces: line, column and byte. A local value's name then ends with
// localPiece, and that of an element of the block that begins there with elementPiece and a number.
const (
	pieceName    = "%d-%d-%d"
	localPiece   = ".local"
	elementPiece = ".element-"
)

// cut returns the pieces that concern all root modules: everything but the blocks of root modules, and
// local values that only these read.
func (f *File) cut(body *hclsyntax.Body) (out []Piece) {
	var read []hcl.Traversal
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		attr := body.Attributes[name]
		out = append(out, f.piece(attr, attr.SrcRange))
		read = append(read, attr.Expr.Variables()...)
	}
	for _, block := range f.defaults {
		out = append(out, f.piece(block, block.Range()))
		read = append(read, variablesIn(block.Body)...)
	}
	return append(out, f.localPieces(read)...)
}

// localPieces returns the local values that are needed for references.
func (f *File) localPieces(read []hcl.Traversal) (out []Piece) {
	for _, name := range f.scope.needed(read) {
		attr := f.scope.attrs[name]
		p := f.piece(attr, attr.SrcRange)
		p.Name += localPiece
		out = append(out, p)
	}
	return out
}

// piece returns the piece with a range.
func (f *File) piece(node hclsyntax.Node, at hcl.Range) Piece {
	text := append(slices.Clone(at.SliceBytes(f.src)), '\n') // which must follow a block or an argument
	return Piece{fmt.Sprintf(pieceName, at.Start.Line, at.Start.Column, at.Start.Byte), text, node}
}

func variablesIn(body *hclsyntax.Body) (out []hcl.Traversal) {
	for _, attr := range body.Attributes {
		out = append(out, attr.Expr.Variables()...)
	}
	return out
}

// declaration is a block that declares root modules.
type declaration struct {
	in       *File
	block    *hclsyntax.Block
	elements []*lang.Element // of its for_each argument; one nil element without the argument
	// cut returns the pieces for all its root modules, and the elements as JSON. With elements, the pieces have
	// no for_each argument, and each root module needs its element: evaluating the argument again for each of
	// them would cost the square of their number.
	cut func() (pieces []Piece, elements [][]byte)
}

func newDeclaration(f *File, block *hclsyntax.Block, elements []*lang.Element) *declaration {
	d := &declaration{in: f, block: block, elements: elements}
	d.cut = sync.OnceValues(d.pieces)
	return d
}

func (d *declaration) pieces() (out []Piece, elements [][]byte) {
	block, piece := d.block, d.in.piece(d.block, d.block.Range())
	if each := block.Body.Attributes[forEachName]; each != nil {
		elements = d.encode()
		if elements != nil {
			body, without := *block.Body, *block
			body.Attributes = maps.Clone(body.Attributes)
			delete(body.Attributes, forEachName)
			without.Body = &body
			at, from := each.Expr.Range(), block.Range().Start.Byte
			blank(piece.Text[at.Start.Byte-from : at.End.Byte-from])
			block, piece.Node = &without, &without
		}
	}
	return append([]Piece{piece}, d.in.localPieces(variablesIn(block.Body))...), elements
}

// encode returns the elements as JSON. It returns nil if one of them can't be used in another process: it has
// marks, or the path of the file's directory or of the working directory.
func (d *declaration) encode() [][]byte {
	here, err := os.Getwd()
	if err != nil {
		return nil
	}
	var paths [][]byte
	for _, dir := range []string{here, d.in.scope.top, filepath.ToSlash(here), filepath.ToSlash(d.in.scope.top)} {
		quoted, _ := json.Marshal(dir) // a string has no error
		paths = append(paths, quoted[1:len(quoted)-1])
	}
	var out [][]byte
	for _, e := range d.elements {
		text, err := ctyjson.Marshal(cty.TupleVal([]cty.Value{e.Key, e.Value}), cty.DynamicPseudoType)
		if err != nil || slices.ContainsFunc(paths, func(path []byte) bool { return bytes.Contains(text, path) }) {
			return nil
		}
		out = append(out, text)
	}
	return out
}

// blank replaces the text of an expression that has elements by (0). Everything behind it keeps its position.
func blank(expr []byte) {
	text := []byte("(0")
	for i, c := range expr {
		switch {
		case c == '\n': // between parentheses, it counts as a space
		case len(text) > 0:
			expr[i], text = text[0], text[1:]
		default:
			expr[i] = ' '
		}
	}
	expr[len(expr)-1] = ')'
}

// Pieces returns the pieces of the file that concern the root module.
func (r *Root) Pieces() []Piece {
	out := slices.Clone(r.in.common())
	if r.by == nil {
		return out
	}
	own, elements := r.by.cut()
	out = append(out, own...)
	if elements != nil {
		out = append(out, Piece{Name: own[0].Name + elementPiece + strconv.Itoa(r.element), Text: elements[r.element]})
	}
	return out
}

// LoadPieces is like Load for a directory with pieces, and for root modules with the given names.
func LoadPieces(p *configs.Parser, dir string, names []string) (*File, error) {
	entries, err := os.ReadDir(filepath.Join(dir, PiecesDir))
	if err != nil {
		return nil, err
	}
	whole := &hclsyntax.Body{Attributes: make(hclsyntax.Attributes)}
	f := &File{Dir: filepath.Clean(dir), only: names, elements: make(map[int][]*lang.Element)}
	var errs tfdiags.Diagnostics
	for _, e := range entries {
		path := filepath.Join(dir, PiecesDir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var start hcl.Pos
		if _, err := fmt.Sscanf(e.Name(), pieceName, &start.Line, &start.Column, &start.Byte); err != nil {
			return nil, fmt.Errorf("%s is no piece of a %s: %w", path, FileName, err)
		}
		if strings.Contains(e.Name(), elementPiece) {
			pair, err := ctyjson.Unmarshal(text, cty.DynamicPseudoType)
			if err != nil {
				return nil, fmt.Errorf("%s has no element: %w", path, err)
			}
			each := &lang.Element{Key: pair.Index(cty.Zero), Value: pair.Index(cty.NumberIntVal(1))}
			f.elements[start.Byte] = append(f.elements[start.Byte], each)
			continue
		}
		body, err := p.ParsePiece(filepath.Join(dir, FileName), text, start)
		switch {
		case err != nil:
			errs = errs.AppendError(err)
		case strings.HasSuffix(e.Name(), localPiece):
			whole.Blocks = append(whole.Blocks, &hclsyntax.Block{Type: "locals", Body: body, TypeRange: body.Range()})
		default:
			maps.Copy(whole.Attributes, body.Attributes)
			whole.Blocks = append(whole.Blocks, body.Blocks...)
		}
	}
	if errs.HasErrors() {
		return nil, errs.Err()
	}
	slices.SortFunc(whole.Blocks, func(a, b *hclsyntax.Block) int { return a.TypeRange.Start.Byte - b.TypeRange.Start.Byte })
	return f, f.decode(whole)
}
