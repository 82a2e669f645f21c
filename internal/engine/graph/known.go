package graph

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
)

// Known holds the analyzed expressions of a configuration, which are the same in all of its graphs.
// Graphs that are built one after the other can share it. The zero value is empty and ready to use.
type Known struct {
	resources map[bodyKey]*reads.ResourceExprs
	exprs     map[hcl.Expression]*lang.Expr
	callArgs  map[*configs.ModuleCall]map[string]*lang.Expr
}

// Expr returns the analyzed form of the expression e, or nil if e is nil. Each expression is
// analyzed only once, except those that are not pointers, such as the result of hcl.StaticExpr:
// they may hold values that cannot be map keys.
func (k *Known) Expr(e hcl.Expression) *lang.Expr {
	switch {
	case e == nil:
		return nil
	case reflect.TypeOf(e).Kind() != reflect.Pointer:
		return lang.Analyze(e, addrs.ModuleScope)
	}
	found, ok := k.exprs[e]
	if !ok {
		found = lang.Analyze(e, addrs.ModuleScope)
		if k.exprs == nil {
			k.exprs = map[hcl.Expression]*lang.Expr{}
		}
		k.exprs[e] = found
	}
	return found
}

// Attribute returns the analyzed expression of an attribute in the block of a resource, or nil if the block
// doesn't set it as an attribute.
func (k *Known) Attribute(r *reads.Resource, name string) *lang.Expr {
	if r.Config == nil || r.Exprs == nil || r.Exprs.Body == nil {
		return nil
	}
	content, _, _ := r.Config.Config.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}}})
	if content == nil || content.Attributes[name] == nil {
		return nil
	}
	return k.Expr(content.Attributes[name].Expr)
}
