package lsp

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configschema"
)

// content lists what may be in a block. All of its fields may be nil.
type content struct {
	syntax *hcl.BodySchema     // what the language allows
	schema *configschema.Block // what a provider allows
	called *configs.Module     // the module that a module block calls
	owner  any                 // the address that the outermost block declares
}

// contentOf returns what may be in the innermost of some blocks in a module. cfg may be nil.
func (v *view) contentOf(cfg *configs.Config, blocks []openBlock) content {
	var c content
	var path []string
	for i, b := range blocks {
		if b.kind == "content" && i > 0 && blocks[i-1].kind == "dynamic" {
			continue // the dynamic block has set the schema
		}
		path = append(path, b.kind)
		c.syntax = configs.Syntax(strings.Join(path, "."))
		switch {
		case i == 0 || b.kind == "data" && blocks[0].kind == "check":
			v.outermost(&c, cfg, b)
		case b.kind == "config" && blocks[0].kind == "action":
		case b.kind == "dynamic" && c.schema != nil && len(b.labels) == 1:
			c.schema = nested(c.schema, b.labels[0])
			c.syntax = dynamicSyntax
			if i+1 < len(blocks) { // its content
				c.syntax = nil
			} else {
				c.schema = nil
			}
		default:
			c.schema = nested(c.schema, b.kind)
		}
	}
	if len(blocks) == 0 {
		c.syntax = configs.Syntax("")
	}
	if len(path) == 1 && path[0] == "action" {
		c.schema = nil // the arguments are in its config block
	}
	return c
}

var dynamicSyntax = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "for_each", Required: true}, {Name: "iterator"}, {Name: "labels"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
}

func nested(schema *configschema.Block, name string) *configschema.Block {
	if schema == nil || schema.BlockTypes[name] == nil {
		return nil
	}
	return &schema.BlockTypes[name].Block
}

// outermost sets what a block with an address has from its provider or module.
func (v *view) outermost(c *content, cfg *configs.Config, b openBlock) {
	if mode, ok := modes[b.kind]; ok && len(b.labels) > 0 {
		addr := addrs.Resource{Mode: mode, Type: b.labels[0]}
		if len(b.labels) > 1 {
			addr.Name = b.labels[1]
			c.owner = addr
		}
		if s := v.schemas.Resource(providerOf(cfg, addr), addr); s != nil {
			c.schema = s.Block
		}
		return
	}
	if cfg == nil || len(b.labels) != 1 {
		return
	}
	switch b.kind {
	case "provider":
		if v.schemas != nil {
			if s := v.schemas(cfg.Module.ProviderByLocalName(b.labels[0])); s != nil {
				c.schema = s.Provider
			}
		}
	case "module":
		c.owner = addrs.ModuleCall{Name: b.labels[0]}
		if child := cfg.Children[b.labels[0]]; child != nil {
			c.called = child.Module
		}
	}
}

// providerOf returns the provider of a resource, which need not be in the configuration yet.
func providerOf(cfg *configs.Config, addr addrs.Resource) addrs.Provider {
	if cfg == nil {
		return addrs.DefaultProvider(addr.ImpliedProvider())
	}
	for _, blocks := range []map[addrs.Resource]*configs.Resource{cfg.Module.Resources, cfg.Module.Actions} {
		if r := blocks[addr]; r != nil {
			return r.ProviderAddr
		}
	}
	return cfg.Module.ProviderByLocalName(addr.ImpliedProvider())
}

// typeOf returns the type of an expression as far as schemas and declarations say it.
func (v *view) typeOf(cfg *configs.Config, expr hclsyntax.Expression) cty.Type {
	switch e := expr.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		ref, err := addrs.ParseRef(e.Traversal, addrs.ModuleScope)
		if err != nil || cfg == nil {
			break
		}
		ty, steps := cty.DynamicPseudoType, ref.Remaining
		switch of := ref.Whole().(type) {
		case addrs.InputVariable:
			if variable := cfg.Module.Variables[of.Name]; variable != nil {
				ty = variable.Type.Type
			}
		case addrs.Resource:
			ty = v.typeOfResource(cfg, of, ref.Subject != addrs.Referenceable(of))
		}
		return follow(ty, steps)
	case *hclsyntax.RelativeTraversalExpr:
		return follow(v.typeOf(cfg, e.Source), e.Traversal)
	case *hclsyntax.IndexExpr:
		return elementType(v.typeOf(cfg, e.Collection))
	}
	return cty.DynamicPseudoType
}

// typeOfResource returns the type of a resource, or of one of its instances.
func (v *view) typeOfResource(cfg *configs.Config, addr addrs.Resource, instance bool) cty.Type {
	s := v.schemas.Resource(providerOf(cfg, addr), addr)
	if s == nil {
		return cty.DynamicPseudoType
	}
	ty := s.Block.ImpliedType()
	switch r := cfg.Module.Resources[addr]; {
	case r == nil || instance:
	case r.Count != nil:
		ty = cty.List(ty)
	case r.ForEach != nil:
		ty = cty.Map(ty)
	}
	return ty
}

// follow returns the type of what steps select in a value of a type.
func follow(ty cty.Type, steps hcl.Traversal) cty.Type {
	for _, step := range steps {
		name := addrs.StepName(step)
		if ty.IsObjectType() && name != "" {
			if !ty.HasAttribute(name) {
				return cty.DynamicPseudoType
			}
			ty = ty.AttributeType(name)
		} else {
			ty = elementType(ty)
		}
	}
	return ty
}

func elementType(ty cty.Type) cty.Type {
	if ty.IsCollectionType() {
		return ty.ElementType()
	}
	return cty.DynamicPseudoType
}
