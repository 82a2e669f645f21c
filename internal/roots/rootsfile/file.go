package rootsfile

import (
	"errors"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/pace"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// FileName is the name of the file, which is in the top directory of the estate.
const FileName = "roots.tofu.hcl"

// forEachName is the name of the argument by which one block declares several root modules.
const forEachName = "for_each"

// File is the content of a roots.tofu.hcl.
type File struct {
	Dir   string  // relative to the working directory
	Roots []*Root // sorted by name
	// Exclude are patterns for the paths of directories that are not root modules, unless the file
	// declares them; see [File.Excludes].
	Exclude []string
	// Limits limit the calls of providers in a run over the estate.
	Limits pace.Limits
	// ShareProviders makes root modules with equal provider configurations share provider processes.
	ShareProviders bool
	// LabelLimits are how many root modules with a label, such as "account=prod", workers process at once.
	LabelLimits map[string]int

	scope    *scope
	defaults []*hclsyntax.Block
	only     []string // names of the root modules that are wanted; nil for all
	src      []byte
	elements map[int][]*lang.Element // elements that are known already, by the byte where their block begins
	common   func() []Piece          // what concerns all root modules
}

// Root is what a roots.tofu.hcl says about a root module.
type Root struct {
	File      string // path of the roots.tofu.hcl, relative to the working directory
	Name      string
	Dir       string            // relative to the working directory, unless the file has an absolute path
	Workspace string            // "" means the selected workspace
	VarFiles  []string          // relative to Dir, or absolute; later ones take precedence
	Tags      []string          // sorted
	Backend   map[string]string // settings that override the backend block, like -backend-config
	Labels    map[string]string // labels that a worker must have
	Variables []*Variable       // sorted by name
	After     []Ref             // root modules to plan and apply first; Output is empty
	Range     hcl.Range         // range of the block's header; empty if the file doesn't declare the root module
	// BackendRange is the range of "backend" in the root module's own block; empty if only defaults
	// set it.
	BackendRange hcl.Range

	in      *File
	by      *declaration // nil if the file doesn't declare it
	element int          // position of its element in by
}

// Ref is a reference to an output of a root module, such as root["NAME"].OUTPUT.
type Ref struct {
	Root   string
	Output string // "" means all outputs
	Range  hcl.Range
}

// Load reads the roots.tofu.hcl in a directory, which is relative to the working directory. It
// returns nil if there is no such file or if the file has errors.
func Load(p *configs.Parser, dir string) (*File, error) {
	name := filepath.Join(dir, FileName)
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	parsed, err := p.ParseFile(name)
	if err != nil {
		return nil, err
	}
	f := &File{Dir: filepath.Clean(dir), src: parsed.Bytes}
	body := parsed.Body.(*hclsyntax.Body)
	f.common = sync.OnceValue(func() []Piece { return f.cut(body) })
	if err := f.decode(body); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) decode(body *hclsyntax.Body) error {
	var errs tfdiags.Diagnostics
	var declared []*hclsyntax.Block
	locals := make(map[string]*hclsyntax.Attribute)
	for name, attr := range body.Attributes {
		if !slices.Contains(topArguments, name) {
			errs = errs.Append(tfdiags.Errorf("Unsupported argument", "Only the arguments %s can be outside of the blocks "+
				"locals, defaults and root.%s", strings.Join(topArguments, ", "), suggest.DidYouMean(name, topArguments)).
				At(attr.NameRange))
		}
	}
	for _, block := range body.Blocks {
		switch {
		case block.Type == "locals" && len(block.Labels) == 0:
			errs = errs.Append(addLocals(locals, block.Body)...)
		case block.Type == "root" && len(block.Labels) == 1:
			declared = append(declared, block)
		case block.Type == "defaults" && len(block.Labels) <= 1:
			f.defaults = append(f.defaults, block)
		default:
			errs = errs.Append(tfdiags.Errorf("Unsupported block",
				"The file %s can only have blocks of these forms: locals { … }, defaults { … }, defaults \"TAG\" { … } and "+
					"root \"NAME\" { … }.", FileName).At(block.DefRange()))
		}
	}
	if errs.HasErrors() {
		return errs.Err()
	}
	f.scope = newScope(f.Dir, locals)
	errs = errs.AppendError(f.scope.resolveAll())
	errs = errs.AppendError(f.decodeExclude(body.Attributes[excludeName]))
	errs = errs.AppendError(f.decodeLimits(body.Attributes[callsName], f.Limits.ParseCalls))
	errs = errs.AppendError(f.decodeLimits(body.Attributes[ratesName], f.Limits.ParseRates))
	errs = errs.AppendError(f.decodeShare(body.Attributes[shareName]))
	errs = errs.AppendError(f.decodeLabelLimits(body.Attributes[labelLimitsName]))
	if errs.HasErrors() {
		return errs.Err()
	}
	seen := make(map[string]hcl.Range)
	for _, block := range declared {
		errs = errs.AppendError(f.declare(block, seen))
	}
	slices.SortFunc(f.Roots, func(a, b *Root) int { return strings.Compare(a.Name, b.Name) })
	return errs.Err()
}

// The names of the arguments for [File.Exclude], [File.Limits], [File.ShareProviders] and
// [File.LabelLimits].
const (
	excludeName     = "exclude"
	callsName       = "parallelism"
	ratesName       = "provider_rate"
	shareName       = "share_providers"
	labelLimitsName = "label_limits"
)

var topArguments = []string{excludeName, labelLimitsName, callsName, ratesName, shareName}

// constant evaluates an argument outside of the blocks. ok is false if the value can't be converted to a
// type, or is null or not wholly known.
func (f *File) constant(attr *hclsyntax.Attribute, want cty.Type) (v cty.Value, ok bool, err error) {
	if v, err = evaluate(attr.Expr, f.scope.context(nil, nil)); err != nil {
		return v, false, err
	}
	v, _ = v.UnmarkDeep()
	converted, err := convert.Convert(v, want)
	return converted, err == nil && converted.IsWhollyKnown() && !converted.IsNull(), nil
}

// decodeLimits decodes an argument for File.Limits, which has the form of the option of that name.
func (f *File) decodeLimits(attr *hclsyntax.Attribute, parse func(string) error) error {
	if attr == nil {
		return nil
	}
	v, ok, err := f.constant(attr, cty.String)
	if err != nil {
		return err
	}
	if ok {
		err = parse(v.AsString())
	} else {
		err = errors.New("it must be a text such as \"aws=20\"")
	}
	if err != nil {
		return tfdiags.Errorf("Invalid limits", "The argument %q is not valid: %s.", attr.Name, err).At(attr.Expr.Range())
	}
	return nil
}

func (f *File) decodeShare(attr *hclsyntax.Attribute) error {
	if attr == nil {
		return nil
	}
	v, ok, err := f.constant(attr, cty.Bool)
	if err != nil {
		return err
	}
	if !ok {
		return tfdiags.Errorf("Invalid value", "The argument %q must be true or false.", attr.Name).At(attr.Expr.Range())
	}
	f.ShareProviders = v.True()
	return nil
}

func (f *File) decodeLabelLimits(attr *hclsyntax.Attribute) error {
	if attr == nil {
		return nil
	}
	v, ok, err := f.constant(attr, cty.Map(cty.Number))
	if err != nil {
		return err
	}
	valid := ok
	f.LabelLimits = make(map[string]int)
	if valid {
		for label, most := range v.AsValueMap() {
			n, exact := 0, false
			if !most.IsNull() {
				whole, accuracy := most.AsBigFloat().Int64()
				n, exact = int(whole), accuracy == big.Exact
			}
			name, value, two := strings.Cut(label, "=")
			valid = valid && exact && n > 0 && two && name != "" && value != ""
			f.LabelLimits[label] = n
		}
	}
	if !valid {
		return tfdiags.Errorf("Invalid limits", "The argument %q must map labels to positive whole numbers, such as "+
			"{ \"account=prod\" = 3 }.", labelLimitsName).At(attr.Expr.Range())
	}
	return nil
}

func (f *File) decodeExclude(attr *hclsyntax.Attribute) error {
	if attr == nil {
		return nil
	}
	v, ok, err := f.constant(attr, cty.List(cty.String))
	if err != nil {
		return err
	}
	if ok {
		for _, pattern := range v.AsValueSlice() {
			if pattern.IsNull() || !doublestar.ValidatePattern(path.Clean(pattern.AsString())) {
				err = errors.New("invalid pattern")
				break
			}
			f.Exclude = append(f.Exclude, path.Clean(pattern.AsString()))
		}
		if err == nil {
			return nil
		}
	}
	return tfdiags.Errorf("Invalid patterns", "The argument %q must be a list of patterns for paths of directories, such "+
		"as [\"modules/**\"]. In a pattern, * stands for any characters except slashes, and ** for any characters.",
		excludeName).At(attr.Expr.Range())
}

// Excludes reports whether a directory that the file doesn't declare is not a root module. path is
// relative to the directory of the file, with slashes.
func (f *File) Excludes(path string) bool {
	return slices.ContainsFunc(f.Exclude, func(pattern string) bool {
		ok, err := doublestar.Match(pattern, path)
		return ok && err == nil
	})
}

func addLocals(locals map[string]*hclsyntax.Attribute, body *hclsyntax.Body) (errs tfdiags.Diagnostics) {
	for _, block := range body.Blocks {
		errs = errs.Append(tfdiags.Errorf("Unsupported block",
			"A locals block has only arguments, such as region = \"eu-west-1\".").At(block.DefRange()))
	}
	for name, attr := range body.Attributes {
		if _, twice := locals[name]; twice {
			errs = errs.Append(tfdiags.Errorf("Duplicate local value",
				"The local value %q is defined twice. Remove or rename one definition.", name).At(attr.NameRange))
		}
		locals[name] = attr
	}
	return errs
}

// declare adds the root modules that one block declares. seen holds the names declared so far.
func (f *File) declare(block *hclsyntax.Block, seen map[string]hcl.Range) error {
	elements, err := f.forEach(block)
	if err != nil {
		return err
	}
	var errs tfdiags.Diagnostics
	by := newDeclaration(f, block, elements)
	for i, each := range elements {
		r, err := f.root(block, each)
		if err != nil {
			errs = errs.AppendError(err)
			continue
		}
		if r == nil {
			continue
		}
		if at, twice := seen[r.Name]; twice {
			errs = errs.Append(tfdiags.Errorf("Duplicate root module",
				"A root module %q is already declared at %s. Rename one of them; with for_each, the argument "+
					"\"name\" must differ for each element.", r.Name, tfdiags.Place(at)).At(r.Range))
			continue
		}
		seen[r.Name] = r.Range
		r.by, r.element = by, i
		f.Roots = append(f.Roots, r)
	}
	return errs.Err()
}

// forEach returns the elements of a block's for_each argument. Without the argument, it returns a
// list with one nil element.
func (f *File) forEach(block *hclsyntax.Block) ([]*lang.Element, error) {
	if known := f.elements[block.Range().Start.Byte]; known != nil {
		return known, nil
	}
	attr := block.Body.Attributes[forEachName]
	if attr == nil {
		return []*lang.Element{nil}, nil
	}
	v, diags := attr.Expr.Value(f.scope.context(nil, nil))
	if diags.HasErrors() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	elements, err := lang.ForEach(v)
	if err != nil {
		return nil, tfdiags.Errorf("Invalid for_each argument", "%s", tfdiags.Sentence(err)).At(attr.Expr.Range())
	}
	out := make([]*lang.Element, len(elements))
	for i := range elements {
		out[i] = &elements[i]
	}
	return out, nil
}

// root returns the root module that a block declares for one element of its for_each argument; nil if it isn't wanted.
func (f *File) root(block *hclsyntax.Block, each *lang.Element) (*Root, error) {
	ctx := f.scope.context(each, nil)
	name := block.Labels[0]
	if each != nil {
		name += "/" + each.Key.AsString()
	}
	name, err := text(block, "name", name, ctx)
	if err != nil {
		return nil, err
	}
	if err := CheckName(name); err != nil {
		return nil, tfdiags.FromError(err)[0].At(block.DefRange())
	}
	if f.only != nil && !slices.Contains(f.only, name) {
		return nil, nil
	}
	dir, err := text(block, "path", name, ctx) // the default path is the name, as in Found
	if err != nil {
		return nil, err
	}
	r := &Root{File: filepath.Join(f.Dir, FileName), Name: name, Dir: f.below(dir), Range: block.DefRange(), in: f}
	return r, f.complete(r, block.Body, each)
}

// CheckName returns an error if a root module can't have the name.
func CheckName(name string) error {
	if path.Clean(name) == name && !strings.ContainsAny(name, `\*?[]{}`) && !strings.HasPrefix(name, "/") &&
		!strings.HasPrefix(name, "../") && name != ".." {
		return nil
	}
	return tfdiags.Errorf("Invalid name of a root module",
		"The name %q is not allowed. A name has one or more parts with slashes between them, such as "+
			"\"prod/network\". No part may be empty, \".\" or \"..\", or contain one of the characters * ? [ ] { } "+
			"and \\.", name)
}

// text returns the value of a string argument in a block. If the argument is absent or null, text
// returns the given default value.
func text(block *hclsyntax.Block, name, missing string, ctx *hcl.EvalContext) (string, error) {
	attr := block.Body.Attributes[name]
	if attr == nil {
		return missing, nil
	}
	v, err := evaluate(attr.Expr, ctx)
	if err != nil {
		return "", err
	}
	v, err = convert.Convert(v, cty.String)
	switch {
	case err != nil || !v.IsKnown():
		return "", tfdiags.Errorf("Invalid configuration",
			"The argument %q must be a string.", name).At(attr.Expr.Range())
	case v.IsNull():
		return missing, nil
	}
	v, _ = v.Unmark()
	return v.AsString(), nil
}

// below converts a path in the file to a path relative to the working directory. Paths in the file
// are relative to its directory, or absolute.
func (f *File) below(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(f.Dir, name)
}

// Found returns the settings for a root module in dir that the file doesn't declare. They come from
// the file's defaults.
func (f *File) Found(name, dir string) (*Root, error) {
	r := &Root{File: filepath.Join(f.Dir, FileName), Name: name, Dir: dir, in: f}
	return r, f.complete(r, nil, nil)
}

// complete decodes the arguments that defaults may set. It first applies the defaults without a
// label and those whose label is one of r's own tags, then the arguments in r's own block. Later
// values override earlier ones, but tags, variable files and root modules in "after" are combined.
func (f *File) complete(r *Root, body *hclsyntax.Body, each *lang.Element) error {
	ctx := f.scope.context(each, r)
	var own arguments
	var errs tfdiags.Diagnostics
	if body != nil {
		errs = errs.AppendError(own.decode(body, ctx, rootArguments))
		if attr := body.Attributes["backend"]; attr != nil {
			r.BackendRange = attr.SrcRange
		}
	}
	variables := make(map[string]*Variable)
	r.Backend, r.Labels = make(map[string]string), make(map[string]string)
	add := func(a *arguments) {
		r.VarFiles = append(r.VarFiles, a.VarFiles...)
		maps.Copy(r.Backend, a.Backend)
		maps.Copy(r.Labels, a.Labels)
		r.Tags = append(r.Tags, a.Tags...)
		for _, v := range a.variables {
			variables[v.Name] = v
		}
		r.After = append(r.After, a.after...)
	}
	for _, block := range f.defaults {
		if len(block.Labels) == 1 && !slices.Contains(own.Tags, block.Labels[0]) {
			continue
		}
		var a arguments
		errs = errs.AppendError(a.decode(block.Body, ctx, defaultArguments))
		add(&a)
	}
	for _, v := range own.variables {
		v.Own = true
	}
	add(&own)
	r.Workspace = own.Workspace
	slices.Sort(r.Tags)
	r.Tags = slices.Compact(r.Tags)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		r.Variables = append(r.Variables, variables[name])
	}
	return errs.Err()
}
