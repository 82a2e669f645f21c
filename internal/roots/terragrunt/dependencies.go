package terragrunt

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// dependencies finds the root modules that a unit depends on.
func (im *importer) dependencies(r *root) {
	r.needs = make(map[string]*root)
	for _, c := range r.layers {
		for _, b := range c.blocks("dependency") {
			if len(b.Labels) == 1 {
				im.dependency(r, c, b)
			}
		}
		for _, b := range c.blocks("dependencies") {
			attr := b.Body.Attributes["paths"]
			if attr == nil {
				continue
			}
			paths, err := c.texts(attr.Expr)
			if err != nil {
				im.leave(r.name, attr.SrcRange, "the paths of dependencies: %s", im.reason(err, attr.SrcRange))
			}
			for _, path := range paths {
				switch target := im.unitAt(c, path); target {
				case r:
				case nil:
					im.leave(r.name, attr.SrcRange, "the paths of dependencies: %s", im.noUnit(c, path))
				default:
					r.ordered = append(r.ordered, target.name)
				}
			}
		}
	}
}

// besideUnit returns the absolute path for a path that is relative to the unit's directory.
func (c *config) besideUnit(path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.unit.dir, path)
}

// unitAt returns the root module of a unit, or nil if it is not imported. path is its directory or
// the file there, as the file c names it.
func (im *importer) unitAt(c *config, path string) *root {
	dir := c.besideUnit(path)
	if filepath.Base(dir) == fileName && im.placed[dir] == nil {
		dir = filepath.Dir(dir)
	}
	return im.placed[dir]
}

// noUnit says why unitAt has found nothing.
func (im *importer) noUnit(c *config, path string) string {
	dir := c.besideUnit(path)
	if filepath.Base(dir) == fileName {
		dir = filepath.Dir(dir)
	}
	if filepath.IsAbs(path) {
		path = im.relative(dir)
	}
	if im.leftUnits[dir] {
		return path + " was left out"
	}
	return path + " is not a unit below the directory"
}

// dependency imports a dependency block unless it is disabled. If several blocks have the same
// name, the last one is used.
func (im *importer) dependency(r *root, c *config, b *hclsyntax.Block) {
	label := b.Labels[0]
	if attr := b.Body.Attributes["enabled"]; attr != nil {
		if v, err := c.value(attr.Expr); err == nil && v.RawEquals(cty.False) {
			delete(r.needs, label)
			return
		}
	}
	if b.Body.Attributes["mock_outputs"] != nil {
		im.result.Mocks++
	}
	path, err := c.text(b.Body, "config_path")
	target := im.unitAt(c, path)
	switch {
	case err != nil:
		im.leave(r.name, b.DefRange(), "the dependency %q: %s", label, im.reason(err, b.DefRange()))
	case path == "" && b.Body.Attributes["config_path"] != nil: // the including file sets the path that is empty here
	case target == r:
		im.leave(r.name, b.DefRange(), "the dependency %q: it is the unit itself", label)
	case target == nil:
		delete(r.needs, label)
		im.leave(r.name, b.DefRange(), "the dependency %q: %s", label, im.noUnit(c, path))
	default:
		r.needs[label] = target
	}
}

// order adds the dependencies whose outputs aren't used to r.ordered, and sorts it.
func (im *importer) order(r *root) {
	for _, label := range slices.Sorted(maps.Keys(r.needs)) {
		if name := r.needs[label].name; !strings.Contains(r.variables, fmt.Sprintf("root[%q]", name)) {
			r.ordered = append(r.ordered, name)
		}
	}
	slices.Sort(r.ordered)
	r.ordered = slices.Compact(r.ordered)
}
