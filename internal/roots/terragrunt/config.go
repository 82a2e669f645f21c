package terragrunt

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

// fileName is the name of the configuration file of a unit.
const fileName = "terragrunt.hcl"

// valuesName is the name of the file with a unit's values, which is used unless a stack sets them.
const valuesName = "terragrunt.values.hcl"

// config is one parsed file. Its values depend on the unit for which it is read.
type config struct {
	path string // absolute path
	src  []byte
	body *hclsyntax.Body
	ctx  *hcl.EvalContext // functions, local values and exposed included files
	unit *unit

	includes []*include
	locals   map[string]cty.Value
	open     map[string]bool // local values that are being evaluated, to find cycles
}

// include is an include block.
type include struct {
	name   string
	config *config
	expose bool
	deep   bool // inputs are merged recursively
	merge  bool
}

// unit is a directory with a terragrunt.hcl, or a directory that a stack generates.
type unit struct {
	dir    string // absolute path
	source string // directory from which a stack copies files to dir; equal to dir without a stack
	values cty.Value
	own    *config
	auto   *config // configuration that the stack adds to the unit's file; nil if it adds none
	getenv func(string) string
	files  *files

	reads     map[string]*reading // files that have been read for the unit, by absolute path
	undefined []undefined         // local values without a value, from all files that the unit reads
}

// undefined is a local value whose evaluation failed.
type undefined struct {
	name string
	at   hcl.Range
	err  error
}

// within reports whether the position of an error is inside a range.
func within(err error, rng hcl.Range) bool {
	return slices.ContainsFunc(tfdiags.FromError(err), func(d tfdiags.Diagnostic) bool {
		return d.Subject != nil && d.Subject.Filename == rng.Filename && rng.ContainsPos(d.Subject.Start)
	})
}

// real returns the path from which a file is read: the path in the source directory instead of a
// path in the directory that the stack generates. Other paths are returned unchanged.
func (u *unit) real(path string) string {
	rel, err := filepath.Rel(u.dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(u.source, rel)
}

// config returns a config for a parsed file. Its includes and local values are not evaluated yet.
func (u *unit) config(path string, f *file) *config {
	c := &config{path: path, src: f.src, body: f.body, unit: u, locals: make(map[string]cty.Value),
		open: make(map[string]bool)}
	c.ctx = u.files.language(filepath.Dir(u.real(path))).NewChild()
	c.ctx.Functions, c.ctx.Variables = c.functions(), map[string]cty.Value{"local": cty.EmptyObjectVal}
	if u.values != cty.NilVal {
		c.ctx.Variables["values"] = u.values
	}
	if features := c.features(); len(features) > 0 {
		c.ctx.Variables["feature"] = cty.ObjectVal(features)
	}
	return c
}

// features returns the default values of a file's feature flags.
func (c *config) features() map[string]cty.Value {
	out := make(map[string]cty.Value)
	for _, b := range c.blocks("feature") {
		if attr := b.Body.Attributes["default"]; attr != nil && len(b.Labels) == 1 {
			if v, err := c.marked(attr.Expr); err == nil {
				out[b.Labels[0]] = cty.ObjectVal(map[string]cty.Value{"value": v})
			}
		}
	}
	return out
}

// defaultValues returns the values in the values file beside the unit's file, or an empty object if
// there is no such file.
func (u *unit) defaultValues() (cty.Value, error) {
	path := filepath.Join(u.source, valuesName)
	f, err := u.files.parse(path)
	if errors.Is(err, fs.ErrNotExist) {
		return cty.EmptyObjectVal, nil
	}
	if err != nil {
		return cty.NilVal, err
	}
	c := u.config(path, f)
	values := make(map[string]cty.Value)
	for name, attr := range f.body.Attributes {
		if values[name], err = c.marked(attr.Expr); err != nil {
			return cty.NilVal, err
		}
	}
	return cty.ObjectVal(values), nil
}

// blocks returns the blocks of the given type.
func (c *config) blocks(typ string) (out []*hclsyntax.Block) {
	for _, b := range c.body.Blocks {
		if b.Type == typ {
			out = append(out, b)
		}
	}
	return out
}

// readIncludes reads the included files. The paths of includes may use local values, but not other
// included files.
func (c *config) readIncludes() error {
	exposed := make(map[string]cty.Value)
	for _, b := range c.blocks("include") {
		in := &include{merge: true}
		if len(b.Labels) > 0 {
			in.name = b.Labels[0]
		}
		path, err := c.text(b.Body, "path")
		if err != nil {
			return err
		}
		strategy, err := c.text(b.Body, "merge_strategy")
		if err != nil {
			return err
		}
		in.deep, in.merge = strategy == "deep", strategy != "no_merge"
		if attr := b.Body.Attributes["expose"]; attr != nil {
			v, err := c.value(attr.Expr)
			in.expose = err == nil && v.RawEquals(cty.True)
		}
		if in.config, err = c.unit.read(c.absolute(path)); err != nil {
			return err
		}
		c.includes = append(c.includes, in)
		if !in.expose {
			continue
		}
		value := in.config.asValue()
		if in.name == "" {
			c.ctx.Variables["include"] = value
			continue
		}
		exposed[in.name] = value
	}
	if len(exposed) > 0 {
		c.ctx.Variables["include"] = cty.ObjectVal(exposed)
	}
	return nil
}

// absolute returns the absolute path for a path that is relative to the file's directory.
func (c *config) absolute(path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(c.path), path)
}

// text returns the value of a string argument, or "" if the argument is absent.
func (c *config) text(body *hclsyntax.Body, name string) (string, error) {
	attr := body.Attributes[name]
	if attr == nil {
		return "", nil
	}
	v, err := c.value(attr.Expr)
	if err != nil {
		return "", err
	}
	if v.IsNull() || v.Type() != cty.String {
		return "", tfdiags.Errorf("Invalid value", "The argument %q must be a string.", name).At(attr.Expr.Range())
	}
	return v.AsString(), nil
}

// value evaluates an expression whose value is not written to a file; see written.
func (c *config) value(expr hcl.Expression) (cty.Value, error) {
	v, err := c.marked(expr)
	v, _ = v.UnmarkDeep()
	return v, err
}

// marked evaluates an expression. The origins of its parts are marks. It first evaluates the local
// values that the expression refers to. A value that is not wholly known is an error.
func (c *config) marked(expr hcl.Expression) (cty.Value, error) {
	expr = c.chosen(expr)
	if usesOutputs(expr) { // without this, try(dependency.x.outputs.y, "z") would be "z"
		return cty.DynamicVal, tfdiags.Errorf("Outputs are not known here",
			"Outputs of other units are not known before planning.").At(expr.Range())
	}
	needed := false
	for _, tr := range expr.Variables() {
		if tr.RootName() != "local" || len(tr) < 2 {
			continue
		}
		if attr, ok := tr[1].(hcl.TraverseAttr); ok {
			needed = true
			if err := c.local(attr.Name); err != nil {
				return cty.DynamicVal, err
			}
		}
	}
	if needed {
		c.ctx.Variables["local"] = cty.ObjectVal(c.locals)
	}
	v, diags := expr.Value(c.ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, tfdiags.FromHCL(diags).Err()
	}
	if !v.IsWhollyKnown() {
		return cty.DynamicVal, tfdiags.Errorf("Unknown value", "The value can't be known here.").At(expr.Range())
	}
	return v, nil
}

// local evaluates a local value unless it is already evaluated.
func (c *config) local(name string) error {
	if _, done := c.locals[name]; done {
		return nil
	}
	for _, b := range c.blocks("locals") {
		attr := b.Body.Attributes[name]
		if attr == nil {
			continue
		}
		if c.open[name] {
			return tfdiags.Errorf("Local values refer to each other", "The local value %q depends on itself.",
				name).At(attr.SrcRange)
		}
		c.open[name] = true
		v, err := c.marked(attr.Expr)
		delete(c.open, name)
		if err != nil {
			return err
		}
		c.locals[name] = v
		return nil
	}
	return nil // evaluating the expression will report that the name is unknown
}

// evaluateLocals evaluates all local values. Local values that can't be evaluated stay undefined,
// and everything that uses them is not imported.
func (c *config) evaluateLocals() {
	for _, b := range c.blocks("locals") {
		for _, name := range slices.Sorted(maps.Keys(b.Body.Attributes)) {
			err := c.local(name)
			// Record the error only if its position is in this local value. Otherwise it belongs to
			// another local value, which this one uses.
			if attr := b.Body.Attributes[name]; err != nil && within(err, attr.SrcRange) {
				c.unit.undefined = append(c.unit.undefined, undefined{name, attr.SrcRange, err})
			}
		}
	}
	c.ctx.Variables["local"] = cty.ObjectVal(c.locals)
}

// asValue returns the content of the file in the form of read_terragrunt_config: an object with
// locals, inputs, remote_state and generate. It leaves out what isn't constant.
func (c *config) asValue() cty.Value {
	inputs := cty.EmptyObjectVal
	if attr := c.body.Attributes["inputs"]; attr != nil {
		if v, err := c.marked(attr.Expr); err == nil {
			inputs = v
		}
	}
	all := map[string]cty.Value{"locals": cty.ObjectVal(c.locals), "inputs": inputs}
	for _, b := range c.blocks("remote_state") {
		if v, ok := c.blockValue(b); ok {
			all["remote_state"] = v
		}
	}
	generate := make(map[string]cty.Value)
	for _, b := range c.blocks("generate") {
		if v, ok := c.blockValue(b); ok && len(b.Labels) == 1 {
			generate[b.Labels[0]] = v
		}
	}
	all["generate"] = cty.ObjectVal(generate)
	for _, name := range []string{"remote_state", "generate"} {
		if attr := c.body.Attributes[name]; attr != nil {
			if v, err := c.marked(attr.Expr); err == nil {
				all[name] = v
			}
		}
	}
	return cty.ObjectVal(all)
}

// blockValue returns the arguments of a block as an object, and false if an argument isn't
// constant.
func (c *config) blockValue(b *hclsyntax.Block) (cty.Value, bool) {
	out := make(map[string]cty.Value)
	for name, attr := range b.Body.Attributes {
		v, err := c.marked(attr.Expr)
		if err != nil {
			return cty.NilVal, false
		}
		out[name] = v
	}
	return cty.ObjectVal(out), true
}
