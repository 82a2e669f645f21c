package planview

import (
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/lang/lazyblock"
	"tofu/internal/plans"
	"tofu/internal/providers"
)

// origins finds the changed resources that values in the configuration come from. It searches
// each block and each named value only once.
type origins struct {
	*Source
	// actions maps each changed resource to the most consequential of its actions.
	actions map[addrs.ConfigResource]plans.Action

	mu     sync.Mutex
	blocks map[*configs.Resource]map[string]*argument
	named  map[name]*resources // origins of variables, locals and outputs
}

// argument is an argument, or all nested blocks of one type.
type argument struct {
	at    hcl.Range
	from  *resources
	exprs []hcl.Traversal
}

// name is a named value of a module.
type name struct {
	module *configs.Config
	of     string // "var.a", "local.a" or "output.a"
}

// resources is a set of changed resources that a value comes from, directly or through named
// values.
type resources struct {
	list []addrs.ConfigResource
	seen map[addrs.ConfigResource]bool
}

func (r *resources) add(list ...addrs.ConfigResource) {
	for _, addr := range list {
		if !r.seen[addr] && len(r.list) < maxOrigins {
			r.seen[addr] = true
			r.list = append(r.list, addr)
		}
	}
}

// maxOrigins is the maximum number of resources that are recorded for a value. Otherwise, their
// number could grow along chains of references.
const maxOrigins = 8

func newOrigins(s *Source) *origins {
	o := &origins{
		Source: s, actions: make(map[addrs.ConfigResource]plans.Action),
		blocks: make(map[*configs.Resource]map[string]*argument), named: make(map[name]*resources),
	}
	for _, c := range s.Plan.Changes.Instances {
		if addr := c.Addr.Config(); consequence[c.Action] > consequence[o.actions[addr]] {
			o.actions[addr] = c.Action
		}
	}
	return o
}

// consequence orders actions by their effect on values that come from the object.
var consequence = map[plans.Action]int{
	plans.Read: 1, plans.Update: 2, plans.Create: 3, plans.DeleteThenCreate: 4, plans.CreateThenDelete: 4,
	plans.ForgetThenCreate: 4,
}

// causeTexts say what happens to a resource whose change makes values unknown.
var causeTexts = map[plans.Action]string{
	plans.Read: "is read during apply", plans.Update: "is changed", plans.Create: "is created",
	plans.DeleteThenCreate: "is replaced", plans.CreateThenDelete: "is replaced", plans.ForgetThenCreate: "is replaced",
}

// attribute returns the position of an argument in a change's block. If unknown is set, it also
// returns what makes the argument unknown.
func (o *origins) attribute(c *Change, name string, unknown bool) (at hcl.Range, causes []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	arg := o.arguments(c.Block, c.Schema)[name]
	if arg == nil { // the provider decides the value
		return at, nil
	}
	if !unknown {
		return arg.at, nil
	}
	if arg.from == nil {
		arg.from = &resources{seen: make(map[addrs.ConfigResource]bool)}
		o.follow(o.Config.Descendant(c.Addr.Module.Module()), arg.exprs, arg.from)
	}
	for _, addr := range arg.from.list {
		causes = append(causes, addr.String()+" "+causeTexts[o.actions[addr]])
	}
	slices.Sort(causes)
	return arg.at, causes
}

// arguments returns the arguments of a resource block by name.
func (o *origins) arguments(block *configs.Resource, sch *providers.ResourceSchema) map[string]*argument {
	if found, ok := o.blocks[block]; ok {
		return found
	}
	out := make(map[string]*argument)
	o.blocks[block] = out
	want := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}}
	for name := range sch.Block.Attributes {
		want.Attributes = append(want.Attributes, hcl.AttributeSchema{Name: name})
	}
	for name, nested := range sch.Block.BlockTypes {
		header := hcl.BlockHeaderSchema{Type: name}
		if nested.Nesting == configschema.NestingMap {
			header.LabelNames = []string{"key"}
		}
		want.Blocks = append(want.Blocks, header)
	}
	content, _, _ := block.Config.PartialContent(want)
	if content == nil {
		return out
	}
	for name, attr := range content.Attributes {
		out[name] = &argument{at: attr.Range, exprs: attr.Expr.Variables()}
	}
	for _, b := range content.Blocks {
		name := b.Type
		if name == "dynamic" {
			name = b.Labels[0]
		}
		if out[name] == nil {
			out[name] = &argument{at: b.DefRange}
		}
		out[name].exprs = append(out[name].exprs, variablesIn(b.Body)...)
	}
	ofInstance := func(tr hcl.Traversal) bool { return tr.RootName() == "each" || tr.RootName() == "count" }
	// Values such as each.value come from count and for_each.
	for _, repeat := range []hcl.Expression{block.Count, block.ForEach} {
		if repeat == nil {
			continue
		}
		for _, arg := range out {
			if slices.ContainsFunc(arg.exprs, ofInstance) {
				arg.exprs = append(arg.exprs, repeat.Variables()...)
			}
		}
	}
	return out
}

// variablesIn returns the references in a body and its nested blocks.
func variablesIn(body hcl.Body) []hcl.Traversal {
	var out []hcl.Traversal
	attrs, _ := body.JustAttributes() // also returns the attributes of a body with blocks
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		out = append(out, attrs[name].Expr.Variables()...)
	}
	if native, ok := lazyblock.Native(body); ok {
		for _, block := range native.Blocks {
			out = append(out, variablesIn(block.Body)...)
		}
	}
	return out
}

// follow adds the changed resources that references in a module refer to, directly or through named
// values.
func (o *origins) follow(module *configs.Config, refs []hcl.Traversal, into *resources) {
	if module == nil {
		return
	}
	for _, tr := range refs {
		ref, err := addrs.ParseRef(tr, addrs.ModuleScope)
		if err != nil {
			continue
		}
		switch subject := ref.Subject.(type) {
		case addrs.Resource:
			o.resource(module, subject, into)
		case addrs.ResourceInstance:
			o.resource(module, subject.Resource, into)
		case addrs.InputVariable:
			if module.Call != nil {
				into.add(o.value(name{module, subject.String()}, module.Parent, callArgument(module, subject.Name))...)
			}
		case addrs.LocalValue:
			if local := module.Module.Locals[subject.Name]; local != nil {
				into.add(o.value(name{module, subject.String()}, module, local.Expr)...)
			}
		case addrs.ModuleCallOutput:
			o.output(module.Children[subject.Call.Name], subject.Output, into)
		case addrs.ModuleCallInstance:
			o.outputs(module.Children[subject.Name], into)
		case addrs.ModuleCall:
			o.outputs(module.Children[subject.Name], into)
		}
	}
}

func (o *origins) resource(module *configs.Config, addr addrs.Resource, into *resources) {
	at := addrs.ConfigResource{Module: module.Path, Resource: addr}
	if causeTexts[o.actions[at]] != "" {
		into.add(at)
	}
}

func (o *origins) output(module *configs.Config, of string, into *resources) {
	if module == nil || module.Module.Outputs[of] == nil {
		return
	}
	into.add(o.value(name{module, "output." + of}, module, module.Module.Outputs[of].Expr)...)
}

func (o *origins) outputs(module *configs.Config, into *resources) {
	if module == nil {
		return
	}
	for _, of := range slices.Sorted(maps.Keys(module.Module.Outputs)) {
		o.output(module, of, into)
	}
}

// value returns the changed resources that a named value comes from.
func (o *origins) value(of name, module *configs.Config, expr hcl.Expression) []addrs.ConfigResource {
	// If the value is still being searched, it is part of a cycle, and its list may be incomplete.
	if found, ok := o.named[of]; ok {
		return found.list
	}
	found := &resources{seen: make(map[addrs.ConfigResource]bool)}
	o.named[of] = found
	if expr != nil {
		o.follow(module, expr.Variables(), found)
	}
	return found.list
}

// callArgument returns the expression that a module call assigns to a variable, or nil.
func callArgument(module *configs.Config, variable string) hcl.Expression {
	content, _, _ := module.Call.Config.PartialContent(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: variable}}})
	if content == nil || content.Attributes[variable] == nil {
		return nil
	}
	return content.Attributes[variable].Expr
}
