package states

import (
	"encoding/json"
	"maps"

	"tofu/internal/addrs"
)

// ProviderConfig is the last configuration of a provider instance that manages objects, without
// secrets. With it, objects can be destroyed after the configuration of their provider was removed.
// It is immutable once it is in a state. Package lastconfig makes and reads it.
type ProviderConfig struct {
	// Values is a JSON object with the arguments and blocks that are neither null nor secret.
	Values json.RawMessage `json:"values"`
	// Secrets has the name of the variable with the value of each secret, by its JSON pointer in Values.
	Secrets map[string]string `json:"secrets,omitempty"`
}

// ProviderConfig returns the last known configuration of a provider instance, or nil.
func (s *State) ProviderConfig(p addrs.ProviderInstance) *ProviderConfig {
	if s == nil {
		return nil
	}
	return s.providers[p]
}

// SetProviderConfig sets the last known configuration of a provider instance. Nil removes it.
func (s *State) SetProviderConfig(p addrs.ProviderInstance, c *ProviderConfig) {
	if c == nil {
		delete(s.providers, p)
		return
	}
	if s.providers == nil {
		s.providers = make(map[addrs.ProviderInstance]*ProviderConfig)
	}
	s.providers[p] = c
}

// KnownProviderConfigs returns a copy of all known configurations, with those of provider instances that
// manage no objects.
func (s *State) KnownProviderConfigs() map[addrs.ProviderInstance]*ProviderConfig {
	return maps.Clone(s.providers)
}

// ProviderConfigs returns the known configurations of the provider instances that manage objects of the
// state. Those of other provider instances are not stored.
func (s *State) ProviderConfigs() map[addrs.ProviderInstance]*ProviderConfig {
	if s == nil || len(s.providers) == 0 {
		return nil
	}
	used := make(map[addrs.ProviderInstance]*ProviderConfig, len(s.providers))
	for r := range s.Resources() {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for _, inst := range r.Instances {
			p := addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey}
			if c := s.providers[p]; c != nil {
				used[p] = c
			}
		}
	}
	return used
}
