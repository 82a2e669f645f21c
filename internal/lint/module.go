package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/configs"
	"tofu/internal/lang/funcs"
)

// module is a root module, with what the syntax of its files says.
type module struct {
	*configs.Module
	used  map[[2]string]bool // "var" or "local", and the name
	typed map[string]bool    // variables with a type argument
	calls []call
}

// call is a call of a function in a block of a resource, data source or module.
type call struct {
	name string
	at   hcl.Range
}

func newModule(m *configs.Module, parser *configs.Parser) *module {
	out := &module{Module: m, used: make(map[[2]string]bool), typed: make(map[string]bool)}
	for _, name := range m.Files {
		if strings.HasSuffix(name, ".json") {
			out.readJSON(parser.Source(name))
			continue
		}
		file, err := parser.ParseSource(name, parser.Source(name))
		if body, ok := file.Body.(*hclsyntax.Body); ok && err == nil {
			for _, block := range body.Blocks {
				out.readBlock(block)
			}
		}
	}
	return out
}

// readBlock notes what a block refers to. References of a variable's block to the variable itself don't
// count: validations have them.
func (m *module) readBlock(block *hclsyntax.Block) {
	own := ""
	if block.Type == "variable" && len(block.Labels) == 1 {
		own = block.Labels[0]
		if block.Body.Attributes["type"] != nil {
			m.typed[own] = true
		}
	}
	_ = hclsyntax.VisitAll(block.Body, func(node hclsyntax.Node) hcl.Diagnostics {
		if expr, ok := node.(*hclsyntax.ScopeTraversalExpr); ok {
			m.use(expr.Traversal, own)
		}
		return nil
	})
	switch block.Type {
	case "resource", "data", "module":
		m.readCalls(block.Body)
	}
}

// readCalls notes the calls of functions in a body. Provisioners run only when an object is created,
// so what they call changes no plan.
func (m *module) readCalls(body *hclsyntax.Body) {
	note := func(node hclsyntax.Node) hcl.Diagnostics {
		if expr, ok := node.(*hclsyntax.FunctionCallExpr); ok {
			m.calls = append(m.calls, call{strings.TrimPrefix(expr.Name, funcs.Namespace), expr.Range()})
		}
		return nil
	}
	for _, attr := range body.Attributes {
		_ = hclsyntax.VisitAll(attr, note)
	}
	for _, inner := range body.Blocks {
		if inner.Type != "provisioner" && inner.Type != "connection" && inner.Type != "lifecycle" {
			m.readCalls(inner.Body)
		}
	}
}

func (m *module) use(tr hcl.Traversal, own string) {
	if len(tr) < 2 {
		return
	}
	attr, ok := tr[1].(hcl.TraverseAttr)
	if ok && (tr.RootName() != "var" || attr.Name != own) {
		m.used[[2]string{tr.RootName(), attr.Name}] = true
	}
}

// readJSON notes what a file in JSON syntax refers to. Every string may be a template.
func (m *module) readJSON(source []byte) {
	ty, err := ctyjson.ImpliedType(source)
	if err != nil {
		return
	}
	v, err := ctyjson.Unmarshal(source, ty)
	if err != nil {
		return
	}
	if ty.IsObjectType() && ty.HasAttribute("variable") && ty.AttributeType("variable").IsObjectType() {
		for name, declared := range v.GetAttr("variable").AsValueMap() {
			if declared.Type().IsObjectType() && declared.Type().HasAttribute("type") {
				m.typed[name] = true
			}
		}
	}
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() != cty.String || v.IsNull() {
			return true, nil
		}
		text := []byte(v.AsString())
		if expr, diags := hclsyntax.ParseTemplate(text, "", hcl.InitialPos); !diags.HasErrors() {
			for _, tr := range expr.Variables() {
				m.use(tr, "")
			}
		}
		if tr, diags := hclsyntax.ParseTraversalAbs(text, "", hcl.InitialPos); !diags.HasErrors() {
			m.use(tr, "")
		}
		return true, nil
	})
}

func (m *module) unusedVariables(report func(hcl.Range, string, ...any)) {
	for name, v := range m.Variables {
		if !m.used[[2]string{"var", name}] {
			report(v.Range, "No expression in this module refers to var.%s. Remove the variable if it isn't needed.", name)
		}
	}
}

func (m *module) unusedLocals(report func(hcl.Range, string, ...any)) {
	for name, l := range m.Locals {
		if !m.used[[2]string{"local", name}] {
			report(l.Range, "No expression in this module refers to local.%s. Remove it if it isn't needed.", name)
		}
	}
}

func (m *module) untyped(report func(hcl.Range, string, ...any)) {
	for name, v := range m.Variables {
		if !m.typed[name] {
			report(v.Range, "Without a type argument, the variable %q accepts any value, and a wrong one is noticed late "+
				"or never. Add one, such as type = string.", name)
		}
	}
}

func (m *module) impure(report func(hcl.Range, string, ...any)) {
	for _, c := range m.calls {
		switch c.name {
		case "timestamp", "uuid", "bcrypt":
			report(c.at, "%s returns another value in each run, so there is a change in each plan. Use plantimestamp, the "+
				"time or random provider, or ignore_changes.", c.name)
		}
	}
}

func (m *module) counts(report func(hcl.Range, string, ...any)) {
	const detail = "This count is 0 or 1. With enabled in a lifecycle block instead, references need no index."
	for _, addr := range slices.Collect(maps.Keys(m.Resources)) {
		if expr := m.Resources[addr].Count; expr != nil && isSwitch(expr) {
			report(expr.Range(), detail)
		}
	}
	for _, c := range m.Calls {
		if c.Count != nil && isSwitch(c.Count) {
			report(c.Count.Range(), detail)
		}
	}
}

// isSwitch reports whether a count is 0 or 1, or a condition that selects between such counts.
func isSwitch(expr hcl.Expression) bool {
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return isSwitch(e.Expression)
	case *hclsyntax.ConditionalExpr:
		return isSwitch(e.TrueResult) && isSwitch(e.FalseResult)
	case *hclsyntax.LiteralValueExpr:
		return e.Val.Type() == cty.Number && (e.Val.RawEquals(cty.Zero) || e.Val.RawEquals(cty.NumberIntVal(1)))
	}
	return false
}
