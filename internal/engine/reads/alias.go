package reads

import (
	"iter"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// Values that are whole resources
//
// Modules often receive a whole resource, as in subnets = aws_subnet.this, and read single
// instances of it by key, as in var.subnets[each.key].id. Such a value is an alias of the resource:
// it has the resource's keys, and each element depends only on the instance with its key. A reader
// that only indexes an alias waits for these instances, not for the value, and evaluates the alias
// again with only these instances. Readers of an alias of an alias, and blocks with an alias as
// their for_each, do the same. Lists such as ids = aws_subnet.this[*].id are aliases too.
//
// The reader can be in another module than the resource. All calls between them have a single
// instance, except for those that contain the reader. So the module instance of the reader
// determines the module instance of the resource; see InstanceNear.

// Alias describes a value that is an alias of the resource Of. The value refers to nothing else.
type Alias struct {
	Of   *Resource
	Next *Value // the alias to which the value refers; nil if it refers to the resource itself
	List bool   // the value is a new list with an element for each instance, as in TYPE.NAME[*].id
}

// setAliases finds the values that are aliases of resources and module calls. It finds none of
// resources in operations that read no aliases by key. In a partial run, only target selection uses
// aliases, because values have only the instances that exist at the end of the run.
func (run Run) setAliases(values []*Value) {
	for _, v := range values {
		v.callAlias = v.findCallAlias(maxAliases)
	}
	if !run.Phase.Waits() {
		return
	}
	done := make(map[*Value]bool, len(values))
	for _, v := range values {
		if v.findAlias(done) == nil || run.Partial {
			continue
		}
		m := v.Module
		if v.Kind == Output {
			m = m.Parent
		}
		if m.aliases == nil {
			m.aliases = map[addrs.Resource]*Value{}
		}
		m.aliases[v.aliasName()] = v
	}
}

// findAlias sets v.Alias and returns it. The result is nil if v isn't an alias. It visits each
// value once, so a value that refers to itself isn't an alias.
func (v *Value) findAlias(done map[*Value]bool) *Alias {
	if done[v] {
		return v.Alias
	}
	done[v] = true
	ref, list := v.aliased()
	if ref == nil || !v.keepsElements() {
		return nil
	}
	m := v.EvaluatedBy()
	if of := m.ResourceOf(ref.Subject); of != nil {
		if of.repeatsPlainly() {
			v.Alias = &Alias{Of: of, List: list}
		}
	} else if next := m.valueOf(ref.Subject); next != nil {
		if to := next.findAlias(done); to != nil {
			v.Alias = &Alias{Of: to.Of, Next: next, List: list}
		}
	}
	if v.Alias != nil && !v.Alias.fits(v) {
		v.Alias = nil
	}
	return v.Alias
}

// aliased returns the reference to the whole object that a value may be an alias of, or nil. list is
// true if the value makes a list from the elements of that object.
func (v *Value) aliased() (ref *addrs.Reference, list bool) {
	if v.Expr == nil || len(v.Expr.Refs.Objects) != 1 || len(v.Expr.Refs.Problems) > 0 {
		return nil, false
	}
	of := v.Expr.Expression
	if len(v.Expr.Refs.Functions) == 0 {
		switch e := of.(type) {
		case *hclsyntax.ForExpr:
			list = keepsOrder(e)
			if list || keepsKeys(e) {
				of = e.CollExpr
			}
		case *hclsyntax.SplatExpr:
			list = !callsFunction(e.Each)
			if list {
				of = e.Source
			}
		}
	}
	if _, plain := of.(*hclsyntax.ScopeTraversalExpr); !plain || len(v.Expr.Refs.Objects[0].Remaining) > 0 {
		return nil, false
	}
	return v.Expr.Refs.Objects[0], list
}

// keepsOrder reports whether a "for" expression has the form [for VALUE in LIST : …] and calls no
// functions; see keepsKeys. An element then doesn't depend on its position either.
func keepsOrder(e *hclsyntax.ForExpr) bool {
	return e.KeyExpr == nil && e.KeyVar == "" && e.CondExpr == nil && !callsFunction(e.ValExpr)
}

// keepsKeys reports whether a "for" expression has the form { for KEY, VALUE in OBJECT : KEY => … }
// and calls no functions, because some functions return a different result on each call. It returns
// false for a condition, because one unknown condition makes the whole value unknown.
func keepsKeys(e *hclsyntax.ForExpr) bool {
	if e.KeyExpr == nil || e.KeyVar == "" || e.Group || e.CondExpr != nil {
		return false
	}
	key, plain := e.KeyExpr.(*hclsyntax.ScopeTraversalExpr)
	if !plain || len(key.Traversal) != 1 || key.Traversal.RootName() != e.KeyVar {
		return false
	}
	return !callsFunction(e.ValExpr)
}

// callsFunction reports whether an expression contains a call of a function.
func callsFunction(e hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(e, func(node hclsyntax.Node) hcl.Diagnostics {
		_, call := node.(*hclsyntax.FunctionCallExpr)
		found = found || call
		return nil
	})
	return found
}

// keepsElements reports whether each element of a value depends only on the element of the value's
// expression with the same key. It returns false if something applies to the value as a whole, such
// as a condition, depends_on or sensitive = true. It also returns false for variables and outputs
// of the root module and for outputs of calls with several instances.
func (v *Value) keepsElements() bool {
	if len(v.Conditions) > 0 || v.Module.Parent == nil && v.Kind != Local {
		return false
	}
	switch v.Kind {
	case Variable:
		d := v.Variable
		return !d.Sensitive.Value && !d.Ephemeral.Value && d.Deprecated == ""
	case Output:
		o := v.Output
		return !o.Sensitive.Value && !o.Ephemeral.Value && o.Deprecated == "" && len(o.DependsOn) == 0 &&
			v.Module.Repetition == Repetition{}
	}
	return true
}

// fits reports whether the elements of an alias can be evaluated one by one. A conversion to a list or
// a map converts each element separately if the type of the elements is known.
func (a *Alias) fits(v *Value) bool {
	_, each := v.Expr.Expression.(*hclsyntax.ForExpr)
	forEach := a.Of.Exprs.Repetition.ForEach != nil
	if a.List && forEach || !a.List && each && !forEach {
		return false
	}
	if v.Kind != Variable || v.Variable.Type.Type == cty.DynamicPseudoType {
		return true
	}
	ty := v.Variable.Type.Type
	return (forEach && ty.IsMapType() || !forEach && ty.IsListType()) && !ty.HasDynamicTypes()
}

// repeatsPlainly reports whether single instances of a resource can be read through an alias.
func (r *Resource) repeatsPlainly() bool {
	return r.repeats() && r.Addr.Resource.Mode != addrs.Ephemeral && r.Schema != nil
}

// valueOf returns the local, variable or output of a call without a key that a reference names, or
// nil.
func (m *Module) valueOf(subject addrs.Referenceable) *Value {
	if n := m.Named(subject); n.Key == addrs.NoKey {
		return n.Value
	}
	return nil
}

// AliasOf returns the alias that a reference names, or nil.
func (m *Module) AliasOf(subject addrs.Referenceable) *Value {
	if len(m.aliases) == 0 {
		return nil
	}
	if v := m.valueOf(subject); v != nil && v.Alias != nil {
		return v
	}
	return nil
}

// ReadNamed returns the resource or alias that a reader in the module reads by the given name; see
// plans.InstanceRead. It returns false if neither exists.
func (m *Module) ReadNamed(name addrs.Resource) (KeyedRead, bool) {
	if of := m.Resources[name]; of != nil {
		return KeyedRead{Of: of}, true
	}
	if v := m.aliases[name]; v != nil {
		return KeyedRead{Of: v.Alias.Of, Via: v}, true
	}
	return KeyedRead{}, false
}

// Name returns the name of what is read, as the reader's module refers to it: the address of a
// resource, or a name of the same form for an alias, such as var.NAME.
func (r KeyedRead) Name() addrs.Resource {
	if r.Via == nil {
		return r.Of.Addr.Resource
	}
	return r.Via.aliasName()
}

// aliasName returns the name of an alias in the form of an address: local.NAME, var.NAME or, for an
// output, module.CALL.NAME.
func (v *Value) aliasName() addrs.Resource {
	typ := map[valueKind]string{Variable: "var", Local: "local"}[v.Kind]
	if v.Kind == Output {
		typ = "module." + v.Module.Call.Name
	}
	return addrs.Resource{Type: typ, Name: v.Name}
}

// ReadName returns the name of the alias or resource that the alias refers to, as it appears in a
// reader's list of reads.
func (a *Alias) ReadName() addrs.Resource { return KeyedRead{Of: a.Of, Via: a.Next}.Name() }

// WholeNode returns the node of the resource, alias or module call, which a reader of more than single
// instances waits for.
func (r KeyedRead) WholeNode() *Node {
	switch {
	case r.Via != nil:
		return r.Via.Node
	case r.Call != nil:
		return r.Call.End
	}
	return r.Of.Node
}

// Expansions returns the nodes that decide the instances of the module calls through whose outputs
// the alias refers to the resource, and of the call that a local is. A reader that doesn't wait for the
// value itself must wait for these.
func (r KeyedRead) Expansions() []*Node {
	var out []*Node
	if r.Call != nil && r.Via != nil {
		return []*Node{r.Call.Expand}
	}
	for v := r.Via; v != nil; v = v.Alias.Next {
		if v.Kind == Output {
			out = append(out, v.Module.Expand)
		}
	}
	return out
}

// In returns the module instance in which the resource is read. The reader is in the module m; in
// is its module instance.
func (r KeyedRead) In(m *Module, in addrs.ModuleInstance) addrs.ModuleInstance {
	if r.Via == nil {
		return in
	}
	return m.InstanceNear(r.Of.Module, in)
}

// InstanceNear returns the module instance that a reader in m refers to when it reads something in
// the module other. in is the reader's module instance. InstanceNear goes up to the module that
// contains both, and then down through calls that have a single instance each.
func (m *Module) InstanceNear(other *Module, in addrs.ModuleInstance) addrs.ModuleInstance {
	for !m.Path.Contains(other.Path) {
		m = m.Parent
		in, _ = in.Parent()
	}
	return other.in(in, m)
}

// NamedBy reports whether refs, which are references in the module m, include the object or the value by
// which it is read.
func (r KeyedRead) NamedBy(m *Module, refs *lang.Refs) bool {
	switch call := r.Call; {
	case call == nil && r.Via == nil:
		return r.Of.namedBy(refs)
	case call == nil && r.Via.Kind == Output && refs.NameCall(r.Via.Module.Call.Name):
		return true
	case call != nil && refs.NameCall(call.Call.Name):
		return true
	}
	return r.Via != nil && m.names(refs, r.Via)
}

// names reports whether references in the module include a value.
func (m *Module) names(refs *lang.Refs, v *Value) bool {
	return slices.ContainsFunc(refs.Objects, func(ref *addrs.Reference) bool { return m.valueOf(ref.Subject) == v })
}

// same reports whether both are reads of the same object through the same value, or both without one.
func (r KeyedRead) same(other KeyedRead) bool {
	return r.Of == other.Of && r.Call == other.Call && r.Via == other.Via
}

// addRead adds a read to a list that has one entry for each resource and alias.
func addRead(list []KeyedRead, read KeyedRead) []KeyedRead {
	at := slices.IndexFunc(list, read.same)
	if at < 0 {
		return append(list, read)
	}
	list[at].Refs = append(slices.Clip(list[at].Refs), read.Refs...)
	return list
}

// findAliasReads returns the aliases that a value reads only by key, or nil if aliases are not read by key in this
// run.
func (v *Value) findAliasReads() []KeyedRead {
	m := v.EvaluatedBy()
	if m == nil || len(m.aliases) == 0 || v.Expr == nil {
		return nil
	}
	return slices.DeleteFunc(v.readsVia(), KeyedRead.isCall)
}

// readsVia returns what a block reads only by key through values that are whole resources or module calls.
func (r *Resource) readsVia() []KeyedRead {
	each := r.FindEach()
	if each == nil || each.Via == nil {
		return r.Module.readsVia(nil, r.Exprs.Units())
	}
	return r.Module.readsVia(each.Reads, func(yield func(*lang.Refs) bool) {
		for unit := range r.Exprs.Units() {
			if unit != &r.Exprs.Repetition.ForEach.Refs && !yield(unit) {
				return
			}
		}
	})
}

// readsVia returns what a value reads only by key through values that are whole resources or module calls.
func (v *Value) readsVia() []KeyedRead {
	m := v.EvaluatedBy()
	if m == nil || v.Expr == nil {
		return nil
	}
	list := m.readsVia(nil, slices.Values([]*lang.Refs{&v.Expr.Refs}))
	return slices.DeleteFunc(list, func(read KeyedRead) bool {
		return v.conditionsName(func(refs *lang.Refs) bool { return read.NamedBy(m, refs) })
	})
}

// readsVia adds to list what expressions in a module read only by key through values that are whole
// resources or module calls. It removes the reads through values that they read as a whole.
func (m *Module) readsVia(list []KeyedRead, units iter.Seq[*lang.Refs]) []KeyedRead {
	whole := map[*Value]bool{}
	for unit := range units {
		seen := map[*Value]bool{}
		for _, ref := range unit.Objects {
			v := m.valueOf(ref.Subject)
			if v == nil || v.Alias == nil && v.callAlias == nil || seen[v] {
				continue
			}
			seen[v] = true
			refs, only := unit.ValueInstances(ref.Subject)
			whole[v] = whole[v] || !only
			if v.Alias != nil {
				list = addRead(list, KeyedRead{Of: v.Alias.Of, Via: v, Refs: refs})
			} else {
				list = append(list, v.elementOutputs(refs, pathsAfter(ref.Subject, unit))...)
			}
		}
	}
	return slices.DeleteFunc(list, func(read KeyedRead) bool { return whole[read.Via] })
}

// isCall reports whether outputs of a module call are read.
func (r KeyedRead) isCall() bool { return r.Call != nil }

// EvaluatedBy returns the module in which the expression of a value is evaluated. It is nil for
// variables of the root module.
func (v *Value) EvaluatedBy() *Module {
	if v.Kind == Variable {
		return v.Module.Parent
	}
	return v.Module
}

// WholeBlock returns the address of the repeated block or module call of which a local value is an
// alias, or "". It follows at most the given number of locals.
func (v *Value) WholeBlock(most int) string {
	ref, _ := v.aliased()
	if ref == nil || most == 0 {
		return ""
	}
	switch of := v.Module.Named(ref.Subject); {
	case of.Value != nil && of.Value.Kind == Local:
		return of.Value.WholeBlock(most - 1)
	case of.Resource != nil && of.Resource.Config != nil && of.Resource.Exprs.Repetition.Repeats():
		return of.Resource.Addr.String()
	case of.IsWholeCall() && of.Call.Repetition.Repeats():
		return of.Call.Path.String()
	}
	return ""
}
