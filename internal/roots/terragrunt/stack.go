package terragrunt

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/getmodules"
	"tofu/internal/tfdiags"
)

const (
	stackName = "terragrunt.stack.hcl"
	stackDir  = ".terragrunt-stack" // subdirectory of a stack's directory in which its units are generated
)

// copiedByStacks returns the directories from which stacks copy units and stacks. A terragrunt.hcl
// in such a directory doesn't make it a unit.
func (im *importer) copiedByStacks(stacks []string) map[string]bool {
	out := make(map[string]bool)
	for _, dir := range stacks {
		u := im.unit(dir, dir)
		c, err := u.read(filepath.Join(dir, stackName))
		if err != nil {
			continue // importing the stack will report the error
		}
		for _, b := range c.body.Blocks {
			source, err := c.text(b.Body, "source")
			if err != nil || source == "" {
				continue
			}
			if from := localDir(u, source); from != "" {
				out[from] = true
			}
		}
	}
	return out
}

// component is a unit block or a stack block in a stack.
type component struct {
	block  *hclsyntax.Block
	dir    string // directory that the stack generates for it
	source string // directory from which the stack copies it; "" if it isn't known
	values cty.Value
}

// maxDepth limits how deeply stacks may be nested, so that a stack that contains itself is an error.
const maxDepth = 20

// stack returns the units that a stack and its nested stacks generate. u is a unit that represents
// the stack's directory.
func (im *importer) stack(u *unit, depth int) []*unit {
	name := im.name(u.dir)
	if depth > maxDepth {
		im.leave(name, hcl.Range{}, "the stack: it contains itself")
		return nil
	}
	c, err := u.read(filepath.Join(u.dir, stackName))
	if err != nil {
		im.leave(name, hcl.Range{}, "the stack: %s", im.reason(err, hcl.Range{}))
		return nil
	}
	components := im.components(u, c)
	var units []*unit
	for _, comp := range components {
		if !im.complete(u, c, comp) {
			continue
		}
		to := im.unit(comp.dir, comp.source)
		to.values = comp.values
		im.generated[comp.dir] = comp.source
		if comp.values == cty.NilVal {
			if to.values, err = to.defaultValues(); err != nil {
				im.leave(name, comp.block.DefRange(), "the %s: %s", comp, im.reason(err, comp.block.DefRange()))
				continue
			}
		}
		im.autoinclude(to, c, comp)
		if comp.block.Type == "stack" {
			units = append(units, im.stack(to, depth+1)...)
			continue
		}
		im.units[to.dir] = im.name(to.dir)
		units = append(units, to)
	}
	return units
}

// String describes the component for messages.
func (c *component) String() string { return fmt.Sprintf("%s %q", c.block.Type, c.block.Labels[0]) }

// components returns the units and nested stacks of a stack, without their sources and values. It
// also makes their directories available to expressions.
func (im *importer) components(u *unit, c *config) []*component {
	var out []*component
	paths := map[string]map[string]cty.Value{"unit": {}, "stack": {}}
	for _, b := range c.body.Blocks {
		if paths[b.Type] == nil || len(b.Labels) != 1 {
			if b.Type != "locals" && b.Type != "feature" {
				im.leave(im.name(u.dir), b.DefRange(), "the block %s of a stack", b.Type)
			}
			continue
		}
		comp := &component{block: b}
		path, err := c.text(b.Body, "path")
		if err != nil {
			im.leave(im.name(u.dir), at(b, "path"), "the %s: %s", comp, im.reason(err, at(b, "path")))
			continue
		}
		below := filepath.Join(u.dir, stackDir)
		if attr := b.Body.Attributes["no_dot_terragrunt_stack"]; attr != nil {
			if v, err := c.value(attr.Expr); err == nil && v.RawEquals(cty.True) {
				below = u.dir
			}
		}
		comp.dir = filepath.Join(below, filepath.FromSlash(path))
		if filepath.IsAbs(path) {
			comp.dir = filepath.Clean(path)
		}
		paths[b.Type][b.Labels[0]] = cty.ObjectVal(map[string]cty.Value{"path": cty.StringVal(slash(comp.dir))})
		out = append(out, comp)
	}
	for kind, of := range paths {
		c.ctx.Variables[kind] = cty.ObjectVal(of)
	}
	return out
}

// complete sets the source and the values of a component. It returns false if they are not
// constant, or if the source is not on this machine.
func (im *importer) complete(u *unit, c *config, comp *component) bool {
	where := at(comp.block, "source")
	leave := func(where hcl.Range, err error) bool {
		im.leave(im.name(u.dir), where, "the %s: %s", comp, im.reason(err, where))
		return false
	}
	source, err := c.text(comp.block.Body, "source")
	if err != nil {
		return leave(where, err)
	}
	if comp.source, err = im.sourceDir(u, source, ""); err != nil {
		return leave(where, err)
	}
	if comp.source == "" {
		return leave(where, tfdiags.Errorf("Remote source", "its source %q is remote: copy it with -fetch=.modules",
			getmodules.WithoutSecrets(source)))
	}
	name := map[string]string{"unit": fileName, "stack": stackName}[comp.block.Type]
	if _, err := os.Stat(filepath.Join(comp.source, name)); err != nil {
		return leave(where, tfdiags.Errorf("Missing source", "its source %s has no %s", im.relative(comp.source), name))
	}
	if attr := comp.block.Body.Attributes["values"]; attr != nil {
		if comp.values, err = c.marked(attr.Expr); err != nil {
			return leave(attr.SrcRange, err)
		}
	}
	return true
}

// autoinclude stores the configuration that a stack adds to the file of a unit.
func (im *importer) autoinclude(to *unit, c *config, comp *component) {
	for _, b := range comp.block.Body.Blocks {
		if b.Type != "autoinclude" || comp.block.Type == "stack" {
			im.leave(im.name(to.dir), b.DefRange(), "the block %s of a stack", b.Type)
			continue
		}
		auto := *c
		auto.body, auto.includes, auto.unit = b.Body, nil, to
		to.auto = &auto
	}
}
