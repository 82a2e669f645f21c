package configs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// moduleBuilder merges the files of a directory into a module.
type moduleBuilder struct {
	*Module
	errs tfdiags.Diagnostics
	warn tfdiags.Sink

	requiredRange *hcl.Range // range of the required_providers block
	// repeated holds the entries for providers that are required under more than one local name.
	repeated []*RequiredProvider
}

// newModule merges the primary files, which must not repeat declarations, and then applies the
// override files in order.
func newModule(dir string, primary, overrides []*file, warn tfdiags.Sink) (*Module, error) {
	mb := &moduleBuilder{warn: warn, Module: &Module{
		Dir:               dir,
		RequiredProviders: map[string]*RequiredProvider{},
		ProviderMetas:     map[string]*ProviderMeta{},
		Providers:         map[addrs.LocalProviderConfig]*Provider{},
		Variables:         map[string]*Variable{},
		Locals:            map[string]*Local{},
		Outputs:           map[string]*Output{},
		Calls:             map[string]*ModuleCall{},
		Resources:         map[addrs.Resource]*Resource{},
		Actions:           map[addrs.Resource]*Resource{},
		Checks:            map[string]*Check{},
		LocalNames:        map[addrs.Provider]string{},
	}}
	all := slices.Concat(primary, overrides)
	// A module written for another version may use unknown blocks. If the version is incompatible,
	// the other errors are therefore left out.
	compatible, err := checkVersions(all, warn)
	if !compatible {
		return mb.Module, err
	}
	// Files were decoded in parallel. From here on, declarations and diagnostics are in the order
	// of the files.
	mb.errs = tfdiags.FromError(err)
	for _, f := range all {
		mb.Files = append(mb.Files, f.name)
		for _, w := range f.warnings {
			warn(w)
		}
		mb.errs.Add(f.errs...)
		mb.dynamic = append(mb.dynamic, f.dynamic...)
	}
	for _, f := range primary {
		mb.addFile(f)
	}
	for _, f := range overrides {
		mb.overrideFile(f)
	}
	if mb.Backend != nil && mb.Cloud != nil {
		mb.errorf(mb.Backend.Range, "Both a backend and a cloud configuration are present",
			"Only one of the two is allowed. The cloud block is at %s.", tfdiags.Place(mb.Cloud.Range))
	}
	mb.checkExperiments(all)
	mb.resolveStore()
	mb.late = mb.hasLate()
	for name, o := range mb.Outputs {
		mb.Outputs[name] = o.typed()
	}
	mb.sorted = slices.SortedFunc(maps.Keys(mb.Resources), addrs.Resource.Compare)
	mb.checkActions()
	mb.resolveProviders()
	// Skip this check after errors: a required_providers entry with errors is missing from
	// RequiredProviders, so providers that use it would look undeclared.
	if len(mb.errs) == 0 {
		mb.checkLocalNames()
	}
	mb.checkImports()
	mb.reqs, mb.arguments = mb.requirements(), mb.argumentSchema()
	return mb.Module, mb.errs.Err()
}

// checkExperiments adds an error for symbols blocks if no file enables the experiment.
func (mb *moduleBuilder) checkExperiments(files []*file) {
	blocks := symbolsBlocks(files)
	if len(blocks) > 0 && !slices.ContainsFunc(files, func(f *file) bool { return f.symbolLibraries }) {
		mb.errorf(blocks[0].DefRange, "Symbol libraries are an experiment", "To use them, add to the module:\n"+
			"language { experiments = [symbol_libraries] }")
	}
}

// resolveStore finds the provider of a state store, which must be in required_providers: commands that
// read no resources start it, too.
func (mb *moduleBuilder) resolveStore() {
	if mb.Backend == nil || mb.Backend.Store == nil {
		return
	}
	store := mb.Backend.Store
	if req := mb.RequiredProviders[store.Name]; req != nil {
		if req.dynamicSource {
			mb.errorf(req.Range, "The provider of the state store must be constant", "Commands that read no configuration "+
				"start it, too. Write the source of the provider %q without references.", store.Name)
		}
		store.Provider = req.Provider
		return
	}
	if len(mb.errs) == 0 {
		mb.errorf(store.Range, "The provider of the state store is not declared", "required_providers has no entry %q. "+
			"Add one with the source of the provider.", store.Name)
	}
}

func (mb *moduleBuilder) errorf(at hcl.Range, summary, detail string, args ...any) {
	mb.errs.Add(tfdiags.Errorf(summary, detail, args...).At(at))
}

func (mb *moduleBuilder) warnf(at hcl.Range, summary, detail string, args ...any) {
	mb.warn(tfdiags.Warningf(summary, detail, args...).At(at))
}

// declare adds a declaration to its map. If the name is already declared, it adds an error instead.
func declare[K comparable, V any](mb *moduleBuilder, into map[K]*V, key K, decl *V, at func(*V) hcl.Range, summary,
	what string) {
	if before, dup := into[key]; dup {
		mb.errorf(at(decl), summary, "%s was already declared at %s. Rename one of them.", tfdiags.Capitalize(what),
			tfdiags.Place(at(before)))
		return
	}
	into[key] = decl
}

func (mb *moduleBuilder) addFile(f *file) {
	mb.addSettings(f)
	for _, v := range f.variables {
		declare(mb, mb.Variables, v.Name, v, (*Variable).at,
			"Duplicate variable declaration", fmt.Sprintf("a variable named %q", v.Name))
	}
	for _, l := range f.locals {
		declare(mb, mb.Locals, l.Name, l, (*Local).at,
			"Duplicate local value definition", fmt.Sprintf("a local value named %q", l.Name))
	}
	for _, o := range f.outputs {
		declare(mb, mb.Outputs, o.Name, o, (*Output).at,
			"Duplicate output definition", fmt.Sprintf("an output named %q", o.Name))
	}
	for _, c := range f.calls {
		declare(mb, mb.Calls, c.Name, c, (*ModuleCall).at, "Duplicate module call",
			fmt.Sprintf("a module call named %q", c.Name))
	}
	for _, r := range f.resources {
		// Data sources in check blocks share the namespace of all data sources, because references
		// to both look the same.
		kind := kindOf(r.Addr.Mode)
		declare(mb, mb.Resources, r.Addr, r, (*Resource).at,
			fmt.Sprintf("Duplicate %s %q configuration", kind.block, r.Addr.Type),
			fmt.Sprintf("a %s %s named %q", r.Addr.Type, kind.noun, r.Addr.Name))
	}
	for _, a := range f.actions {
		declare(mb, mb.Actions, a.Addr, a, (*Resource).at, fmt.Sprintf("Duplicate action %q configuration", a.Addr.Type),
			fmt.Sprintf("a %s action named %q", a.Addr.Type, a.Addr.Name))
	}
	for _, c := range f.checks {
		declare(mb, mb.Checks, c.Name, c, (*Check).at, fmt.Sprintf("Duplicate check %q configuration", c.Name),
			fmt.Sprintf("a check block named %q", c.Name))
	}
	mb.Moved = append(mb.Moved, f.moved...)
	mb.RootMoves = append(mb.RootMoves, f.rootMoves...)
	mb.lateMoves = append(mb.lateMoves, f.lateMoves...)
	mb.Imports = append(mb.Imports, f.imports...)
	mb.Removed = append(mb.Removed, f.removed...)
}

func (v *Variable) at() hcl.Range   { return v.Range }
func (l *Local) at() hcl.Range      { return l.Range }
func (o *Output) at() hcl.Range     { return o.Range }
func (c *ModuleCall) at() hcl.Range { return c.Range }
func (r *Resource) at() hcl.Range   { return r.Range }
func (c *Check) at() hcl.Range      { return c.Range }

// addSettings adds the terraform, provider and provider_meta blocks of a file.
func (mb *moduleBuilder) addSettings(f *file) {
	for _, b := range f.backends {
		if mb.Backend != nil {
			mb.errorf(b.Range, "Duplicate backend configuration",
				"The module already has a backend block at %s. Only one is allowed.", tfdiags.Place(mb.Backend.Range))
			continue
		}
		mb.Backend = b
	}
	for _, c := range f.clouds {
		if mb.Cloud != nil {
			mb.errorf(c.Range, "Duplicate cloud configurations",
				"The module already has a cloud block at %s. Only one is allowed.", tfdiags.Place(mb.Cloud.Range))
			continue
		}
		mb.Cloud = c
	}
	for _, b := range f.encryption {
		if len(mb.Encryption) > 0 {
			mb.errorf(b.DefRange, "Duplicate encryption configuration",
				"The module already has an encryption block at %s. Only one is allowed.",
				tfdiags.Place(mb.Encryption[0].DefRange))
			continue
		}
		mb.Encryption = append(mb.Encryption, b)
	}
	for _, block := range f.requiredProviders {
		if mb.requiredRange != nil {
			mb.errorf(block.rng, "Duplicate required providers configuration",
				"The module already has a required_providers block at %s. Merge the two blocks.",
				tfdiags.Place(*mb.requiredRange))
			continue
		}
		mb.requiredRange = &block.rng
		mb.requireProviders(block)
	}
	for _, m := range f.providerMetas {
		if before, dup := mb.ProviderMetas[m.LocalName]; dup {
			mb.errorf(m.Range, "Duplicate provider_meta block",
				"The provider %q already has a provider_meta block at %s.", m.LocalName, tfdiags.Place(before.Range))
			continue
		}
		mb.ProviderMetas[m.LocalName] = m
	}
	for _, p := range f.providers {
		mb.addProvider(p)
	}
}

func (mb *moduleBuilder) addProvider(p *Provider) {
	before, dup := mb.Providers[p.Local()]
	switch {
	case !dup:
		mb.Providers[p.Local()] = p
	case p.Alias == "":
		mb.errorf(p.Range, "Duplicate provider configuration",
			"Provider %q already has a default (non-aliased) configuration at %s. Additional configurations "+
				"require an \"alias\".", p.Name, tfdiags.Place(before.Range))
	default:
		mb.errorf(p.Range, "Duplicate provider configuration",
			"Provider %q already has a configuration with alias %q at %s. Each configuration of a provider "+
				"must have a unique alias.", p.Name, p.Alias, tfdiags.Place(before.Range))
	}
}

// requireProviders adds the entries of a required_providers block.
func (mb *moduleBuilder) requireProviders(block *requiredProviders) {
	for _, req := range block.entries {
		if name, dup := mb.LocalNames[req.Provider]; dup && name != req.LocalName {
			mb.repeated = append(mb.repeated, req)
		} else {
			mb.LocalNames[req.Provider] = req.LocalName
		}
		mb.RequiredProviders[req.LocalName] = req
	}
}

// checkImports reports import blocks with the same target, and import blocks whose provider
// configuration differs from the resource's.
func (mb *moduleBuilder) checkImports() {
	seen := map[addrs.AbsInstance][]*Import{}
	for _, im := range mb.Imports {
		r := mb.Resources[im.ToResource.Resource]
		if r != nil && im.Provider != nil && im.ToResource.Module.IsRoot() &&
			(r.Provider == nil || r.Provider.Local() != im.Provider.Local()) {
			mb.errorf(im.providerRange, "Invalid import provider argument",
				"The resource block of %s at %s has a different provider argument. Objects are imported with "+
					"the provider configuration of the resource. Use the same argument in both blocks, or "+
					"remove it here.",
				r.Addr, tfdiags.Place(r.Range))
		}
		if im.static == nil {
			continue
		}
		for _, before := range seen[*im.static] {
			mb.errorf(im.Range, fmt.Sprintf("Duplicate import configuration for %q", im.static),
				"The import block at %[2]s also imports %[1]q. Remove one of them.",
				im.static, tfdiags.Place(before.Range))
		}
		seen[*im.static] = append(seen[*im.static], im)
	}
}

func kindOf(mode addrs.ResourceMode) *resourceKind {
	switch mode {
	case addrs.Data:
		return dataKind
	case addrs.Ephemeral:
		return ephemeralKind
	case addrs.Action:
		return actionKind
	}
	return managedKind
}
