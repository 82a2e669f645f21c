package unchanged

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/lazyblock"
	"tofu/internal/parallel"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// search computes the sums of all blocks of a graph.
type search struct {
	*Blocks
	g             *graph.Graph
	stored        *states.State
	free          func(*reads.Resource) bool // whether the stored objects of a block are used as they are
	circumstances sum

	own       []result // the inputs of blocks without what they refer to, by Resource.Index
	blocks    []result // by Resource.Index
	values    map[*reads.Value]result
	modules   map[*reads.Module]result
	providers map[*reads.Provider]result
}

// result says what the search has found out about a block, a value, a module call or a provider configuration.
type result struct {
	begun bool
	clear bool // whether there is a sum
	kept  bool // whether the block is left out, and everything that it refers to
	sum   sum
}

// inputs collects the inputs of one block, value, module call or provider configuration.
type inputs struct {
	*hasher
	s *search
	result
}

func (s *search) inputs(kind string) *inputs {
	return &inputs{newHash(kind), s, result{clear: true, kept: true}}
}

// end returns the result of all inputs.
func (in *inputs) end() result {
	if !in.clear {
		return result{begun: true}
	}
	return result{begun: true, clear: true, kept: in.kept, sum: in.hasher.sum()}
}

func (in *inputs) add(r result) {
	in.clear, in.kept = in.clear && r.clear, in.kept && r.kept
	in.Write(r.sum[:])
}

// expr adds what an expression of a module reads.
func (in *inputs) expr(m *reads.Module, e *lang.Expr) {
	if e == nil {
		return
	}
	in.clear = in.clear && pure(e.Expression)
	in.refs(m, &e.Refs)
}

func (in *inputs) refs(m *reads.Module, refs *lang.Refs) {
	if refs == nil {
		return
	}
	if m == nil || len(refs.Problems) > 0 {
		in.clear = false
		return
	}
	for _, ref := range refs.Objects {
		in.subject(m, ref)
	}
}

// subject adds what one reference reads.
func (in *inputs) subject(m *reads.Module, ref *addrs.Reference) {
	if call, _, ok := lang.ModuleSubject(ref.Subject); ok {
		in.call(m.Calls[call.Name])
		return
	}
	switch of := ref.Whole().(type) {
	case addrs.InputVariable:
		in.value(m.Variables[of.Name])
	case addrs.LocalValue:
		in.value(m.Locals[of.Name])
	case addrs.Resource:
		if r := m.Resources[of]; r != nil {
			in.add(in.s.resource(r))
			return
		}
		in.clear = false
	case addrs.CountAttr, addrs.ForEachAttr, addrs.PathAttr, addrs.TerraformAttr:
		// The expressions of count and for_each are inputs, too, and the rest are circumstances.
	default:
		in.clear = false
	}
}

// call adds the outputs of a module call, and what decides its instances.
func (in *inputs) call(m *reads.Module) {
	if m == nil || m.Config == nil {
		in.clear = false
		return
	}
	in.add(in.s.module(m))
	names := make([]string, 0, len(m.Outputs))
	for name := range m.Outputs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		in.value(m.Outputs[name])
	}
}

func (in *inputs) value(v *reads.Value) {
	if v == nil {
		in.clear = false
		return
	}
	in.add(in.s.value(v))
}

// value returns the sum of a variable, local or output. Except for its expression, its text belongs to
// the circumstances.
func (s *search) value(v *reads.Value) result {
	if known := s.values[v]; known.begun {
		return known
	}
	s.values[v] = result{begun: true} // a value that refers to itself has no sum
	in := s.inputs("value")
	from := v.Module
	switch v.Kind {
	case reads.Variable:
		from = v.Module.Parent
		in.clear = !v.Variable.Ephemeral.Value
		if v.Module.Parent == nil {
			in.bytes(s.Variables[v.Name])
		}
	case reads.Output:
		in.clear = !v.Output.Ephemeral.Value && len(v.Conditions) == 0
		in.refs(from, v.DependsOn)
	}
	in.clear = in.clear && v.EachCall == nil && len(v.CallReads) == 0 && len(v.Node.Problems) == 0
	if at, ok := s.rangeOfValue(v); ok {
		in.bytes(s.textAt(at))
	}
	in.expr(from, v.Expr)
	in.add(s.module(v.Module))
	s.values[v] = in.end()
	return s.values[v]
}

// module returns the sum of what decides the instances of a module, and of the calls around it.
func (s *search) module(m *reads.Module) result {
	if known := s.modules[m]; known.begun {
		return known
	}
	s.modules[m] = result{begun: true}
	in := s.inputs("module")
	in.clear = m.Config != nil && len(m.Config.Module.ProviderMetas) == 0 && m.Each == nil
	if m.Parent != nil {
		in.repetition(m.Parent, m.Repetition)
		in.refs(m.Parent, m.DependsOn)
		in.add(s.module(m.Parent))
	}
	s.modules[m] = in.end()
	return s.modules[m]
}

func (in *inputs) repetition(m *reads.Module, r reads.Repetition) {
	in.expr(m, r.Count)
	in.expr(m, r.ForEach)
	in.expr(m, r.Enabled)
}

// provider returns the sum of a provider configuration.
func (s *search) provider(p *reads.Provider) result {
	if known := s.providers[p]; known.begun {
		return known
	}
	s.providers[p] = result{begun: true}
	in := s.inputs("provider " + p.Addr.String())
	switch {
	case p.Addr.Provider.IsBuiltin():
	case s.Steady == nil || !s.Steady(p.Addr.Provider), p.Instances != nil, p.Assumed, p.Body == nil, p.Module == nil:
		in.clear = false
	default:
		in.clear = p.Config == nil || pure(p.Config.Config)
		in.refs(p.Module, &p.Body.Refs)
		in.add(s.module(p.Module))
	}
	s.providers[p] = in.end()
	return s.providers[p]
}

// configuration returns the result of validating a provider configuration by itself.
func (s *search) configuration(p *reads.Provider) result {
	in := s.inputs("configuration")
	in.Write(s.circumstances[:])
	in.add(s.provider(p))
	out := in.end()
	out.kept = out.kept && s.known[out.sum]
	return out
}

// hashOwn hashes the inputs of each block that don't depend on other blocks: above all, its objects.
func (s *search) hashOwn() {
	s.own = make([]result, len(s.g.Resources))
	parallel.Each(len(s.own), runtime.GOMAXPROCS(0), func(i int) {
		if r := s.g.Resources[i]; s.eligible(r) {
			s.own[i] = s.ownInputs(r)
		}
	})
}

func (s *search) ownInputs(r *reads.Resource) result {
	var text []byte
	if at, ok := s.rangeOf(r.Config); ok {
		text = s.textAt(at)
	}
	in := s.inputs("plan")
	if s.stored == nil {
		in = s.inputs("validation")
	}
	in.clear = text != nil && (bytes.IndexByte(text, '(') < 0 || pure(r.Config.Config)) // most blocks call nothing
	in.Write(s.circumstances[:])
	in.text(r.Addr.String())
	in.bytes(text)
	in.lifecycle(r.Config.Lifecycle)
	if in.clear && s.stored != nil {
		in.objects(r)
	}
	return in.end()
}

// resource returns the sum of a block.
func (s *search) resource(r *reads.Resource) result {
	if known := s.blocks[r.Index]; known.begun {
		return known
	}
	s.blocks[r.Index] = result{begun: true}
	own := s.own[r.Index]
	if !own.clear {
		return s.blocks[r.Index]
	}
	in := s.inputs("block")
	in.add(own)
	in.refs(r.Module, &r.Exprs.Body.Refs)
	in.repetition(r.Module, r.Exprs.Repetition)
	in.expr(r.Module, r.Exprs.PreventDestroy)
	in.refs(r.Module, r.Exprs.DependsOn)
	in.add(s.module(r.Module))
	in.add(s.provider(r.Provider))
	out := in.end()
	out.kept = out.kept && s.known[out.sum] && s.free(r)
	s.blocks[r.Index] = out
	return out
}

// lifecycle adds the arguments that may have been evaluated while the configuration was loaded.
func (in *inputs) lifecycle(l *configs.Lifecycle) {
	in.flags(l.CreateBeforeDestroy.Set, l.CreateBeforeDestroy.Value, l.Destroy.Set, l.Destroy.Value, l.IgnoreAll)
	in.number(int64(len(l.IgnoreChanges)))
	for _, path := range l.IgnoreChanges {
		in.number(int64(len(path)))
		for _, step := range path {
			switch step := step.(type) {
			case hcl.TraverseAttr:
				in.text(step.Name)
			case hcl.TraverseIndex:
				in.text(fmt.Sprintf("%#v", step.Key))
			default:
				in.clear = false
			}
		}
	}
}

// eligible reports whether nothing but the inputs that resource adds decides what becomes of a block.
func (s *search) eligible(r *reads.Resource) bool {
	c, e := r.Config, r.Exprs
	switch {
	case r.Addr.Resource.Mode != addrs.Managed, c == nil, e == nil, r.Schema == nil, r.Provider == nil:
		return false
	case e.Body == nil, len(e.Preconditions)+len(e.Postconditions)+len(e.Provisioners) > 0:
		return false
	case len(e.Triggers)+len(e.ActionTriggers) > 0:
		return false
	case c.Connection != nil, c.Lifecycle.DestroyProblem != nil, r.ProviderKey != nil, r.Selected != nil:
		return false
	case r.Inputs != r.Node, len(s.g.Apart(r.Node)) > 0, hasProblems(r.Node, r.Inputs), len(e.SelfReferences) > 0:
		return false
	case len(r.ByKey)+len(r.DeferredRefErrors) > 0:
		return false
	}
	return r.Each == nil && len(s.g.Imports[r]) == 0 && s.g.Removals[r] == nil
}

func hasProblems(nodes ...*reads.Node) bool {
	return slices.ContainsFunc(nodes, func(n *reads.Node) bool { return len(n.Problems) > 0 })
}

// objects adds the objects of a block in the state, and what a plan would store with them.
func (in *inputs) objects(r *reads.Resource) {
	in.flags(r.CreateBeforeDestroy, r.Recorded.CreateBeforeDestroy)
	in.dependencies(r.Recorded.Dependencies)
	prior := slices.SortedFunc(slices.Values(r.Prior), func(a, b *states.Resource) int { return a.Addr.Compare(b.Addr) })
	for _, of := range prior {
		in.text(of.Addr.String())
		in.text(of.Provider.String())
		for _, key := range of.SortedKeys() {
			inst := of.Instances[key]
			if len(inst.Deposed) > 0 {
				in.clear = false
			}
			in.text(key.String())
			in.text(inst.ProviderKey.String())
			if inst.Current != nil {
				in.object(inst.Current)
			}
		}
	}
}

func (in *inputs) object(o *states.Object) {
	if len(o.Flatmap) > 0 {
		in.clear = false
	}
	in.number(int64(o.Status))
	in.number(o.SchemaVersion)
	in.bytes(o.Attrs)
	in.number(int64(len(o.SensitivePaths)))
	for _, path := range o.SensitivePaths {
		in.text(tfdiags.FormatPath(path))
	}
	in.bytes(o.Private)
	in.bytes(o.Identity)
	in.number(o.IdentityVersion)
	in.dependencies(o.Dependencies)
	in.number(int64(len(o.DependencyInstances)))
	for _, addr := range o.DependencyInstances {
		in.text(addr.String())
	}
	in.flags(o.CreateBeforeDestroy, o.SkipDestroy)
}

func (in *inputs) dependencies(d *states.Dependencies) {
	in.number(int64(d.Len()))
	for addr := range d.All() {
		in.text(addr.String())
	}
}

// pure reports whether the expressions of a body, or an expression, call only functions that have
// the same result in every run. It returns false for other syntax than the native one.
func pure(of any) bool {
	if _, plain := of.(*lazyblock.Body); plain {
		return true // such a body has no calls
	}
	node, ok := of.(hclsyntax.Node)
	if !ok {
		return false
	}
	clean := true
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			clean = clean && funcs.Steady(strings.TrimPrefix(call.Name, funcs.Namespace))
		}
		return nil
	})
	return clean
}
