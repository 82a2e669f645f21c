package lang

import (
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang/lazyblock"
	"tofu/internal/tfdiags"
)

// Refs holds the references of an expression or a body in source order.
type Refs struct {
	Objects   []*addrs.Reference
	Functions []FunctionRef
	Problems  tfdiags.Diagnostics // errors in references

	longForm bool // whether a reference has the form resource.TYPE.NAME

	// References that select instances by a computed index, or that are used only under a condition.
	selected map[*addrs.Reference]InstanceRef
	// References to values that are followed by a computed index; see ValueInstances.
	indexed map[*addrs.Reference]InstanceRef
	// Names that follow references after a computed index or a splat; see Rest.
	names map[*addrs.Reference]string
	// References to the resources that are referenced only by instance; nil if there are none.
	instances map[addrs.Resource]Instances
	// References to the module calls that are referenced only by instance; nil if there are none.
	calls map[string]Instances
}

// ByInstance returns the referenced instances of a resource. It returns false unless all references
// to the resource select an instance.
func (r *Refs) ByInstance(of addrs.Resource) (Instances, bool) {
	found, ok := r.instances[of]
	return found, ok
}

// CallInstances returns the referenced instances of a module call. It returns false unless all
// references to the call select an instance.
func (r *Refs) CallInstances(call string) (Instances, bool) {
	found, ok := r.calls[call]
	return found, ok
}

// ReadsComputed reports whether a reference selects instances by a computed index, or elements of a
// value.
func (r *Refs) ReadsComputed() bool { return len(r.selected)+len(r.indexed) > 0 }

// ReadsCalls reports whether there is a module call that is referenced only by instance.
func (r *Refs) ReadsCalls() bool { return len(r.calls) > 0 }

// InstanceCalls returns the module calls that are referenced only by instance, sorted by name.
func (r *Refs) InstanceCalls() iter.Seq2[string, Instances] {
	return func(yield func(string, Instances) bool) {
		for _, call := range slices.Sorted(maps.Keys(r.calls)) {
			if !yield(call, r.calls[call]) {
				return
			}
		}
	}
}

// FunctionRef is a call of a provider function.
type FunctionRef struct {
	Func  addrs.ProviderFunction
	Range hcl.Range
}

// Add appends other to r.
func (r *Refs) Add(other Refs) {
	r.Objects = append(r.Objects, other.Objects...)
	r.Functions = append(r.Functions, other.Functions...)
	r.Problems = r.Problems.Append(other.Problems...)
	r.longForm = r.longForm || other.longForm
	r.selected, r.indexed = union(r.selected, other.selected), union(r.indexed, other.indexed)
	r.names = union(r.names, other.names)
	r.findInstances()
}

// union returns the entries of two maps. It changes neither of them.
func union[T any](x, y map[*addrs.Reference]T) map[*addrs.Reference]T {
	if len(x) == 0 {
		return y
	}
	if len(y) == 0 {
		return x
	}
	out := maps.Clone(x)
	maps.Copy(out, y)
	return out
}

// Only returns Refs with only the given reference, and the instance or element that it selects.
func (r *Refs) Only(ref *addrs.Reference) Refs {
	out := Refs{Objects: []*addrs.Reference{ref}, longForm: r.longForm, names: r.names}
	if selected, ok := r.selected[ref]; ok {
		out.selected = map[*addrs.Reference]InstanceRef{ref: selected}
	}
	if element, ok := r.indexed[ref]; ok {
		out.indexed = map[*addrs.Reference]InstanceRef{ref: element}
	}
	out.findInstances()
	return out
}

// Whole returns the references in r, other than those to a resource, as references to whole objects, whatever
// instances they select. It also leaves out caller.
func (r *Refs) Whole(without addrs.Resource) *Refs {
	out := &Refs{Functions: r.Functions, longForm: r.longForm}
	for _, ref := range r.Objects {
		if ref.Whole() != addrs.Referenceable(without) && ref.Subject != (addrs.Caller{}) {
			out.Objects = append(out.Objects, ref)
		}
	}
	return out
}

// Name reports whether a reference is to the given object, such as a resource, or to an instance of it.
func (r *Refs) Name(of addrs.Referenceable) bool {
	return slices.ContainsFunc(r.Objects, func(ref *addrs.Reference) bool { return ref.Whole() == of })
}

// NameCall reports whether a reference is to a module call, its instances or its outputs.
func (r *Refs) NameCall(call string) bool {
	return slices.ContainsFunc(r.Objects, func(ref *addrs.Reference) bool {
		of, _, ok := ModuleSubject(ref.Subject)
		return ok && of.Name == call
	})
}

// SelectsInstance reports whether a reference to a resource or a module call selects one of its
// instances.
func (r *Refs) SelectsInstance(ref *addrs.Reference) bool {
	return r.selects(ref) && !r.selected[ref].How.NeedsList()
}

// selects reports whether a reference to a resource or a module call selects instances of it.
func (r *Refs) selects(ref *addrs.Reference) bool {
	switch s := ref.Subject.(type) {
	case addrs.ResourceInstance, addrs.ModuleCallInstance:
		return true
	case addrs.ModuleCallOutput:
		return s.Call.Key != addrs.NoKey
	}
	return r.selected[ref].Index != nil
}

// Selected returns the InstanceRef of a reference to a resource or a module call. It returns false unless
// the reference selects instances, by key or by their position in a list.
func (r *Refs) Selected(ref *addrs.Reference) (InstanceRef, bool) {
	return instanceRef(ref, r.selected), r.selects(ref)
}

// Rest returns the steps that follow the object or the instances of a reference. After a computed index or
// a splat, it has only the first name, if there is one.
func (r *Refs) Rest(ref *addrs.Reference) hcl.Traversal {
	if name := r.names[ref]; name != "" {
		return hcl.Traversal{hcl.TraverseAttr{Name: name}}
	}
	return ref.Remaining
}

// SelectedInstances returns the references that select an instance of a resource, even if other
// references are to the whole resource.
func (r *Refs) SelectedInstances(of addrs.Resource) Instances {
	var out Instances
	for _, ref := range r.Objects {
		if ref.Whole() == addrs.Referenceable(of) && r.SelectsInstance(ref) {
			out = append(out, instanceRef(ref, r.selected))
		}
	}
	return out
}

func instanceRef(ref *addrs.Reference, selected map[*addrs.Reference]InstanceRef) InstanceRef {
	out, ok := selected[ref]
	if !ok {
		out.Range = ref.Range
	}
	switch s := ref.Subject.(type) {
	case addrs.ResourceInstance:
		out.Key = s.Key
	case addrs.ModuleCallInstance:
		out.Key = s.Key
	case addrs.ModuleCallOutput:
		out.Key, out.Output = s.Call.Key, s.Output
	}
	return out
}

// findInstances finds the resources and module calls that are referenced only by instance. Either
// all or none of the references to one of them may need a list, because an expression that mixes
// both needs the list of all instances.
func (r *Refs) findInstances() {
	r.instances, r.calls = nil, nil
	var wholeResources []addrs.Resource
	var wholeCalls []string
	for _, ref := range r.Objects {
		if of, ok := ref.Whole().(addrs.Resource); ok {
			if !r.selects(ref) {
				wholeResources = append(wholeResources, of)
				continue
			}
			if r.instances == nil {
				r.instances = map[addrs.Resource]Instances{}
			}
			r.instances[of] = append(r.instances[of], instanceRef(ref, r.selected))
			continue
		}
		call, _, ok := ModuleSubject(ref.Subject)
		switch {
		case !ok:
			continue
		case !r.selects(ref):
			wholeCalls = append(wholeCalls, call.Name)
			continue
		case r.calls == nil:
			r.calls = map[string]Instances{}
		}
		r.calls[call.Name] = append(r.calls[call.Name], instanceRef(ref, r.selected))
	}
	for _, of := range wholeResources {
		delete(r.instances, of)
	}
	for _, call := range wholeCalls {
		delete(r.calls, call)
	}
	maps.DeleteFunc(r.instances, func(_ addrs.Resource, of Instances) bool { return of.mixed() })
	maps.DeleteFunc(r.calls, func(_ string, of Instances) bool { return of.mixed() })
}

// Expr is an analyzed expression.
type Expr struct {
	hcl.Expression
	Refs Refs
}

// Body is a body that was analyzed with its schema.
type Body struct {
	Body   hcl.Body
	Schema *configschema.Block
	Refs   Refs
	// Meta-arguments that were removed from the body, for spelling suggestions; may be nil.
	Meta *hcl.BodySchema

	prepared *preparedBody // may be nil
}

// preparedBody keeps what Schema.Prepare returns for a body.
type preparedBody struct{ last atomic.Pointer[hcl.Body] }

// prepare returns the body for decoding.
func (b *Body) prepare() hcl.Body {
	if b.prepared == nil {
		return b.Body
	}
	last := b.prepared.last.Load()
	if last == nil {
		body := b.Schema.Prepare(b.Body)
		last = &body
		b.prepared.last.Store(last)
	}
	return *last
}

// Release says that the body will probably not be evaluated again. Its parsed form takes several times
// the memory of its text, and is made again if it is needed.
func (b *Body) Release() {
	if b != nil && b.prepared != nil {
		b.prepared.last.Store(nil)
	}
}

// Analyze finds the references in an expression. It returns nil if expr is nil.
func Analyze(expr hcl.Expression, scope addrs.Scope) *Expr {
	if expr == nil {
		return nil
	}
	var f finder
	f.inExpr(expr)
	return &Expr{Expression: expr, Refs: f.refs(scope)}
}

// AnalyzeBody finds the references in a body with the given schema.
func AnalyzeBody(body hcl.Body, schema *configschema.Block, scope addrs.Scope) *Body {
	if text, ok := body.(*lazyblock.Body); ok && schema.Prepares(text.Arguments()) {
		return &Body{Body: body, Schema: schema, Refs: (&finder{variables: text.Traversals()}).refs(scope),
			prepared: &preparedBody{}}
	}
	out := &Body{Body: body, Schema: schema, prepared: &preparedBody{}}
	var f finder
	if exprs, all := configschema.Expressions(out.prepare()); all {
		for expr := range exprs {
			f.inExpr(expr)
		}
	} else {
		f.callsInBody(body, schema)
		f.variables = schema.Variables(body)
		if node, native := lazyblock.Native(body); native {
			notes := finder{}
			notes.inBody(node)
			f.indexes, f.names, f.around = notes.indexes, notes.names, notes.around
		}
	}
	out.Refs = f.refs(scope)
	return out
}

// InContent returns the start positions of references in the content of dynamic blocks, which are
// evaluated only if blocks are generated.
func (b *Body) InContent() map[hcl.Pos]bool {
	certain := map[hcl.Pos]bool{}
	for _, tr := range b.Schema.CertainVariables(b.Body) {
		certain[tr.SourceRange().Start] = true
	}
	out := map[hcl.Pos]bool{}
	for _, ref := range b.Refs.Objects {
		if start := ref.Range.Start; !certain[start] {
			out[start] = true
		}
	}
	return out
}

// without returns the body without the references to objects for which drop returns true.
func (b *Body) without(drop func(*addrs.Reference) bool) *Body {
	out := *b
	out.Refs.Objects = slices.DeleteFunc(slices.Clone(b.Refs.Objects), drop)
	out.Refs.findInstances()
	return &out
}

// references parses traversals as references. The traversals must not start with local names, such
// as dynamic block iterators.
func references(traversals []hcl.Traversal, scope addrs.Scope) ([]*addrs.Reference, error) {
	if len(traversals) == 0 {
		return nil, nil
	}
	var errs tfdiags.Diagnostics
	out := make([]*addrs.Reference, 0, len(traversals))
	for _, tr := range traversals {
		ref, err := addrs.ParseRef(tr, scope)
		if err != nil {
			errs = errs.AppendError(err)
			continue
		}
		out = append(out, ref)
	}
	return out, errs.Err()
}

// longForm reports whether a resource reference starts with "resource".
func longForm(traversals []hcl.Traversal) bool {
	return slices.ContainsFunc(traversals, func(tr hcl.Traversal) bool { return tr.RootName() == "resource" })
}

// DependsOn parses the references in a depends_on argument. It returns nil if there are none.
func DependsOn(traversals []hcl.Traversal) *Refs {
	if len(traversals) == 0 {
		return nil
	}
	objects, err := references(traversals, addrs.ModuleScope)
	return &Refs{Objects: objects, Problems: tfdiags.FromError(err)}
}
