package session

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/states"
)

// States that Terraform wrote name the providers of its default registry. The same releases are in the default registry of this
// program, and the configuration means those, so what works with providers takes the one for the other. Commands that only look at
// the state, or move things about in it, leave the names alone.

// noTranslation is the environment variable that, as "0", leaves all names as they are.
const noTranslation = "OPENTOFU_STATEFILE_PROVIDER_ADDRESS_TRANSLATION"

// adopted gives the state with the providers that a configuration means. Those that it names with Terraform's host stay.
func (s *Session) Adopt(st *states.State, cfg *configs.Config) *states.State {
	return s.translated(st, func() func(addrs.Provider) bool {
		named := cfg.ProviderRequirements()
		return func(p addrs.Provider) bool { return named[p] != nil }
	})
}

// shown is the same where there is no configuration to ask: what is locked by that name stays.
func (s *Session) ForDisplay(st *states.State) *states.State {
	return s.translated(st, func() func(addrs.Provider) bool {
		locks, diags := depsfile.Load(depsfile.FileName)
		return func(p addrs.Provider) bool {
			if diags.HasErrors() {
				return false
			}
			_, locked := locks.Provider(p)
			return locked
		}
	})
}

// translated makes the function that tells which names stay only when it is needed.
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

// withProviders gives a copy of a state in which resources belong to the providers that change gives for theirs, and the addresses of
// those for which it gave another one. It is the state itself when there are none.
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
