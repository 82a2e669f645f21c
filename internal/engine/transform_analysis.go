package engine

import (
	"reflect"
	"runtime"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configs/configschema"
	"tofu/internal/lang"
	"tofu/internal/parallel"
	"tofu/internal/tfdiags"
)

var analysisTransformer = &Transformer{
	Name:  "Analysis",
	Doc:   "finds what every expression refers to, once per configuration object however many modules share it",
	After: []*Transformer{configTransformer, schemaTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		for _, m := range b.g.modules {
			if m.call != nil {
				m.rep = b.repetition(m.call.Count, m.call.ForEach, m.call.Enabled)
			}
			for _, c := range m.checks {
				c.rules = b.rules(c.cfg.Asserts)
			}
		}
		for _, v := range b.g.values {
			b.analyseValue(v)
		}
		b.analyseBodies()
		for _, r := range b.g.resources {
			if r.cfg != nil {
				r.exprs = b.known.resourceExprs[r.bodyKey()]
				if b.op.importsOnly(r) {
					r.exprs = &resourceExprs{rep: r.exprs.rep, itself: r.exprs.itself}
				}
				r.open.Problems = r.open.Problems.Append(r.exprs.problems)
			}
		}
		for _, p := range b.g.providers {
			b.analyseProvider(p)
		}
		return nil
	},
}

// expr analyses an expression once, however many modules share it. One that isn't a pointer, such as the result of hcl.StaticExpr,
// may hold a value that can't be a key of a map, and is analysed each time.
func (a *analysis) expr(e hcl.Expression) *lang.Expr {
	switch {
	case e == nil:
		return nil
	case reflect.TypeOf(e).Kind() != reflect.Pointer:
		return lang.Analyse(e, addrs.ModuleScope)
	}
	found, ok := a.exprs[e]
	if !ok {
		found = lang.Analyse(e, addrs.ModuleScope)
		a.exprs[e] = found
	}
	return found
}

func (b *build) repetition(count, forEach, enabled hcl.Expression) repetitionExprs {
	return repetitionExprs{b.known.expr(count), b.known.expr(forEach), b.known.expr(enabled)}
}

func (b *build) rules(cfgs []*configs.CheckRule) []rule {
	out := make([]rule, len(cfgs))
	for i, c := range cfgs {
		out[i] = rule{c, b.known.expr(c.Condition), b.known.expr(c.ErrorMessage)}
	}
	return out
}

func (b *build) analyseValue(v *value) {
	switch v.kind {
	case variableValue:
		v.rules = b.rules(v.variable.Validations)
		if call := v.module.call; call != nil {
			v.expr = b.callArg(call, v.name)
			v.perCall = v.expr != nil && usesRepetition(v.expr.Refs)
		}
		v.node.kept = len(v.rules) > 0
	case localValue:
		v.expr = b.known.expr(v.module.cfg.Module.Locals[v.name].Expr)
	case outputValue:
		if v.output.Ephemeral && v.module.parent == nil && !v.module.cfg.Called {
			v.node.Problems = v.node.Problems.Append(tfdiags.Errorf("Invalid output configuration",
				"Root modules can't have ephemeral outputs: there is no module to take the value.").At(v.output.Range))
		}
		v.expr = b.known.expr(v.output.Expr)
		v.rules = b.rules(v.output.Preconditions)
	}
}

// callArg gives the expression that a module call has for a variable; nil when it has none.
func (b *build) callArg(call *configs.ModuleCall, name string) *lang.Expr {
	args, ok := b.known.callArgs[call]
	if !ok {
		args = map[string]*lang.Expr{}
		attrs, _ := call.Config.JustAttributes() // its errors were reported when the module was loaded
		for name, attr := range attrs {
			args[name] = b.known.expr(attr.Expr)
		}
		b.known.callArgs[call] = args
	}
	return args[name]
}

func usesRepetition(refs lang.Refs) bool {
	return slices.ContainsFunc(refs.Objects, func(r *addrs.Reference) bool {
		switch r.Subject.(type) {
		case addrs.CountAttr, addrs.ForEachAttr:
			return true
		}
		return false
	})
}

// A bodyKey is a resource block's body as one of perhaps several schemas has it; the schema is nil where it isn't known.
type bodyKey struct {
	cfg    *configs.Resource
	schema *configschema.Block
}

func (r *resource) bodyKey() bodyKey {
	key := bodyKey{cfg: r.cfg}
	if r.schema != nil {
		key.schema = r.schema.Block
	}
	return key
}

// analyseBodies analyses the bodies of the resource blocks that no graph had yet: on all processors, since it is most of what there is
// to do before the first thing can be planned.
func (b *build) analyseBodies() {
	var todo []bodyKey
	for _, r := range b.g.resources {
		if r.cfg == nil {
			continue
		}
		if key := r.bodyKey(); b.known.resourceExprs[key] == nil {
			b.known.resourceExprs[key] = &resourceExprs{}
			todo = append(todo, key)
		}
	}
	parallel.Each(len(todo), runtime.GOMAXPROCS(0), func(i int) {
		if key := todo[i]; key.schema != nil {
			e := b.known.resourceExprs[key]
			e.body = lang.AnalyseBody(key.cfg.Config, key.schema, addrs.ModuleScope)
			e.body.Meta = key.cfg.Meta()
		}
	})
	for _, key := range todo {
		b.analyseMeta(key.cfg, b.known.resourceExprs[key])
	}
}

// analyseMeta analyses what a resource block has beside its body.
func (b *build) analyseMeta(c *configs.Resource, e *resourceExprs) {
	e.rep = b.repetition(c.Count, c.ForEach, c.Enabled)
	e.itself = e.rep.refuse(c.Addr)
	e.pre, e.post = b.rules(c.Preconditions), b.rules(c.Postconditions)
	for _, t := range c.ReplaceTriggeredBy {
		e.triggers = append(e.triggers, b.known.expr(t))
	}
	e.preventDestroy = b.known.expr(c.PreventDestroy)
	e.dependsOn = lang.DependsOn(c.DependsOn)
	for _, prov := range c.Provisioners {
		e.provisioners = append(e.provisioners, b.op.provisionerExprs(prov, c.Connection, &e.problems))
	}
}

func (o *graphOp) provisionerExprs(prov *configs.Provisioner, outer *configs.Connection, problems *tfdiags.Diagnostics) *provisionerExprs {
	out := &provisionerExprs{cfg: prov}
	if o.provisioner == nil {
		return out
	}
	schema, ok, err := o.provisioner(prov.Type)
	if !ok {
		*problems = problems.Append(tfdiags.Errorf("Unsupported provisioner type",
			"There is no provisioner of type %[1]q. The built-in ones are file, local-exec and remote-exec. Any other is a plugin: put its program, terraform-provisioner-%[1]s, into the working directory or ~/.terraform.d/plugins.", prov.Type).InText(prov.TypeRange))
		return out
	}
	if err != nil {
		*problems = problems.Append(err)
		return out
	}
	out.body = lang.AnalyseBody(prov.Config, schema.Block, addrs.ModuleScope)
	out.body.Meta = prov.Meta()
	if body := prov.ConnectionBody(outer); body != nil {
		out.connection = lang.AnalyseBody(body, connectionSchema, addrs.ModuleScope)
	}
	return out
}

func (b *build) analyseProvider(p *providerConfig) {
	if p.schema == nil {
		return
	}
	schema := p.schema.Provider
	if schema == nil {
		schema = configschema.Empty()
	}
	body := hcl.EmptyBody()
	if p.cfg != nil {
		body = p.cfg.Config
	}
	p.body = lang.AnalyseBody(body, schema, addrs.ModuleScope)
	p.body.Meta = p.cfg.Meta()
}

// connectionSchema is the content of a connection block; an outer block may leave to inner ones what they need.
var connectionSchema = func() *configschema.Block {
	attrs := map[string]*configschema.Attribute{}
	for ty, names := range map[cty.Type][]string{
		cty.String: {"type", "user", "password", "host", "timeout", "script_path", "private_key", "certificate", "host_key",
			"agent_identity", "target_platform", "proxy_scheme", "proxy_host", "proxy_user_name", "proxy_user_password", "bastion_host",
			"bastion_host_key", "bastion_user", "bastion_password", "bastion_private_key", "bastion_certificate", "cacert"},
		cty.Bool:   {"agent", "https", "insecure", "use_ntlm"},
		cty.Number: {"port", "proxy_port", "bastion_port"},
	} {
		for _, name := range names {
			attrs[name] = &configschema.Attribute{Type: ty, Optional: true}
		}
	}
	return &configschema.Block{Attributes: attrs}
}()

// ConnectionType is the type of the connection value that provisioners get.
func ConnectionType() cty.Type { return connectionSchema.ImpliedType() }
