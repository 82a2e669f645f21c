package configs

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/tfdiags"
)

// Declarations are overridden argument by argument and their nested blocks by block type.
// Conditions and dependencies can't be overridden: they stay visible in the module's ordinary
// files.

// overrideFile applies the declarations of one override file to those of earlier files.
func (a *assembly) overrideFile(f *file) {
	a.overrideSettings(f)
	for _, p := range f.providers {
		a.overrideProvider(p)
	}
	for _, v := range f.variables {
		if base := a.Variables[v.Name]; base != nil {
			a.overrideVariable(base, v)
		} else {
			a.noBase(v.Range, "Missing base variable declaration to override", "variable named "+quoted(v.Name))
		}
	}
	for _, l := range f.locals {
		if base := a.Locals[l.Name]; base != nil {
			base.Expr = l.Expr
		} else {
			a.noBase(l.Range, "Missing base local value definition to override", "local value named "+quoted(l.Name))
		}
	}
	for _, o := range f.outputs {
		if base := a.Outputs[o.Name]; base != nil {
			a.overrideOutput(base, o)
		} else {
			a.noBase(o.Range, "Missing base output definition to override", "output named "+quoted(o.Name))
		}
	}
	for _, c := range f.calls {
		if base := a.Calls[c.Name]; base != nil {
			a.overrideCall(base, c)
		} else {
			a.noBase(c.Range, "Missing module call to override", "module call named "+quoted(c.Name))
		}
	}
	for _, r := range f.resources {
		if base := a.Resources[r.Addr]; base != nil {
			a.overrideResource(base, r)
		} else {
			noun := kindOf(r.Addr.Mode).noun
			a.noBase(r.Range, "Missing "+noun+" to override", r.Addr.Type+" "+noun+" named "+quoted(r.Addr.Name))
		}
	}
}

func quoted(s string) string { return `"` + s + `"` }

func (a *assembly) noBase(at hcl.Range, summary, what string) {
	a.errorf(at, summary,
		"There is no %s. An override file can only change objects that an ordinary file of the module "+
			"declares.", what)
}

func (a *assembly) overrideSettings(f *file) {
	// The last block wins over both kinds, so that an override file can switch between a backend
	// and a cloud block.
	for i, b := range f.backends {
		if i > 0 {
			a.errorf(b.Range, "Duplicate backend configuration",
				"This override file already has a backend block at %s. Only one is allowed.",
				tfdiags.Place(f.backends[0].Range))
			continue
		}
		a.Backend, a.Cloud = b, nil
	}
	for i, c := range f.clouds {
		if i > 0 {
			a.errorf(c.Range, "Duplicate cloud configurations",
				"This override file already has a cloud block at %s. Only one is allowed.",
				tfdiags.Place(f.clouds[0].Range))
			continue
		}
		a.Backend, a.Cloud = nil, c
	}
	a.Encryption = append(a.Encryption, f.encryption...)
	for _, block := range f.requiredProviders {
		for _, req := range block.entries {
			if before := a.RequiredProviders[req.LocalName]; before != nil {
				delete(a.LocalNames, before.Provider)
			}
		}
		a.requireProviders(block)
	}
	for _, m := range f.providerMetas {
		a.ProviderMetas[m.LocalName] = m
	}
}

// overrideProvider applies a provider block to the one with the same name. A default configuration
// needs no base, because every provider has one.
func (a *assembly) overrideProvider(p *Provider) {
	base := a.Providers[p.Local()]
	switch {
	case base != nil:
		base.Config = overrideBody(base.Config, p.Config)
		if p.VersionText != "" {
			base.VersionText, base.constraints, base.versionRange = p.VersionText, p.constraints, p.versionRange
		}
		if p.ForEach != nil {
			base.ForEach = p.ForEach
		}
	case p.Alias == "":
		a.Providers[p.Local()] = p
	default:
		a.noBase(p.Range, "Missing base provider configuration for override",
			p.Name+" provider configuration with the alias "+quoted(p.Alias))
	}
}

func (a *assembly) overrideVariable(base, over *Variable) {
	if over.DescriptionSet {
		base.Description, base.DescriptionSet = over.Description, true
	}
	if over.SensitiveSet {
		base.Sensitive, base.SensitiveSet = over.Sensitive, true
	}
	if over.ephemeralSet {
		base.Ephemeral, base.ephemeralSet = over.Ephemeral, true
	}
	if over.nullableSet {
		base.Nullable, base.nullableSet = over.Nullable, true
	}
	if over.Deprecated != "" {
		base.Deprecated = over.Deprecated
	}
	if over.Const != nil {
		base.Const = over.Const
	}
	if over.typeSet {
		base.Type, base.typeSet, base.TypeRange = over.Type, true, over.TypeRange
	}
	if over.Default.Set {
		base.Default, base.defaultExpr = over.Default, over.defaultExpr
	} else if base.defaultExpr != nil && over.typeSet {
		base.Default.Value, _ = base.defaultExpr.Value(nil) // as written, before conversion to the base type
	}
	if base.Default.Set {
		if problem := base.convertDefault(over.Range); problem != nil {
			a.diags = append(a.diags, *problem)
		}
	}
}

func (a *assembly) overrideOutput(base, over *Output) {
	if over.DescriptionSet {
		base.Description, base.DescriptionSet = over.Description, true
	}
	if over.Expr != nil {
		base.Expr = over.Expr
	}
	if over.SensitiveSet {
		base.Sensitive, base.SensitiveSet = over.Sensitive, true
	}
	if over.ephemeralSet {
		base.Ephemeral, base.ephemeralSet = over.Ephemeral, true
	}
	if over.Deprecated != "" {
		base.Deprecated = over.Deprecated
	}
	a.noDependsOn(over.DependsOn)
}

func (a *assembly) overrideCall(base, over *ModuleCall) {
	if over.SourceExpr != nil {
		base.SourceExpr, base.SourceRange = over.SourceExpr, over.SourceRange
	}
	if over.VersionExpr != nil {
		base.VersionExpr = over.VersionExpr
	}
	if over.Count != nil {
		base.Count = over.Count
	}
	if over.ForEach != nil {
		base.ForEach = over.ForEach
	}
	if over.ProvidersSet {
		base.Providers, base.ProvidersSet = over.Providers, true
	}
	base.Config = overrideBody(base.Config, over.Config)
	a.noDependsOn(over.DependsOn)
}

// overrideResource changes the lifecycle arguments that over sets. Like OpenTofu it ignores
// "enabled" and "replace_triggered_by" in override files.
func (a *assembly) overrideResource(base, over *Resource) {
	if over.Count != nil {
		base.Count = over.Count
	}
	if over.ForEach != nil {
		base.ForEach = over.ForEach
	}
	if over.Provider != nil {
		base.Provider = over.Provider
	}
	if over.CreateBeforeDestroySet {
		base.CreateBeforeDestroy, base.CreateBeforeDestroySet = over.CreateBeforeDestroy, true
	}
	if over.PreventDestroy != nil {
		base.PreventDestroy = over.PreventDestroy
	}
	if over.Destroy != nil || over.DestroyProblem != nil {
		base.Destroy, base.DestroyProblem = over.Destroy, over.DestroyProblem
	}
	if len(over.IgnoreChanges) > 0 || over.IgnoreAll {
		base.IgnoreChanges, base.IgnoreAll = over.IgnoreChanges, over.IgnoreAll
	}
	if over.Connection != nil {
		base.Connection = over.Connection
	}
	if len(over.Provisioners) > 0 { // all of them: provisioners have no names to match
		base.Provisioners = over.Provisioners
	}
	base.Config = overrideBody(base.Config, over.Config)
	a.noDependsOn(over.DependsOn)
}

func (a *assembly) noDependsOn(traversals []hcl.Traversal) {
	if len(traversals) > 0 {
		a.errorf(traversals[0].SourceRange(), "Unsupported override", "The depends_on argument can't be overridden.")
	}
}
