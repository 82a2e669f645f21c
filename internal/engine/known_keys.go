package engine

import (
	"context"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
)

// knownKeys finds the keys with which blocks and values read instances, before a walk as well as during it.
// Before a walk, everything that depends on a resource is unknown (early.go).
type knownKeys struct{ *evaluator }

var _ reads.KnownKeys = knownKeys{}

// keysContext returns the context for evaluations of keys. Before a walk, providers haven't been started, so
// provider functions are not called and return unknown values.
func (e *evaluator) keysContext() context.Context {
	if e.lazyCtx == nil {
		return context.Background()
	}
	return e.lazyCtx
}

// Instances implements reads.KnownKeys.
func (e knownKeys) Instances(r *reads.Resource, at addrs.ModuleInstance) ([]addrs.InstanceKey, bool) {
	x := e.expansionOf(r, e.moduleAt(r.Module, at))
	if x == nil || x.mode == repeatUnknown {
		return nil, false
	}
	return x.keys, true
}

// ModuleInstances implements reads.KnownKeys.
func (e knownKeys) ModuleInstances(m *reads.Module) ([]addrs.ModuleInstance, bool) {
	all, known := e.within(m, addrs.RootInstance)
	out := make([]addrs.ModuleInstance, len(all))
	for i, in := range all {
		out[i] = in.addr
	}
	return out, known
}

// Read implements reads.KnownKeys.
func (e knownKeys) Read(
	r *reads.Resource, at addrs.ModuleInstance, key addrs.InstanceKey, read reads.KeyedRead,
) ([]reads.KeyRead, bool) {
	in := e.moduleAt(r.Module, at)
	x := e.expansionOf(r, in)
	if x == nil || x.mode == repeatUnknown {
		return nil, false
	}
	i, declared := x.has(key)
	if !declared {
		return nil, true
	}
	c := e.newContext(e.keysContext(), in, x.repetition(i))
	if e.early == nil && x.mode == repeatForEach && x.each == nil {
		c.setEachValue(r.Each, key)
	}
	return c.keys().known(read, r.Config.Range)
}

// ReadValue implements reads.KnownKeys.
func (e knownKeys) ReadValue(
	v *reads.Value, at addrs.ModuleInstance, read reads.KeyedRead,
) ([]reads.KeyRead, bool) {
	m := v.Module
	if v.Kind == reads.Variable && !v.PerInstance {
		m, at = v.EvaluatedBy(), v.EvaluatedIn(at)
	}
	in := e.moduleAt(m, at)
	if in == nil {
		return nil, false
	}
	c := e.newContext(e.keysContext(), in, repetition{})
	switch {
	case !v.PerInstance:
	case e.early != nil:
		c = e.newContext(c.ctx, in.parent, in.rep)
	default:
		c = e.argumentContext(c.ctx, v, in)
	}
	return c.keys().known(read, v.Expr.Range())
}

// known returns the keys that references select. It returns false if some of them are not known.
// References without a source range get the range block.
func (c instanceKeys) known(read reads.KeyedRead, block hcl.Range) ([]reads.KeyRead, bool) {
	var out []reads.KeyRead
	var keys keySet
	if c.e.op.Phase.InputsUnknown() && len(c.certain(read.Refs, read.Keys())) < len(read.Refs) {
		return nil, false
	}
	for _, ref := range read.Refs {
		found, err := c.keysOf(ref, read.Keys())
		if err != nil {
			return nil, false
		}
		at := ref.Range
		if at.Filename == "" {
			at = block
		}
		for _, key := range found {
			if key != addrs.NoKey && keys.add(key) {
				out = append(out, reads.KeyRead{Key: key, At: at})
			}
		}
	}
	return out, true
}
