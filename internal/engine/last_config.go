package engine

import (
	"context"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/engine/reads"
	"tofu/internal/lastconfig"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// keepConfig adds the configuration of a provider to the state, which stores it as long as the provider
// manages objects. A root module's default configuration without arguments needs no place there.
func (w *walk) keepConfig(p *reads.Provider, key addrs.InstanceKey, config cty.Value) {
	if w.out.state == nil || p.Addr.Provider.IsBuiltin() {
		return
	}
	name := strings.Join([]string{p.Addr.Module.String(), p.Addr.Provider.Type, p.Addr.Alias, key.String()}, " ")
	c, err := lastconfig.Encode(name, providerSchema(p), config, w.op.sources(p))
	if err != nil || c == nil {
		return // the configuration isn't wholly known, so the previous one stays
	}
	if p.Addr.Module.IsRoot() && p.Addr.Alias == "" && lastconfig.Empty(c) {
		c = nil
	}
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	w.out.state.SetProviderConfig(addrs.ProviderInstance{Config: p.Addr, Key: key}, c)
}

func providerSchema(p *reads.Provider) *configschema.Block {
	if p.Schema.Provider == nil {
		return configschema.Empty()
	}
	return p.Schema.Provider
}

// lastOf returns the kept configuration of a provider instance that the configuration no longer has, or
// nil.
func (w *walk) lastOf(p *reads.Provider, key addrs.InstanceKey) *states.ProviderConfig {
	_, declared := p.Instances[key]
	if declared || !p.Gone && p.Instances == nil && key == addrs.NoKey {
		return nil
	}
	return w.op.Prior.ProviderConfig(addrs.ProviderInstance{Config: p.Addr, Key: key})
}

// startLast starts a provider instance that the configuration no longer has, as it was last configured,
// and waits until it is configured. It does nothing for other provider instances, and if the state
// doesn't have that configuration.
func (w *walk) startLast(ctx context.Context, p *reads.Provider, key addrs.InstanceKey) error {
	if w.lastOf(p, key) == nil {
		return nil
	}
	at := addrs.ProviderInstance{Config: p.Addr, Key: key}
	return w.providers.once(at, func() error {
		w.out.warn(tfdiags.Warningf("Last configuration of a provider is used", "The configuration no longer has %s. "+
			"The objects that it manages are read and destroyed with its last configuration, which the state has kept.", at))
		return providerVisit{w, p}.startInstance(ctx, key)
	})
}

// lastConfig returns the configuration that the state has kept, with its secrets.
func (v providerVisit) lastConfig(ctx context.Context, key addrs.InstanceKey, kept *states.ProviderConfig) (cty.Value, error) {
	w, at := v.w, addrs.ProviderInstance{Config: v.p.Addr, Key: key}
	config, err := lastconfig.Decode(kept, providerSchema(v.p), func(argument, variable string) (*string, error) {
		return v.secret(ctx, at, argument, variable)
	})
	if err != nil {
		return cty.NilVal, tfdiags.Join(tfdiags.Errorf("Last configuration of a provider can't be used", "The configuration no "+
			"longer has %s. Its last configuration, which the state has kept, can't be used for the reason below. To use "+
			"another one, restore the provider configuration until its objects are destroyed.", at), err)
	}
	w.op.configured(at, config)
	return config, nil
}

// secret returns an argument that a kept configuration doesn't have. It returns nil if the argument isn't
// known, but is one of the credentials of a provider that could do without its whole configuration, as it
// can in the root module. Without another one, such as a region, it would not find the objects.
func (v providerVisit) secret(ctx context.Context, at addrs.ProviderInstance, argument, variable string) (*string, error) {
	op, name := v.w.op, strings.Split(variable, ".")
	if text, found := lastconfig.Find(op.rootVariable(name[0]), name[1:]); found {
		return &text, nil
	}
	variable = strings.Join(name, "_")
	if ask := op.env.ProviderSecret; ask != nil {
		if text, known := ask(ctx, at, argument, variable); known {
			return &text, nil
		}
	}
	if at.Config.Module.IsRoot() && at.Config.Alias == "" && lastconfig.Credential(providerSchema(v.p), argument) {
		return nil, nil
	}
	return nil, tfdiags.Errorf("Argument of a provider is missing", "The state keeps the last configuration of %s without "+
		"the argument %s, which is secret or came from outside of the configuration. Set the environment variable "+
		"TF_VAR_%s to its value.", at, strings.TrimPrefix(argument, "/"), variable)
}

// sources returns where the arguments of a provider configuration come from. It finds them once for all
// its instances.
func (o *operation) sources(p *reads.Provider) map[string]lastconfig.Source {
	out, _ := o.origins.Do(p, func() (map[string]lastconfig.Source, error) { return o.findSources(p), nil })
	return out
}

func (o *operation) findSources(p *reads.Provider) map[string]lastconfig.Source {
	out := map[string]lastconfig.Source{}
	for name, origin := range p.Origins() {
		written, values := origin.Written, map[string]cty.Value{}
		for _, v := range origin.Variables {
			written = written && o.variables[v.Name].Value == cty.NilVal
			values[v.Name] = o.rootVariable(v.Name)
		}
		out[name] = lastconfig.Source{Written: written, Names: lastconfig.NewNames(values)}
	}
	return out
}

// rootVariable returns the value of a variable of the root module that was given or is its default. It
// returns cty.NilVal if there is neither.
func (o *operation) rootVariable(name string) cty.Value {
	v := o.Config.Module.Variables[name]
	switch given := o.variables[name].Value; {
	case v == nil:
		return cty.NilVal
	case given != cty.NilVal:
		return given
	}
	return v.Default.Value
}
