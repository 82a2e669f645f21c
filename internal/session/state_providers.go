package session

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Terraform writes states that name the providers of its default registry. This program's default
// registry has the same releases, and configurations refer to it. Therefore commands that need the
// providers of a state replace the registry host in the state that they have read. Other commands,
// such as "state mv", don't change provider names.

// noTranslation is the environment variable whose value "0" disables the replacement.
const noTranslation = "OPENTOFU_STATEFILE_PROVIDER_ADDRESS_TRANSLATION"

// Adopt returns the state with the host of the default registry in place of the host of Terraform's
// registry. Providers that the configuration names with the host of Terraform's registry are kept.
func Adopt(st *states.State, cfg *configs.Config, getenv func(string) string) *states.State {
	return translated(st, getenv, func() func(addrs.Provider) bool {
		named := cfg.ProviderRequirements()
		return func(p addrs.Provider) bool { return named[p] != nil }
	})
}

// ForDisplay is like Adopt, but for commands without a configuration. It keeps providers whose name
// in the state is in the lock file at the path lockFile.
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

// translated replaces the host of Terraform's registry in a state, unless the environment disables
// this. The function stays returns a function that reports whether a provider is kept. It is called
// only if the state has providers that may be replaced.
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
	}, func(addrs.AbsResource) bool { return true })
	return st
}

// WithProviders returns a copy of a state in which the provider of each chosen resource is replaced
// by the result of change, together with the kept configurations of these providers. It also returns the
// addresses of the changed resources. If nothing changes, it returns the state itself.
func WithProviders(
	st *states.State, change func(addrs.Provider) addrs.Provider, chosen func(addrs.AbsResource) bool,
) (*states.State, []string) {
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
		if !ok || !chosen(r.Addr) {
			continue
		}
		was, now := r.Provider, r.Provider
		now.Provider = p
		for _, inst := range r.Instances {
			to := addrs.ProviderInstance{Config: now, Key: inst.ProviderKey}
			if kept := st.ProviderConfig(addrs.ProviderInstance{Config: was, Key: inst.ProviderKey}); st.ProviderConfig(to) == nil {
				st.SetProviderConfig(to, kept)
			}
		}
		st.EnsureResource(r.Addr, now)
		changed = append(changed, r.Addr.String())
	}
	return st, changed
}
