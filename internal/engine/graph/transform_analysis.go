package graph

import (
	"context"
	"runtime"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/parallel"
	"tofu/internal/tfdiags"
)

var analysisTransformer = &Transformer{
	Name:  "Analysis",
	Doc:   "finds the references of all expressions, once for all calls of a module",
	After: []*Transformer{configTransformer, schemaTransformer},
	Run: func(_ context.Context, b *build) error {
		for _, m := range b.g.Modules {
			if m.Call != nil {
				m.Repetition = b.known.repetition(m.Call.Count, m.Call.ForEach, m.Call.Enabled)
				b.g.Repeats = b.g.Repeats || m.Repetition.Repeats()
			}
			for _, c := range m.Checks {
				c.Asserts = b.known.conditions(c.Config.Asserts)
			}
		}
		for _, v := range b.g.Values {
			b.analyzeValue(v)
		}
		b.analyzeBodies()
		for _, r := range b.g.Resources {
			if r.Config != nil {
				r.Exprs = b.known.resources[keyOf(r)]
				if b.op.ImportsOnly(b.g, r) {
					r.Exprs = &reads.ResourceExprs{Repetition: r.Exprs.Repetition, SelfReferences: r.Exprs.SelfReferences}
				}
				b.g.Repeats = b.g.Repeats || r.Exprs.Repetition.Repeats()
				r.Inputs.Problems = r.Inputs.Problems.Append(r.Exprs.Problems...)
			}
		}
		b.findCallers()
		b.g.SetReads(reads.Run{Phase: b.op.Phase, ByInstance: b.op.ByInstance, Partial: b.op.Partial(), Early: b.op.Early != nil})
		for _, p := range b.g.Providers {
			analyzeProvider(p)
		}
		return nil
	},
}

func (k *Known) repetition(count, forEach, enabled hcl.Expression) reads.Repetition {
	return reads.Repetition{Count: k.Expr(count), ForEach: k.Expr(forEach), Enabled: k.Expr(enabled)}
}

func (k *Known) conditions(cfgs []*configs.CheckRule) []reads.Condition {
	out := make([]reads.Condition, len(cfgs))
	for i, c := range cfgs {
		out[i] = reads.Condition{Rule: lang.Rule{Condition: k.Expr(c.Condition), Message: k.Expr(c.ErrorMessage)}, Config: c}
	}
	return out
}

func (b *build) analyzeValue(v *reads.Value) {
	switch v.Kind {
	case reads.Variable:
		v.Conditions = b.known.conditions(v.Variable.Validations)
		if call := v.Module.Call; call != nil {
			v.Expr = b.known.callArg(call, v.Name)
		}
		v.Node.Kept = len(v.Conditions) > 0
	case reads.Local:
		v.Expr = b.known.Expr(v.Module.Config.Module.Locals[v.Name].Expr)
	case reads.Output:
		if v.Output.Ephemeral.Value && v.Module.Parent == nil && !v.Module.Config.Called {
			v.Node.Problems = v.Node.Problems.Append(tfdiags.Errorf(
				"Invalid output configuration",
				"Root modules can't have ephemeral outputs: there is no calling module that could use the value.",
			).At(v.Output.Range))
		}
		v.Expr = b.known.Expr(v.Output.Expr)
		v.Conditions = b.known.conditions(v.Output.Preconditions)
	}
}

// callArg returns the argument of a module call for a variable, or nil if none exists.
func (k *Known) callArg(call *configs.ModuleCall, name string) *lang.Expr {
	args, ok := k.callArgs[call]
	if !ok {
		args = map[string]*lang.Expr{}
		attrs, _ := call.Config.JustAttributes() // errors were reported when the module was loaded
		for name, attr := range attrs {
			args[name] = k.Expr(attr.Expr)
		}
		if k.callArgs == nil {
			k.callArgs = map[*configs.ModuleCall]map[string]*lang.Expr{}
		}
		k.callArgs[call] = args
	}
	return args[name]
}

// bodyKey identifies the body of a resource block under one schema. The schema is nil if it is
// unknown.
type bodyKey struct {
	cfg    *configs.Resource
	schema *configschema.Block
}

func keyOf(r *reads.Resource) bodyKey {
	key := bodyKey{cfg: r.Config}
	if r.Schema != nil {
		key.schema = r.Schema.Block
	}
	return key
}

// analyzeBodies analyzes the bodies of resource blocks that are not known yet. It uses all
// processors, because this is most of the work that is done before planning can begin.
func (b *build) analyzeBodies() {
	if b.known.resources == nil {
		b.known.resources = map[bodyKey]*reads.ResourceExprs{}
	}
	var todo []bodyKey
	var of []*reads.Resource // parallel to todo
	for _, r := range slices.Concat(b.g.Resources, b.actions) {
		if r.Config == nil {
			continue
		}
		if key := keyOf(r); b.known.resources[key] == nil {
			b.known.resources[key] = &reads.ResourceExprs{}
			todo, of = append(todo, key), append(of, r)
		}
	}
	parallel.Each(len(todo), runtime.GOMAXPROCS(0), func(i int) {
		if key := todo[i]; key.schema != nil {
			e := b.known.resources[key]
			e.Body = lang.AnalyzeBody(key.cfg.Config, key.schema, addrs.ModuleScope)
			e.Body.Meta = key.cfg.Meta()
		}
	})
	for _, key := range todo {
		b.analyzeMeta(key.cfg, b.known.resources[key])
	}
	for _, a := range b.actions {
		a.Exprs = b.known.resources[keyOf(a)]
	}
	for i, key := range todo {
		e := b.known.resources[key]
		b.known.setActions(e, of[i])
		for unit := range e.Units() {
			e.ReadsCalls = e.ReadsCalls || unit.ReadsCalls()
		}
	}
}

// analyzeMeta analyzes the meta-arguments of a resource block.
func (b *build) analyzeMeta(c *configs.Resource, e *reads.ResourceExprs) {
	e.Repetition = b.known.repetition(c.Count, c.ForEach, c.Enabled)
	e.SelfReferences = tfdiags.FromError(e.Repetition.CheckSelfReference(c.Addr))
	l := c.Lifecycle
	e.Preconditions, e.Postconditions = b.known.conditions(l.Preconditions), b.known.conditions(l.Postconditions)
	for _, t := range l.ReplaceTriggeredBy {
		e.Triggers = append(e.Triggers, b.known.Expr(t))
	}
	e.PreventDestroy = b.known.Expr(l.PreventDestroy)
	e.DependsOn = lang.DependsOn(c.DependsOn)
	for _, prov := range c.Provisioners {
		e.Provisioners = append(e.Provisioners, b.op.AnalyzeProvisioner(prov, c.Connection, &e.Problems))
	}
}

// AnalyzeProvisioner analyzes a provisioner block. It adds errors to problems. outer is the
// connection block of the resource, or nil.
func (o *Operation) AnalyzeProvisioner(
	prov *configs.Provisioner,
	outer *configs.Connection,
	problems *tfdiags.Diagnostics,
) *reads.Provisioner {
	out := &reads.Provisioner{Config: prov}
	if o.Provisioner == nil {
		return out
	}
	schema, ok, err := o.Provisioner(prov.Type)
	if !ok {
		*problems = problems.Append(tfdiags.Errorf("Unsupported provisioner type",
			"There is no provisioner of type %[1]q. The built-in provisioners are file, local-exec and remote-exec. "+
				"To use any other, install its plugin, terraform-provisioner-%[1]s, in the working directory "+
				"or in ~/.terraform.d/plugins.",
			prov.Type).InText(prov.TypeRange))
		return out
	}
	if err != nil {
		*problems = problems.AppendError(err)
		return out
	}
	out.Body = lang.AnalyzeBody(prov.Config, schema.Block, addrs.ModuleScope)
	out.Body.Meta = prov.Meta()
	if body := prov.ConnectionBody(outer); body != nil {
		out.Connection = lang.AnalyzeBody(body, connectionSchema, addrs.ModuleScope)
	}
	return out
}

// analyzeProvider analyzes the body of a provider configuration according to its schema.
func analyzeProvider(p *reads.Provider) {
	if p.Schema == nil {
		return
	}
	schema := p.Schema.Provider
	if schema == nil {
		schema = configschema.Empty()
	}
	body := hcl.EmptyBody()
	if p.Config != nil {
		body = p.Config.Config
	}
	p.Body = lang.AnalyzeBody(body, schema, addrs.ModuleScope)
	p.Body.Meta = p.Config.Meta()
}

// connectionSchema is the schema of a connection block. No argument is required, since blocks
// inherit arguments from outer ones.
var connectionSchema = func() *configschema.Block {
	attrs := map[string]*configschema.Attribute{}
	for ty, names := range map[cty.Type][]string{
		cty.String: {"type", "user", "password", "host", "timeout", "script_path", "private_key", "certificate",
			"host_key",
			"agent_identity", "target_platform", "proxy_scheme", "proxy_host", "proxy_user_name",
			"proxy_user_password", "bastion_host",
			"bastion_host_key", "bastion_user", "bastion_password", "bastion_private_key",
			"bastion_certificate", "cacert"},
		cty.Bool:   {"agent", "https", "insecure", "use_ntlm"},
		cty.Number: {"port", "proxy_port", "bastion_port"},
	} {
		for _, name := range names {
			attrs[name] = &configschema.Attribute{Type: ty, Optional: true}
		}
	}
	return &configschema.Block{Attributes: attrs}
}()

// ConnectionType returns the type of the connection value that is passed to provisioners.
func ConnectionType() cty.Type { return connectionSchema.ImpliedType() }
