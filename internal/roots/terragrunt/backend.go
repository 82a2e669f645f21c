package terragrunt

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend/all"
	"tofu/internal/configs/blocks"
	"tofu/internal/tfdiags"
)

// state imports remote_state blocks and arguments. If several files set it, the last one is used.
func (im *importer) state(r *root) {
	for i := len(r.layers) - 1; i >= 0; i-- {
		c := r.layers[i]
		if attr := c.body.Attributes["remote_state"]; attr != nil {
			v, err := c.marked(attr.Expr)
			if err == nil {
				err = im.remoteState(r, attr.SrcRange, v)
			}
			if err != nil {
				im.leave(r.name, attr.SrcRange, "remote_state: %s", im.reason(err, attr.SrcRange))
			}
			return
		}
		list := c.blocks("remote_state")
		if len(list) == 0 {
			continue
		}
		b := list[len(list)-1]
		all := make(map[string]cty.Value)
		for name, attr := range b.Body.Attributes {
			v, err := c.marked(attr.Expr)
			if err != nil {
				im.leave(r.name, attr.SrcRange, "%s of remote_state: %s", name, im.reason(err, attr.SrcRange))
				continue
			}
			all[name] = v
		}
		if err := im.remoteState(r, b.DefRange(), cty.ObjectVal(all)); err != nil {
			im.leave(r.name, b.DefRange(), "remote_state: %s", im.reason(err, b.DefRange()))
		}
		return
	}
}

// remoteState imports the settings in the value of remote_state.
func (im *importer) remoteState(r *root, where hcl.Range, v cty.Value) error {
	if !isObject(v) {
		return tfdiags.Errorf("Invalid remote_state", "It must be an object.")
	}
	if v.IsMarked() {
		return public(v, where)
	}
	parts := v.AsValueMap()
	typ, ok := stringOf(parts["backend"])
	settings := parts["config"]
	if !ok || settings == cty.NilVal || !isObject(settings) {
		return tfdiags.Errorf("Invalid remote_state", "Its backend must be a string, and its config an object.")
	}
	if settings.IsMarked() {
		return public(settings, where)
	}
	if parts["encryption"] != cty.NilVal {
		im.leave(r.name, where, "encryption of remote_state: add an encryption block to the module")
	}
	path := "backend.tf"
	if generate := parts["generate"]; generate != cty.NilVal && isObject(generate) {
		generate, _ = generate.UnmarkDeep()
		if text, ok := stringOf(generate.AsValueMap()["path"]); ok {
			path = text
		}
	}
	return im.backend(r, where, typ, path, settings.AsValueMap())
}

func stringOf(v cty.Value) (string, bool) {
	if v != cty.NilVal {
		v, _ = v.Unmark()
	}
	if v == cty.NilVal || v.IsNull() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// backend sets the backend of a root module. path is the file in which Terragrunt generates the
// backend block.
func (im *importer) backend(r *root, where hcl.Range, typ, path string, settings map[string]cty.Value) error {
	driver, err := all.Driver(typ)
	if err != nil {
		return err
	}
	schema := blocks.Schema(driver.Config())
	for name, v := range settings {
		outside := public(v, where)
		switch {
		case outside != nil:
			im.leave(r.name, where, "the setting %q of the backend: %s: set it with the variables that "+
				"the backend reads", name, im.reason(outside, where))
		case schema.Attributes[name] == nil:
			im.leave(r.name, where, "%s of remote_state, which is not a setting of the backend %q", name, typ)
		case v.IsNull():
		case v.Type().IsPrimitiveType():
			r.backend[name] = primitive(v)
		default:
			r.backend[name] = literal(v)
		}
	}
	cfg := im.module(r.dir)
	switch {
	case cfg == nil:
	case cfg.Module.Backend == nil && notGenerated(path) != "":
		im.leave(r.name, where, "the file %s with the backend block: %s", path, notGenerated(path))
	case cfg.Module.Backend == nil:
		text := fmt.Sprintf("terraform {\n  backend %q {}\n}\n", typ)
		r.wants = append(r.wants, &wanted{path: path, at: where, segments: []segment{{text: text}}})
	case cfg.Module.Backend.Type != typ:
		return tfdiags.Errorf("Different backend in the module",
			"The module has the backend %q instead of %q.", cfg.Module.Backend.Type, typ)
	}
	return nil
}

func primitive(v cty.Value) string {
	if v.Type() == cty.String {
		return v.AsString()
	}
	return literal(v)
}

// backendIn returns the backend that the text of a configuration file sets. ok is false unless the
// file contains a backend block with constant settings and nothing else.
func backendIn(text string) (typ string, settings map[string]cty.Value, ok bool) {
	file, diags := hclsyntax.ParseConfig([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return "", nil, false
	}
	body := file.Body.(*hclsyntax.Body)
	if len(body.Blocks) != 1 || len(body.Attributes) > 0 || body.Blocks[0].Type != "terraform" {
		return "", nil, false
	}
	inner := body.Blocks[0].Body
	if len(inner.Blocks) != 1 || len(inner.Attributes) > 0 || inner.Blocks[0].Type != "backend" ||
		len(inner.Blocks[0].Labels) != 1 || len(inner.Blocks[0].Body.Blocks) > 0 {
		return "", nil, false
	}
	b := inner.Blocks[0]
	settings = make(map[string]cty.Value)
	for name, attr := range b.Body.Attributes {
		v, diags := attr.Expr.Value(nil)
		if diags.HasErrors() {
			return "", nil, false
		}
		settings[name] = v
	}
	return b.Labels[0], settings, true
}
