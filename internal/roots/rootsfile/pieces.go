package rootsfile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// A Piece is a part of the text of a roots.tofu.hcl. Its name says where in the file it begins.
type Piece struct {
	Name string
	Text []byte
	Node hclsyntax.Node
}

// PiecesDir is the name of a directory with pieces of the roots.tofu.hcl that would be next to it.
const PiecesDir = ".roots.tofu.hcl"

// pieceName is the format of the names of pieces: line, column and byte.
const pieceName = "%d-%d-%d"

// cut returns the pieces that concern all root modules: everything but the blocks of root modules.
func (f *File) cut(body *hclsyntax.Body) (out []Piece) {
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		out = append(out, f.piece(body.Attributes[name], body.Attributes[name].SrcRange))
	}
	for _, block := range body.Blocks {
		if block.Type != "root" {
			out = append(out, f.piece(block, block.Range()))
		}
	}
	return out
}

// piece returns the piece with a range.
func (f *File) piece(node hclsyntax.Node, at hcl.Range) Piece {
	text := append(slices.Clone(at.SliceBytes(f.src)), '\n') // which must follow a block or an argument
	return Piece{fmt.Sprintf(pieceName, at.Start.Line, at.Start.Column, at.Start.Byte), text, node}
}

// Pieces returns the pieces of the file that concern the root module.
func (r *Root) Pieces() []Piece {
	out := slices.Clone(r.in.common())
	if r.block != nil {
		out = append(out, r.in.piece(r.block, r.block.Range()))
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
		body, err := p.ParsePiece(filepath.Join(dir, FileName), text, start)
		if err != nil {
			errs = errs.AppendError(err)
			continue
		}
		maps.Copy(whole.Attributes, body.Attributes)
		whole.Blocks = append(whole.Blocks, body.Blocks...)
	}
	if errs.HasErrors() {
		return nil, errs.Err()
	}
	slices.SortFunc(whole.Blocks, func(a, b *hclsyntax.Block) int { return a.TypeRange.Start.Byte - b.TypeRange.Start.Byte })
	f := &File{Dir: filepath.Clean(dir), only: names}
	return f, f.decode(whole)
}
