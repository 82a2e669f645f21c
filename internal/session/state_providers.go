package session

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Terraform writes states that name the providers of its default registry. The default registry
// of this program has the same releases, and configurations refer to these. So operations with
// providers replace one registry host by the other in the state. Commands that only show the
// state or rename addresses leave provider names unchanged.

// noTranslation is the environment variable whose value "0" disables the replacement.
const noTranslation = "OPENTOFU_STATEFILE_PROVIDER_ADDRESS_TRANSLATION"

// Adopt returns the state with its providers replaced by the ones that the configuration uses.
// It keeps providers that the configuration names with Terraform's registry host.
func Adopt(st *states.State, cfg *configs.Config, getenv func(string) string) *states.State {
	return translated(st, getenv, func() func(addrs.Provider) bool {
		named := cfg.ProviderRequirements()
		return func(p addrs.Provider) bool { return named[p] != nil }
	})
}

// ForDisplay is like Adopt, but for commands without a configuration. It keeps providers whose
// stored name is in the lock file at the path lockFile.
func ForDisplay(st *states.State, lockFile string, getenv func(string) string) *states.State {
	return translated(st, getenv, func() func(addrs.Provider) bool {
		// Ignore warnings, because init reports them.
		locks, err := depsfile.Load(lockFile, tfdiags.Drop)
		return func(p addrs.Provider) bool {
			if err != nil {
				return false
			}
			_, locked := locks.Provider(p)
			return locked
		}
	})
}

// translated replaces the providers in a state, unless the environment disables that. The function
// that stays returns reports whether a provider is kept; stays is called only if it is needed.
func translated(
	st *states.State, getenv func(string) string, stays func() func(addrs.Provider) bool,
) *states.State {
	if getenv(noTranslation) == "0" {
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

// WithProviders returns a copy of a state in which the provider of each resource is replaced by
// the result of change. It also returns the addresses of changed resources. If nothing changes,
// it returns the state itself.
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
