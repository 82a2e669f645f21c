package statefile

import (
	"encoding/json"
	"fmt"
	"maps"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// providerConfigs is the name of the member with the last configurations of providers, by address. Other
// programs ignore it, and drop it when they write the file.
const providerConfigs = "provider_configs"

// writeProviders writes the last configurations of the providers that manage objects.
func writeProviders(w *writer, state *states.State) error {
	configs := state.ProviderConfigs()
	if len(configs) == 0 {
		return nil
	}
	byAddr := make(map[string]*states.ProviderConfig, len(configs))
	for p, c := range configs {
		byAddr[p.String()] = c
	}
	text, err := json.Marshal(byAddr)
	if err != nil {
		return fmt.Errorf("encoding the configurations of providers: %w", err)
	}
	w.rawField(providerConfigs, text)
	return nil
}

// providers reads the last configurations of providers.
func (r *reader) providers() bool {
	var byAddr map[string]*states.ProviderConfig
	if !r.unmarshal(providerConfigs, &byAddr) {
		return false
	}
	for text, c := range byAddr {
		p, err := addrs.ParseProviderInstanceText(text)
		if err != nil {
			return r.check(fmt.Errorf("%q has the invalid address %q: %w", providerConfigs, text, err))
		}
		r.file.State.SetProviderConfig(p, c)
	}
	return true
}

// SameProviders reports whether two states have the same last configurations of providers.
func SameProviders(a, b *states.State) bool {
	return maps.EqualFunc(a.ProviderConfigs(), b.ProviderConfigs(), SameProvider)
}

// SameProvider reports whether two last configurations of a provider are equal. Either may be nil.
func SameProvider(x, y *states.ProviderConfig) bool {
	if x == nil || y == nil {
		return x == y
	}
	return x == y || maps.Equal(x.Secrets, y.Secrets) && SameJSON(x.Values, y.Values)
}
