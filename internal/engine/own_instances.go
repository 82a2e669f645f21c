package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// A block may refer to other instances of its own resource, as in a[count.index - 1]. Its instances
// are then planned in the order of these references. The order depends only on the indexes in the
// references, which are evaluated before the first instance is planned.

// validateOrder returns an error if references between instances of the same resource form a cycle.
// It ignores keys that depend on variables or resources, and constant keys: as in OpenTofu, a block
// that refers to itself in this way is valid, and can't be planned.
func (v resourceVisit) validateOrder(ctx context.Context, in *moduleInstance) error {
	if v.r.OwnInstances() == nil {
		return nil
	}
	keys, err := v.w.eval.newContext(ctx, in, repetition{}).expand(v.r.Exprs.Repetition, v.r.Addr.String())
	if err != nil || keys.mode == repeatUnknown {
		return nil // reported already, or not known yet
	}
	was, x := in.resources[v.r.Slot], newExpansion(*keys)
	defer func() { in.resources[v.r.Slot] = was }()
	in.resources[v.r.Slot], x.reads = x, make([][]plans.InstanceRead, len(x.keys))
	return v.orderInstances(ctx, in, x)
}

func constantKey(ref lang.InstanceRef) bool { return ref.Index == nil }

// orderInstances finds, for each instance, the other instances of the resource that it reads. It
// returns an error if a key is not known, or if the references form a cycle. While validating, it
// ignores references whose keys or conditions are not known.
func (v resourceVisit) orderInstances(ctx context.Context, in *moduleInstance, x *expansion) error {
	own := v.r.OwnInstances()
	if own == nil {
		return nil
	}
	if err := v.r.OwnKeyErrors(); err != nil {
		return err
	}
	var errs tfdiags.Diagnostics
	reported := map[hcl.Range]bool{} // report a wrong reference once, not for every instance
	report := func(d tfdiags.Diagnostic) {
		if d.Subject == nil || !reported[*d.Subject] {
			errs = errs.Append(d)
		}
		if d.Subject != nil {
			reported[*d.Subject] = true
		}
	}
	order := &dag.Graph{}
	for range x.keys {
		order.Add()
	}
	e := v.eval()
	for i := range x.keys {
		c := e.newContext(ctx, in, x.repetition(i))
		refs := own
		if v.w.op.Phase.InputsUnknown() {
			refs = slices.DeleteFunc(c.keys().certain(own, v.r.Keys()), constantKey)
		}
		keys, err := c.keys().keysRead(reads.KeyedRead{Of: v.r, Refs: refs})
		if err != nil {
			for _, d := range tfdiags.FromError(v.keyError(in, x.keys[i], err)) {
				report(d)
			}
			continue
		}
		for _, key := range keys {
			at, exists := x.has(key)
			if !exists {
				continue
			}
			x.reads[i] = append(x.reads[i], plans.InstanceRead{Resource: v.r.Addr.Resource, Key: key})
			if at == i {
				report(v.ownCycle(ctx, in, x, []dag.ID{dag.ID(i)}))
			} else {
				order.Connect(dag.ID(i), dag.ID(at))
			}
		}
		if len(x.reads[i]) == 0 {
			x.reads[i] = []plans.InstanceRead{{Resource: v.r.Addr.Resource, Key: addrs.NoKey}}
		}
	}
	if len(errs) > 0 {
		return errs.Err()
	}
	var ok bool
	if x.order, ok = order.Order(); ok {
		return nil
	}
	for _, cycle := range order.Cycles() {
		errs = errs.Append(v.ownCycle(ctx, in, x, cycle))
	}
	return errs.Err()
}

// keyError returns the error for a key that can't be used to order the instances.
func (v resourceVisit) keyError(in *moduleInstance, key addrs.InstanceKey, err error) error {
	var problem *keyProblem
	if !errors.As(err, &problem) {
		return err
	}
	return tfdiags.Errorf("Unusable instance key",
		"%s refers to an instance of its own resource, but %s. The keys of such references decide the order of the "+
			"instances, so they must be known while planning, and neither sensitive nor ephemeral.",
		v.r.Addr.Resource.InInstance(in.addr).Instance(key), problem.reason).At(problem.ref.Range)
}

// ownCycle returns the error for instances whose references form a cycle, or for one that
// refers to itself.
func (v resourceVisit) ownCycle(
	ctx context.Context, in *moduleInstance, x *expansion, cycle []dag.ID,
) tfdiags.Diagnostic {
	abs := v.r.Addr.Resource.InInstance(in.addr)
	var text strings.Builder
	var names []string
	at := v.r.Config.Range
	for n, id := range cycle {
		from, to := x.keys[id], x.keys[cycle[(n+1)%len(cycle)]]
		c := v.eval().newContext(ctx, in, x.repetition(int(id)))
		for _, ref := range v.r.OwnInstances() {
			if keys, err := c.keys().keysOf(ref, v.r.Keys()); err == nil && slices.Contains(keys, to) {
				at = ref.Range
				break
			}
		}
		names = append(names, abs.Instance(from).String())
		fmt.Fprintf(&text, "\n  - %s refers to %s at %s", abs.Instance(from), abs.Instance(to), tfdiags.Place(at))
	}
	if len(cycle) == 1 {
		return reads.OwnInstance(names[0], at)
	}
	return tfdiags.Errorf("Cycle: "+strings.Join(names, ", "),
		"These instances refer to each other, so none of them can come first:%s", text.String()).At(at)
}
