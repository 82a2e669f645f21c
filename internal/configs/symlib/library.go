package symlib

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Extension is the extension of the files of a library.
const Extension = ".sym.hcl"

// edition is the only edition of the language of libraries.
const edition = "experimental2026"

// Loader loads libraries, each once.
type Loader struct {
	// List returns the names of the files of a library, with the directory.
	List func(dir string) ([]string, error)
	// Parse parses a file in native syntax.
	Parse func(name string) (*hclsyntax.Body, hcl.Diagnostics)
	// Functions returns the functions that libraries may use.
	Functions func() map[string]function.Function

	libraries map[string]*Library
}

// Library is a directory with symbols.
type Library struct {
	dir       string
	files     []string
	imports   Imports
	values    map[string]*value
	functions map[string]*userFunc
	types     map[string]*typedef
	builtin   func() map[string]function.Function
	loading   bool
}

var (
	fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "language"},
		{Type: "symbols", LabelNames: []string{"name"}}, {Type: "typedef", LabelNames: []string{"name"}},
		{Type: "values"}, {Type: "function", LabelNames: []string{"name"}}}}
	languageSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "edition"}}}
	symbolsSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source", Required: true}}}
	typedefSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "type", Required: true},
		{Name: "description"}}}
)

func errorAt(at hcl.Range, summary, detail string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &at}
}

// Import loads the libraries that symbols blocks in a directory name.
func (l *Loader) Import(dir string, blocks []*hcl.Block) (Imports, hcl.Diagnostics) {
	out := Imports{}
	var diags hcl.Diagnostics
	for _, block := range blocks {
		content, more := block.Body.Content(symbolsSchema)
		diags = append(diags, more...)
		attr := content.Attributes["source"]
		if attr == nil {
			continue
		}
		var source string
		if more := gohcl.DecodeExpression(attr.Expr, nil, &source); more.HasErrors() {
			diags = append(diags, more...)
			continue
		}
		if source != "." && !strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "../") {
			diags = append(diags, errorAt(attr.Expr.Range(), "Unsupported source of symbols", "Symbol libraries must be local "+
				"directories: the source starts with ./ or ../."))
			continue
		}
		name := block.Labels[0]
		if out[name] != nil {
			diags = append(diags, errorAt(block.DefRange, "Duplicate symbols block", "There is already a symbols block %q.", name))
			continue
		}
		lib, more := l.load(filepath.Join(dir, filepath.FromSlash(source)), attr.Expr.Range())
		diags = append(diags, more...)
		if lib != nil {
			out[name] = lib
		}
	}
	return out, diags
}

// Files returns the files of the libraries and of those that they import, sorted.
func (i Imports) Files() []string {
	seen := map[*Library]bool{}
	var out []string
	var add func(Imports)
	add = func(imports Imports) {
		for _, lib := range imports {
			if !seen[lib] {
				seen[lib] = true
				out = append(out, lib.files...)
				add(lib.imports)
			}
		}
	}
	add(i)
	slices.Sort(out)
	return out
}

// load loads the library in a directory, to which the source at the given place refers.
func (l *Loader) load(dir string, at hcl.Range) (*Library, hcl.Diagnostics) {
	if lib := l.libraries[dir]; lib != nil {
		if lib.loading {
			return nil, hcl.Diagnostics{errorAt(at, "Symbol libraries import each other", "The library in %s imports itself, directly "+
				"or through other libraries.", dir)}
		}
		return lib, nil
	}
	lib := &Library{dir: dir, values: map[string]*value{}, functions: map[string]*userFunc{}, types: map[string]*typedef{},
		builtin: l.Functions, loading: true}
	if l.libraries == nil {
		l.libraries = map[string]*Library{}
	}
	l.libraries[dir] = lib
	defer func() { lib.loading = false }()
	files, err := l.List(dir)
	if err != nil || len(files) == 0 {
		delete(l.libraries, dir)
		return nil, hcl.Diagnostics{errorAt(at, "Symbol library not found", "The directory %s has no files *%s.", dir, Extension)}
	}
	lib.files = files
	var diags hcl.Diagnostics
	var imports []*hcl.Block
	for _, name := range files {
		body, more := l.Parse(name)
		diags = append(diags, more...)
		if body == nil {
			continue
		}
		content, more := body.Content(fileSchema)
		diags = append(diags, more...)
		imports = append(imports, content.Blocks.OfType("symbols")...)
		diags = append(diags, lib.declare(content)...)
	}
	var more hcl.Diagnostics
	lib.imports, more = l.Import(dir, imports)
	if diags = append(diags, more...); !diags.HasErrors() {
		diags = append(diags, lib.compile()...)
	}
	return lib, diags
}

// declare adds the symbols of a file.
func (l *Library) declare(content *hcl.BodyContent) (diags hcl.Diagnostics) {
	for _, block := range content.Blocks {
		switch block.Type {
		case "language":
			diags = append(diags, checkLanguage(block)...)
		case "typedef":
			inner, more := block.Body.Content(typedefSchema)
			diags = append(append(diags, more...), l.free(block.Labels[0], block.DefRange)...)
			if attr := inner.Attributes["type"]; attr != nil {
				l.types[block.Labels[0]] = &typedef{library: l, expr: attr.Expr.(hclsyntax.Expression), at: attr.Expr.Range()}
			}
		case "values":
			attrs, more := block.Body.JustAttributes()
			diags = append(diags, more...)
			for name, attr := range attrs {
				if before := l.values[name]; before != nil {
					diags = append(diags, errorAt(attr.NameRange, "Duplicate value", "There is already a value %q in line %d of %s.", name,
						before.at.Start.Line, before.at.Filename))
					continue
				}
				l.values[name] = &value{library: l, expr: attr.Expr.(hclsyntax.Expression), at: attr.NameRange}
			}
		case "function":
			diags = append(diags, l.free(block.Labels[0], block.DefRange)...)
			f, more := decodeFunction(l, block)
			diags = append(diags, more...)
			l.functions[block.Labels[0]] = f
		}
	}
	return diags
}

// free returns an error if a function or a type has a name.
func (l *Library) free(name string, at hcl.Range) hcl.Diagnostics {
	if l.functions[name] == nil && l.types[name] == nil {
		return nil
	}
	return hcl.Diagnostics{errorAt(at, "Duplicate symbol", "The library already has a function or a type %q.", name)}
}

func checkLanguage(block *hcl.Block) hcl.Diagnostics {
	content, diags := block.Body.Content(languageSchema)
	attr := content.Attributes["edition"]
	if attr == nil {
		return diags
	}
	word := hcl.ExprAsKeyword(attr.Expr)
	if v, more := attr.Expr.Value(nil); !more.HasErrors() && v.Type() == cty.String && !v.IsNull() {
		word = v.AsString()
	}
	if word != edition {
		diags = append(diags, errorAt(attr.Expr.Range(), "Unsupported language edition", "The only edition of the language of symbol "+
			"libraries is %s.", edition))
	}
	return diags
}

// compile resolves the references between symbols and evaluates the values.
func (l *Library) compile() (diags hcl.Diagnostics) {
	for _, name := range slices.Sorted(maps.Keys(l.types)) {
		_, more := l.types[name].resolved()
		diags = append(diags, more...)
	}
	for _, name := range slices.Sorted(maps.Keys(l.functions)) {
		diags = append(diags, l.functions[name].compile()...)
	}
	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		v := l.values[name]
		r := &rewriter{imports: l.imports, own: l}
		v.expr = r.expr(v.expr)
		diags = append(append(diags, r.diags...), checkNames(v.expr, nil, nil)...)
	}
	for _, name := range slices.Sorted(maps.Keys(l.functions)) {
		if f := l.functions[name]; f.reaches(f, map[*userFunc]bool{}) {
			diags = append(diags, errorAt(f.at, "Recursive function", "The function %q calls itself, directly or through other "+
				"functions.", name))
		}
	}
	if diags.HasErrors() {
		return diags
	}
	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		v := l.values[name]
		_, more := v.get(v.at)
		diags = append(diags, more...)
	}
	return diags
}

// typedef is a named type.
type typedef struct {
	library *Library
	expr    hclsyntax.Expression
	at      hcl.Range
	state   int // 0: not resolved yet; 1: being resolved; 2: resolved
	diags   hcl.Diagnostics
}

// resolved returns the definition without names of other types.
func (t *typedef) resolved() (hclsyntax.Expression, hcl.Diagnostics) {
	switch t.state {
	case 1:
		return t.expr, hcl.Diagnostics{errorAt(t.at, "Recursive type", "The type refers to itself, directly or through other types.")}
	case 0:
		t.state = 1
		r := &rewriter{imports: t.library.imports, own: t.library, types: true}
		t.expr = r.expr(t.expr)
		t.state, t.diags = 2, r.diags
		return t.expr, t.diags
	}
	return t.expr, nil // the first caller has reported the errors
}

// value is a constant. It is evaluated while its library is loaded.
type value struct {
	library *Library
	expr    hclsyntax.Expression
	at      hcl.Range
	busy    bool
	done    bool
	result  cty.Value
}

// get returns the value. at is the place that needs it.
func (v *value) get(at hcl.Range) (cty.Value, hcl.Diagnostics) {
	switch {
	case v.done:
		return v.result, nil
	case v.busy:
		return cty.DynamicVal, hcl.Diagnostics{errorAt(at, "Value refers to itself", "The value is needed to evaluate itself.")}
	}
	v.busy = true
	result, diags := v.expr.Value(&hcl.EvalContext{Functions: v.library.builtin(), Variables: map[string]cty.Value{}})
	v.busy, v.done, v.result = false, true, result
	return result, diags
}
