package configs

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/configs/symlib"
	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// symbolLibraries is the keyword of the experiment that symbols blocks need.
const symbolLibraries = "symbol_libraries"

// fileValues are values from outside that the files of a module are decoded with.
type fileValues struct {
	known   requirementValues
	symbols symlib.Imports
}

// decodeSymbols decodes a symbols block, which imports a symbol library. The block is used before the
// files are decoded for good; see Parser.decodeDir.
func decodeSymbols(d *decoder, block *hcl.Block) {
	if d.override {
		d.refuseOverride(block)
		return
	}
	d.file.symbols = append(d.file.symbols, block)
}

// symbolsBlocks returns the symbols blocks of the files.
func symbolsBlocks(files []*file) []*hcl.Block {
	var out []*hcl.Block
	for _, f := range files {
		out = append(out, f.symbols...)
	}
	return out
}

// importSymbols loads the libraries that a module imports, and returns their files. Libraries are loaded
// once for all modules.
func (p *Parser) importSymbols(dir string, blocks []*hcl.Block) (symlib.Imports, []string, error) {
	p.symbolsMu.Lock()
	defer p.symbolsMu.Unlock()
	if p.symbols == nil {
		p.symbols = &symlib.Loader{List: p.symbolFiles, Parse: p.parseSymbols,
			Functions: sync.OnceValue(func() map[string]function.Function {
				return funcs.Table(funcs.Options{Constant: true})
			})}
	}
	imports, diags := p.symbols.Import(dir, blocks)
	return imports, imports.Files(), tfdiags.FromHCL(diags).Err()
}

func (p *Parser) symbolFiles(dir string) ([]string, error) {
	entries, err := p.fs.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), symlib.Extension) && !entry.IsDir() {
			out = append(out, filepath.Join(dir, entry.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

func (p *Parser) parseSymbols(name string) (*hclsyntax.Body, hcl.Diagnostics) {
	file, err := p.ParseFile(name)
	if file == nil {
		return nil, tfdiags.FromError(err).HCL()
	}
	body, _ := file.Body.(*hclsyntax.Body)
	return body, tfdiags.FromError(err).HCL()
}
