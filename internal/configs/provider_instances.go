package configs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// providerInstances evaluates for_each of the module's provider configurations.
func (c *Config) providerInstances() error {
	var diags tfdiags.Diagnostics
	c.ProviderInstances = map[addrs.LocalProviderConfig]map[addrs.InstanceKey]cty.Value{}
	for _, local := range slices.SortedFunc(maps.Keys(c.Module.Providers), addrs.LocalProviderConfig.Compare) {
		p := c.Module.Providers[local]
		if p.ForEach == nil || p.Alias == "" {
			continue
		}
		instances, more := c.instancesOf(p)
		c.ProviderInstances[local] = instances
		diags = diags.AppendError(more)
	}
	return diags.Err()
}

func (c *Config) instancesOf(p *Provider) (map[addrs.InstanceKey]cty.Value, error) {
	c.static.env.mu.Lock()
	defer c.static.env.mu.Unlock()
	at := p.ForEach.Range()
	v, err := c.static.eval(p.ForEach, cty.DynamicPseudoType, fmt.Sprintf("provider.%s.%s.for_each", p.Name, p.Alias),
		at)
	if err != nil {
		return nil, err
	}
	out := map[addrs.InstanceKey]cty.Value{}
	if problem := unsuitableForEach(v); problem != "" {
		return nil, tfdiags.Errorf("Invalid for_each argument",
			"This value can't be used for for_each of a provider: %s.", problem).At(at)
	}
	v, _ = v.Unmark()
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		key, _ = key.Unmark()
		if v.Type().IsSetType() {
			key = value
		}
		out[addrs.StringKey(key.AsString())] = value
	}
	return out, nil
}

// Keys become part of addresses in the state, values only of provider configurations. Therefore
// values may be sensitive or ephemeral, but keys may not.

// unsuitableForEach returns why a value can't be for_each of a provider, "" if it can.
func unsuitableForEach(v cty.Value) string {
	ty := v.Type()
	switch {
	case marks.Has(v, marks.Sensitive) || ty.IsSetType() && marks.Contains(v, marks.Sensitive):
		return "it is sensitive, and keys are shown in many places"
	case marks.Has(v, marks.Ephemeral) || ty.IsSetType() && marks.Contains(v, marks.Ephemeral):
		return "it is ephemeral, and keys are stored"
	}
	v, _ = v.Unmark()
	switch {
	case v.IsNull():
		return "it is null"
	case !v.IsKnown():
		return "it is not known before planning"
	case ty.IsMapType() || ty.IsObjectType():
		return ""
	case !ty.IsSetType():
		return "it must be a map or a set of strings, not a " + ty.FriendlyName()
	case v.LengthInt() == 0:
		return ""
	case ty.ElementType() != cty.String:
		return "the elements of a set must be strings, not of type " + ty.ElementType().FriendlyName()
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, e := it.Element(); e.IsNull() || !e.IsKnown() {
			return "the set must not contain null or unknown values"
		}
	}
	return ""
}
