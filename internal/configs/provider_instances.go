package configs

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
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
	user := fmt.Sprintf("provider.%s.%s.for_each", p.Name, p.Alias)
	v, err := c.static.eval(p.ForEach, cty.DynamicPseudoType, user, at)
	if err != nil {
		return nil, err
	}
	elements, err := lang.ForEach(v)
	switch {
	case err == nil && c.keysVary(p.ForEach, user):
		return nil, tfdiags.Errorf("Invalid for_each argument", "The keys depend on a function that has another value "+
			"each time, such as timestamp, uuid or bcrypt, so the provider would have other instances in each plan and "+
			"apply. Use values that stay the same.").At(at)
	case errors.Is(err, lang.ErrUnknownKeys) && c.static.env.unset:
		return nil, nil
	case errors.Is(err, lang.ErrUnknownKeys):
		return nil, tfdiags.Errorf("Invalid for_each argument",
			"The \"for_each\" value of a provider must be known before planning.").At(at)
	case err != nil:
		return nil, tfdiags.Errorf("Invalid for_each argument", "%s", err).At(at)
	}
	out := make(map[addrs.InstanceKey]cty.Value, len(elements))
	for _, elem := range elements {
		out[addrs.StringKey(elem.Key.AsString())] = elem.Value
	}
	return out, nil
}

// keysVary reports whether the keys of a for_each argument depend on functions that return another
// result for each call.
func (c *Config) keysVary(forEach hcl.Expression, user string) bool {
	v, err := c.static.purely().eval(forEach, cty.DynamicPseudoType, user, forEach.Range())
	if err == nil {
		_, err = lang.ForEach(v)
	}
	return errors.Is(err, lang.ErrUnknownKeys)
}
