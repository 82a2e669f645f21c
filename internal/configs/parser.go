package configs

import (
	"bytes"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/configs/symlib"
	"tofu/internal/lang/nesting"
	"tofu/internal/parallel"
	"tofu/internal/tfdiags"
)

// Parser reads, parses and decodes directories, each of them once. It keeps the source text of
// every file for excerpts in diagnostics, but not the syntax trees. It is safe for concurrent use.
// Parsers must be created with NewParser.
type Parser struct {
	fs   FS
	peer *Parser // a parser whose decoded directories are reused if their files are unchanged; may be nil

	mu      sync.Mutex
	sources map[string]map[string][]byte // source text by directory and file name
	modules map[moduleKey]*moduleEntry

	symbolsMu sync.Mutex // held while symbol libraries are loaded
	symbols   *symlib.Loader
}

// moduleKey identifies a decoded directory.
type moduleKey struct {
	dir   string
	part  Part
	known string // encoded requirementValues; "" if the arguments are not evaluated
}

// Part is a part of a module's files.
type Part uint8

const (
	Whole    Part = iota // everything
	Settings             // everything but the blocks of resources and data sources
	Queries              // everything, and the query files beside it
)

type moduleEntry struct {
	once     sync.Once
	done     atomic.Bool // whether the fields below are set
	module   *Module
	warnings tfdiags.Diagnostics
	err      error
}

// NewParser returns a parser that reads from fsys, or from the operating system's files if fsys is
// nil.
func NewParser(fsys FS) *Parser {
	if fsys == nil {
		fsys = OS{}
	}
	return &Parser{
		fs:      fsys,
		sources: map[string]map[string][]byte{},
		modules: map[moduleKey]*moduleEntry{},
	}
}

// Source returns the text of a parsed file, or nil.
func (p *Parser) Source(name string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sources[filepath.Dir(name)][name]
}

// FS returns the file system that the parser reads from.
func (p *Parser) FS() FS { return p.fs }

// Module returns the module in a directory, which it decodes on the first call only. Every call
// reports the warnings and the error. The module is nil only if the directory can't be read.
func (p *Parser) Module(dir string, warn tfdiags.Sink) (*Module, error) {
	return p.module(moduleKey{dir: dir}, warn)
}

func (p *Parser) module(key moduleKey, warn tfdiags.Sink) (*Module, error) {
	key.dir = filepath.Clean(key.dir)
	p.mu.Lock()
	entry := p.modules[key]
	if entry == nil {
		entry = &moduleEntry{}
		p.modules[key] = entry
	}
	p.mu.Unlock()
	entry.once.Do(func() {
		if key.part != Whole || key.known != "" || !p.takeFromPeer(key.dir, entry) {
			entry.module, entry.err = p.decodeDir(key, entry.warnings.Add)
		}
		entry.done.Store(true)
	})
	for _, w := range entry.warnings {
		warn(w)
	}
	return entry.module, entry.err
}

// takeFromPeer fills the entry with the peer's decoded module, if the peer decoded the directory
// from equal files and without errors. It reports whether it filled the entry.
func (p *Parser) takeFromPeer(dir string, entry *moduleEntry) bool {
	if p.peer == nil || !p.peer.has(dir) {
		return false
	}
	var warnings tfdiags.Diagnostics
	module, err := p.peer.Module(dir, warnings.Add)
	if err != nil {
		return false
	}
	names, err := listFiles(p.fs, dir)
	own := slices.Concat(names.primary, names.overrides)
	if err != nil || !slices.Equal(own, module.Files) {
		return false
	}
	texts := make(map[string][]byte, len(own))
	for _, name := range own {
		src, err := p.fs.ReadFile(name)
		if err != nil || !bytes.Equal(src, p.peer.Source(name)) {
			return false
		}
		texts[name] = src
	}
	entry.module, entry.warnings = module, warnings
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sources[dir] = texts
	return true
}

// has reports whether a directory is decoded, or is being decoded.
func (p *Parser) has(dir string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.modules[moduleKey{dir: dir}] != nil
}

// Size returns the size of the source text that the parser keeps for the files in a directory, in
// bytes.
func (p *Parser) Size(dir string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := 0
	for _, src := range p.sources[filepath.Clean(dir)] {
		size += len(src)
	}
	return size
}

// Forget drops a decoded directory and the source text of its files. If the directory is needed
// later, it is decoded again.
func (p *Parser) Forget(dir string) {
	dir = filepath.Clean(dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.modules, func(key moduleKey, _ *moduleEntry) bool { return key.dir == dir })
	delete(p.sources, dir)
}

// Without returns a parser that reads from fsys, and that has what p has decoded except the stale
// directories. A directory that imports symbol libraries counts as stale if anything is. p stays as
// it is.
func (p *Parser) Without(fsys FS, stale map[string]bool) *Parser {
	out := NewParser(fsys)
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, entry := range p.modules {
		imports := entry.done.Load() && entry.module != nil && len(entry.module.symbols) > 0
		if !stale[key.dir] && !(imports && len(stale) > 0) {
			out.modules[key] = entry
		}
	}
	for dir, texts := range p.sources {
		if !stale[dir] {
			out.sources[dir] = maps.Clone(texts)
		}
	}
	return out
}

func (p *Parser) decodeDir(key moduleKey, warn tfdiags.Sink) (*Module, error) {
	names, err := listFiles(p.fs, key.dir)
	if err != nil {
		return nil, unreadable(key.dir, err)
	}
	primary := make([]*file, len(names.primary))
	overrides := make([]*file, len(names.overrides))
	known, err := decodeRequirementValues(key.known)
	if err != nil {
		return nil, err
	}
	values := fileValues{known: known}
	workers := runtime.GOMAXPROCS(0)
	decode := func() {
		parallel.Each(len(primary), workers,
			func(i int) { primary[i] = p.decodeFile(names.primary[i], false, key.part, values) })
		parallel.Each(len(overrides), workers,
			func(i int) { overrides[i] = p.decodeFile(names.overrides[i], true, key.part, values) })
	}
	decode()
	var libraries []string
	if blocks := symbolsBlocks(primary); len(blocks) > 0 {
		// The files are decoded again, because types and other constants may be symbols.
		if values.symbols, libraries, err = p.importSymbols(key.dir, blocks); err != nil {
			return &Module{Dir: key.dir, Files: slices.Concat(names.primary, names.overrides)}, err
		}
		decode()
	}
	if key.part == Queries {
		for _, name := range p.QueryFiles(key.dir) {
			primary = append(primary, p.decodeQuery(name))
		}
	}
	module, err := newModule(key.dir, primary, overrides, warn)
	if module != nil {
		module.symbols = libraries
	}
	return module, err
}

// ParseFile parses one file, in JSON or native syntax depending on its name, and keeps its source.
// The file is nil only if it can't be read; after other errors it contains what could be parsed.
func (p *Parser) ParseFile(name string) (*hcl.File, error) { return p.parseFile(name, Whole, false) }

// parseFile is like ParseFile, but may leave out blocks that don't belong to the part, and with delay,
// parse blocks later; see parseNative.
func (p *Parser) parseFile(name string, part Part, delay bool) (*hcl.File, error) {
	src, err := p.fs.ReadFile(name)
	if err != nil {
		return nil, tfdiags.Errorf("Failed to read file", "The file can't be read: %s.", err) // err contains the name
	}
	return p.parse(name, src, strings.HasSuffix(name, ".json"), part, delay)
}

// ParseSource is like ParseFile for source text in memory.
func (p *Parser) ParseSource(name string, src []byte) (*hcl.File, error) {
	return p.parse(name, src, strings.HasSuffix(name, ".json"), Whole, false)
}

// ParsePiece parses a part of a file that begins at a position, and doesn't keep its source.
func (p *Parser) ParsePiece(name string, src []byte, start hcl.Pos) (*hclsyntax.Body, error) {
	if d := nesting.Check(name, src); d != nil {
		return nil, tfdiags.FromHCL(hcl.Diagnostics{d}).Err()
	}
	parsed, diags := hclsyntax.ParseConfig(src, name, start)
	return parsed.Body.(*hclsyntax.Body), tfdiags.FromHCL(diags).Err()
}

// ParseJSON is like ParseSource for JSON syntax, regardless of the file's name.
func (p *Parser) ParseJSON(name string, src []byte) (*hcl.File, error) {
	return p.parse(name, src, true, Whole, false)
}

func (p *Parser) parse(name string, src []byte, isJSON bool, part Part, delay bool) (*hcl.File, error) {
	var parsed *hcl.File
	var diags hcl.Diagnostics
	if isJSON {
		parsed, diags = nesting.ParseJSON(name, src)
	} else if d := nesting.Check(name, src); d != nil {
		diags = hcl.Diagnostics{d}
	} else {
		parsed, diags = parseNative(name, src, part, delay)
	}
	if parsed == nil || parsed.Body == nil {
		parsed = &hcl.File{Body: hcl.EmptyBody(), Bytes: src}
	}
	p.mu.Lock()
	dir := filepath.Dir(name)
	if p.sources[dir] == nil {
		p.sources[dir] = map[string][]byte{}
	}
	p.sources[dir][name] = src
	p.mu.Unlock()
	return parsed, tfdiags.FromHCL(diags).Err()
}
