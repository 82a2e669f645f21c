package moduletest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// findProviders finds the provider configurations in the test file that replace the module's own in
// this run.
func (e *execution) findProviders() error {
	e.overlay = &configs.Overlay{Outputs: map[addrs.Module]map[string]cty.Value{}}
	e.mocks = newMocks(e.Env.Schema)
	if e.run.Providers.Set {
		return e.mappedProviders()
	}
	var errs tfdiags.Diagnostics
	names := map[addrs.LocalProviderConfig]bool{}
	for local := range e.file.Providers {
		names[local] = true
	}
	for local := range e.file.Mocks {
		names[local] = true
	}
	for _, local := range slices.SortedFunc(maps.Keys(names),
		func(a, b addrs.LocalProviderConfig) int { return strings.Compare(a.String(), b.String()) }) {
		knows := func(r *configs.TestRun) bool { return e.Suite.subjects[r].knows(local.LocalName) }
		switch {
		case e.subject.knows(local.LocalName):
			e.place(local, local)
		case !slices.ContainsFunc(e.file.Runs, knows):
			errs = append(errs, tfdiags.Errorf("Configuration of an unknown provider",
				"%s has a provider or mock_provider block for %q, but no module that it tests uses a provider of that name. "+
					"Remove the block, or add the provider to required_providers of a module.",
				e.file.Name, local.LocalName))
		}
	}
	return errs.Err()
}

// mappedProviders applies the providers argument of the run. Provider configurations of the module
// that it doesn't name are kept.
func (e *execution) mappedProviders() error {
	var errs tfdiags.Diagnostics
	for _, pair := range e.run.Providers.Value {
		from, to := pair.InParent.Local(), pair.InChild.Local()
		p := e.provider(from)
		if p == nil {
			errs = append(errs, tfdiags.Errorf("Missing provider configuration",
				"%s has no provider or mock_provider block %s. The providers argument of a run chooses among "+
					"these blocks of its file.", e.file.Name, from).At(pair.InParent.NameRange))
			continue
		}
		own := e.subject.config.Module.Providers[to]
		if own != nil && (own.ForEach != nil) != (p.ForEach != nil) {
			errs = append(errs, tfdiags.Errorf("Provider instances don't fit",
				"In the run %q, %s replaces %s, but only one of them has for_each, and the module under test "+
					"refers to its instances.", e.run.Name, from, to))
			continue
		}
		e.place(from, to)
	}
	return errs.Err()
}

// provider returns the test file's provider configuration with the given name, mocked or not. It
// returns nil if the test file has no such provider configuration.
func (e *execution) provider(local addrs.LocalProviderConfig) *configs.Provider {
	if m := e.file.Mocks[local]; m != nil {
		return m.Provider
	}
	return e.file.Providers[local]
}

// place replaces a provider configuration of the module. to is the name of this provider
// configuration, and from is the name of the one in the test file that replaces it.
func (e *execution) place(from, to addrs.LocalProviderConfig) {
	placed := *e.provider(from)
	placed.Name, placed.Alias = to.LocalName, to.Alias
	if mock := e.file.Mocks[from]; mock != nil {
		e.mocks.configs[e.address(to)] = mock
	} else {
		placed.Config = e.vars.binding().bind(placed.Config)
	}
	e.overlay.Providers = append(e.overlay.Providers, &placed)
}

func (e *execution) address(local addrs.LocalProviderConfig) addrs.AbsProviderConfig {
	return addrs.AbsProviderConfig{Provider: e.subject.config.Module.ProviderByLocalName(local.LocalName),
		Alias: local.Alias}
}

// findOverrides collects the overrides of the run and the file. The run's overrides take
// precedence.
func (e *execution) findOverrides(warn tfdiags.Sink) error {
	errs := tfdiags.FromError(tfdiags.Join(repeated(e.run.Overrides), repeated(e.file.Overrides)))
	own := map[addrs.Target]bool{}
	for _, o := range e.run.Overrides {
		own[o.Target] = true
		errs = errs.AppendError(e.override(o, warn))
	}
	for _, o := range e.file.Overrides {
		if own[o.Target] {
			warn(tfdiags.Warningf("Override without effect",
				"The run %q has its own override for %s, which is used instead of the one in the file.",
				e.run.Name, o.Target).At(o.TargetRange))
			continue
		}
		if !e.forOtherRun(o) {
			errs = errs.AppendError(e.override(o, warn))
		}
	}
	return errs.Err()
}

// repeated returns an error for each target that occurs more than once in a list of overrides.
func repeated(list []*configs.Override) error {
	var errs tfdiags.Diagnostics
	seen := map[addrs.Target]bool{}
	for _, o := range list {
		if seen[o.Target] {
			errs = append(errs, tfdiags.Errorf("Duplicated override",
				"%s is overridden twice. Remove one of the overrides.", o.Target).At(o.TargetRange))
		}
		seen[o.Target] = true
	}
	return errs.Err()
}

// forOtherRun reports whether an override in the test file is valid only for the modules of other
// runs.
func (e *execution) forOtherRun(o *configs.Override) bool {
	return unsuitable(o, e.subject.config) != "" && slices.ContainsFunc(e.file.Runs, func(r *configs.TestRun) bool {
		return unsuitable(o, e.Suite.subjects[r].config) == ""
	})
}

// override adds an override to the mocks of the run or, if its target is a module, to the overlay.
func (e *execution) override(o *configs.Override, warn tfdiags.Sink) error {
	if problem := unsuitable(o, e.subject.config); problem != "" {
		return tfdiags.Errorf("Invalid override target", "%s", problem).At(o.TargetRange)
	}
	if o.Kind != configs.OverrideModule {
		e.mocks.overrides.Add(o)
		return nil
	}
	path := o.Target.Module.Module()
	declared := e.subject.config.Descendant(path).Module.Outputs
	outputs := map[string]cty.Value{}
	for it := o.Values.ElementIterator(); it.Next(); {
		name, value := it.Element()
		outputs[name.AsString()] = value
		if declared[name.AsString()] == nil {
			warn(tfdiags.Warningf("Override of an unknown output", "%s has no output %q.",
				o.Target, name.AsString()).At(o.TargetRange))
		}
	}
	e.overlay.Outputs[path] = outputs
	return nil
}

// unsuitable returns the reason why a configuration can't have the target of an override, or "" if
// it can.
func unsuitable(o *configs.Override, cfg *configs.Config) string {
	module := cfg.Descendant(o.Target.Module.Module())
	if module == nil {
		return fmt.Sprintf("There is no %s in the module under test.", o.Target.Module)
	}
	if o.Kind == configs.OverrideModule {
		return ""
	}
	wanted, block := addrs.Managed, "override_resource"
	switch o.Kind {
	case configs.OverrideData:
		wanted, block = addrs.Data, "override_data"
	case configs.OverrideEphemeral:
		wanted, block = addrs.Ephemeral, "override_ephemeral"
	}
	r := module.Module.Resources[o.Target.Resource]
	switch {
	case o.Target.Resource.Mode != wanted:
		return fmt.Sprintf("%s can't be the target of an %s block.", o.Target, block)
	case r == nil:
		return fmt.Sprintf("There is no %s in the module under test.", o.Target.Resource.In(o.Target.Module.Module()))
	case o.Target.HasKey && r.Count == nil && r.ForEach == nil:
		return fmt.Sprintf("There is no %s: the resource has neither count nor for_each. Leave out the "+
			"instance key.", o.Target)
	}
	return ""
}
