package session

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// States written by Terraform name the providers of its default registry. The same releases are in
// the default registry of this program, and configurations mean those, so operations with providers
// replace the one by the other. Commands that only show the state or rename addresses leave
// provider names unchanged.

// noTranslation is the environment variable whose value "0" disables the replacement.
const noTranslation = "OPENTOFU_STATEFILE_PROVIDER_ADDRESS_TRANSLATION"

// Adopt returns the state with the providers that the configuration means. Providers that the
// configuration names with Terraform's registry host are kept.
func (s *Session) Adopt(st *states.State, cfg *configs.Config) *states.State {
	return s.translated(st, func() func(addrs.Provider) bool {
		named := cfg.ProviderRequirements()
		return func(p addrs.Provider) bool { return named[p] != nil }
	})
}

// ForDisplay is Adopt for commands without a configuration. Providers that are locked under their
// stored name are kept.
func (s *Session) ForDisplay(st *states.State) *states.State {
	return s.translated(st, func() func(addrs.Provider) bool {
		locks, err := depsfile.Load(s.LockFile(), tfdiags.Drop) // init reports them
		return func(p addrs.Provider) bool {
			if err != nil {
				return false
			}
			_, locked := locks.Provider(p)
			return locked
		}
	})
}

// translated replaces providers. It calls stays, which returns the function that reports which
// providers are kept, only if needed.
func (s *Session) translated(st *states.State, stays func() func(addrs.Provider) bool) *states.State {
	if s.Env(noTranslation) == "0" {
		return st
	}
	var keep func(addrs.Provider) bool
	st, _ = WithProviders(st, func(p addrs.Provider) addrs.Provider {
		if p.Host != addrs.LegacyDefaultHost {
			return p
		}
		if keep == nil {
			keep = stays()
		}
		if !keep(p) {
			p.Host = addrs.DefaultHost
		}
		return p
	})
	return st
}

// WithProviders returns a copy of a state with the provider of each resource replaced by the result
// of change, and the addresses of changed resources. It returns the state itself if nothing
// changes.
func WithProviders(st *states.State, change func(addrs.Provider) addrs.Provider) (*states.State, []string) {
	other := make(map[addrs.Provider]addrs.Provider)
	for _, c := range st.Providers() {
		if p := change(c.Provider); p != c.Provider {
			other[c.Provider] = p
		}
	}
	if len(other) == 0 {
		return st, nil
	}
	st = st.Clone()
	var changed []string
	for _, r := range st.Sorted() {
		p, ok := other[r.Provider.Provider]
		if !ok {
			continue
		}
		r.Provider.Provider = p
		changed = append(changed, r.Addr.String())
	}
	return st, changed
}
