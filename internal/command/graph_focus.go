package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// checkInstance returns an error if an address has the key of an instance that doesn't exist.
// It looks for the instance in the plan and the state. Without a plan, it also looks in the
// configuration, as far as the keys are known.
func (s *graphSubject) checkInstance(address string) error {
	target, err := addrs.ParseTargetText(address)
	if err != nil || !strings.Contains(address, "[") || target.Resource.Mode == addrs.Ephemeral {
		// The address does not name a single instance, or it names an instance of an ephemeral
		// resource, which plans don't list.
		return nil
	}
	all := addrs.Target{Module: target.Module.Module().UnkeyedInstance(), Resource: target.Resource}
	var names []string
	for _, addr := range s.instances() {
		if target.ContainsInstance(addr) {
			return nil
		}
		if all.ContainsInstance(addr) {
			names = append(names, addr.String())
		}
	}
	if s.plan == nil && s.mayDeclare(target) || s.plan != nil && target.IsModule() && len(names) == 0 {
		return nil
	}
	text := all.String() + " has no instances in the plan and the state."
	if s.plan == nil {
		text = "It is neither in the configuration nor in the state."
	}
	switch len(names) {
	case 0:
	case 1:
		text = "The only instance is " + names[0] + "."
	default:
		slices.Sort(names)
		text = "The instances are " + strings.Join(names[:min(len(names), shownInstances)], ", ")
		if more := len(names) - shownInstances; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		text += "."
	}
	return tfdiags.Errorf("No such instance", "There is no instance %s. %s%s", address, text,
		suggest.DidYouMean(address, names))
}

// shownInstances is the maximum number of instances that an error lists.
const shownInstances = 5

// instances returns the addresses of the instances in the plan and in the state.
func (s *graphSubject) instances() []addrs.AbsInstance {
	var out []addrs.AbsInstance
	seen := map[addrs.AbsInstance]bool{}
	add := func(addr addrs.AbsInstance) {
		if !seen[addr] {
			seen[addr] = true
			out = append(out, addr)
		}
	}
	if s.plan != nil {
		for _, c := range s.plan.Changes.Instances {
			add(c.Addr)
		}
		for _, d := range s.plan.Deferred {
			add(d.Addr)
		}
	}
	for r := range s.prior.Resources() {
		for key := range r.Instances {
			add(r.Addr.Instance(key))
		}
	}
	return out
}

// mayDeclare reports whether the configuration may declare the instances that an address names.
// The values of count and for_each may be unknown without a plan.
func (s *graphSubject) mayDeclare(target addrs.Target) bool {
	cfg := s.cfg
	for _, step := range target.Module.Steps() {
		call := cfg.Module.Calls[step.Name]
		if call == nil || step.Key != addrs.NoKey && !mayHave(cfg, call.Count, call.ForEach, step.Key) {
			return false
		}
		cfg = cfg.Children[step.Name]
		if cfg == nil {
			return false
		}
	}
	if target.IsModule() || !target.HasKey {
		return true
	}
	r := cfg.Module.Resources[target.Resource]
	return r != nil && mayHave(cfg, r.Count, r.ForEach, target.Key)
}

// mayHave reports whether a block with the given count and for_each may have an instance with
// the key.
func mayHave(cfg *configs.Config, count, forEach hcl.Expression, key addrs.InstanceKey) bool {
	// StaticEval names user in its errors, but these are not shown: if an expression can't be
	// evaluated, the block may have any key.
	const user = "an instance key"
	n, isInt := key.IsInt()
	name, isString := key.IsString()
	switch {
	case count != nil && isInt:
		v, err := cfg.StaticEval(count, cty.Number, user)
		if err != nil || !v.IsKnown() || v.IsNull() {
			return true
		}
		return v.AsBigFloat().Cmp(cty.NumberIntVal(int64(n)).AsBigFloat()) > 0
	case forEach != nil && isString:
		v, err := cfg.StaticEval(forEach, cty.DynamicPseudoType, user)
		if err != nil || !v.IsWhollyKnown() || v.IsNull() || !v.CanIterateElements() {
			return true
		}
		for it := v.ElementIterator(); it.Next(); {
			k, elem := it.Element()
			if v.Type().IsSetType() {
				k = elem
			}
			if k.Type() == cty.String && k.AsString() == name {
				return true
			}
		}
	}
	return false
}
