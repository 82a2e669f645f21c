package terragrunt

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// fileName is the name of the file of a unit.
const fileName = "terragrunt.hcl"

// config is one file, as a unit or another file reads it.
type config struct {
	path string // absolute
	src  []byte
	body *hclsyntax.Body
	ctx  *hcl.EvalContext // functions, local, and the included files that are exposed
	unit *unit

	includes []*include
	locals   map[string]cty.Value
	open     map[string]bool // locals under evaluation
}

// include is an include block.
type include struct {
	name   string
	config *config
	expose bool
	deep   bool // inputs are merged deeply
	merge  bool
}

// unit is a directory with a terragrunt.hcl.
type unit struct {
	dir    string // absolute
	own    *config
	getenv func(string) string
}

// maxDepth limits files that read each other.
const maxDepth = 20

// read reads a file for a unit. depth is the number of files that lead to it.
func (u *unit) read(path string, depth int) (*config, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s is read in a circle", path)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if d := nesting.Check(path, src); d != nil {
		return nil, tfdiags.FromHCL(hcl.Diagnostics{d}).Err()
	}
	file, diags := hclsyntax.ParseConfig(src, path, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	c := &config{path: path, src: src, body: file.Body.(*hclsyntax.Body), unit: u, locals: make(map[string]cty.Value),
		open: make(map[string]bool)}
	if u.own == nil {
		u.own = c
	}
	functions := maps.Clone(funcs.Table(funcs.Options{BaseDir: filepath.Dir(path)}))
	maps.Copy(functions, c.functions(depth))
	c.ctx = &hcl.EvalContext{Functions: functions, Variables: map[string]cty.Value{"local": cty.EmptyObjectVal}}
	if err := c.readIncludes(depth); err != nil {
		return nil, err
	}
	return c, c.evaluateLocals()
}

// blocks returns the blocks of a type.
func (c *config) blocks(typ string) (out []*hclsyntax.Block) {
	for _, b := range c.body.Blocks {
		if b.Type == typ {
			out = append(out, b)
		}
	}
	return out
}

// readIncludes reads the included files. Their paths may use locals, but not the included files.
func (c *config) readIncludes(depth int) error {
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
		if in.config, err = c.unit.read(c.absolute(path), depth+1); err != nil {
			return err
		}
		c.includes = append(c.includes, in)
		if !in.expose {
			continue
		}
		value, err := in.config.asValue()
		if err != nil {
			return err
		}
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

// absolute returns a path relative to the directory of the file.
func (c *config) absolute(path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(c.path), path)
}

// text evaluates a string argument; "" if it is absent.
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

// value evaluates an expression, after the locals that it refers to.
func (c *config) value(expr hcl.Expression) (cty.Value, error) {
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
	v, _ = v.UnmarkDeep()
	if !v.IsWhollyKnown() {
		return cty.DynamicVal, tfdiags.Errorf("Unknown value", "The value can't be known here.").At(expr.Range())
	}
	return v, nil
}

// local evaluates a local value, once.
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
		v, err := c.value(attr.Expr)
		delete(c.open, name)
		if err != nil {
			return err
		}
		c.locals[name] = v
		return nil
	}
	return nil // evaluation reports it
}

// evaluateLocals evaluates all local values. Those that can't be evaluated are left undefined: what
// uses them is left out.
func (c *config) evaluateLocals() error {
	for _, b := range c.blocks("locals") {
		for _, name := range slices.Sorted(maps.Keys(b.Body.Attributes)) {
			_ = c.local(name)
		}
	}
	c.ctx.Variables["local"] = cty.ObjectVal(c.locals)
	return nil
}

// asValue returns the file as read_terragrunt_config does: an object with locals, inputs and
// whether the file has others. Inputs that aren't constant are left out.
func (c *config) asValue() (cty.Value, error) {
	inputs := cty.EmptyObjectVal
	if attr := c.body.Attributes["inputs"]; attr != nil {
		if v, err := c.value(attr.Expr); err == nil {
			inputs = v
		}
	}
	return cty.ObjectVal(map[string]cty.Value{"locals": cty.ObjectVal(c.locals), "inputs": inputs}), nil
}
