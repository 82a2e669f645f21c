package configs

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/tfdiags"
)

// An override file replaces single arguments of a declaration, and all nested blocks of a type
// together. It can't override conditions or dependencies, so those in the module's ordinary files
// always apply.

// overrideFile applies the declarations of one override file to the declarations of earlier files.
func (mb *moduleBuilder) overrideFile(f *file) {
	mb.overrideSettings(f)
	for _, p := range f.providers {
		mb.overrideProvider(p)
	}
	for _, v := range f.variables {
		if base := mb.Variables[v.Name]; base != nil {
			mb.overrideVariable(base, v)
		} else {
			mb.missingBase(v.Range, "Missing base variable declaration to override", "variable named "+quoted(v.Name))
		}
	}
	for _, l := range f.locals {
		if base := mb.Locals[l.Name]; base != nil {
			base.Expr = l.Expr
		} else {
			mb.missingBase(l.Range, "Missing base local value definition to override", "local value named "+
				quoted(l.Name))
		}
	}
	for _, o := range f.outputs {
		if base := mb.Outputs[o.Name]; base != nil {
			mb.overrideOutput(base, o)
		} else {
			mb.missingBase(o.Range, "Missing base output definition to override", "output named "+quoted(o.Name))
		}
	}
	for _, c := range f.calls {
		if base := mb.Calls[c.Name]; base != nil {
			mb.overrideCall(base, c)
		} else {
			mb.missingBase(c.Range, "Missing module call to override", "module call named "+quoted(c.Name))
		}
	}
	for _, r := range slices.Concat(f.resources, f.actions) {
		if base := cmp.Or(mb.Resources[r.Addr], mb.Actions[r.Addr]); base != nil {
			mb.overrideResource(base, r)
		} else {
			noun := kindOf(r.Addr.Mode).noun
			mb.missingBase(r.Range, "Missing "+noun+" to override", r.Addr.Type+" "+noun+" named "+quoted(r.Addr.Name))
		}
	}
}

func quoted(s string) string { return `"` + s + `"` }

func (mb *moduleBuilder) missingBase(at hcl.Range, summary, what string) {
	mb.errorf(at, summary,
		"There is no %s. An override file can only change objects that an ordinary file of the module "+
			"declares.", what)
}

func (mb *moduleBuilder) overrideSettings(f *file) {
	// The last block wins, whether it is a backend or a cloud block. An override file can therefore
	// switch between the two.
	for i, b := range f.backends {
		if i > 0 {
			mb.errorf(b.Range, "Duplicate backend configuration",
				"This override file already has a backend block at %s. Only one is allowed.",
				tfdiags.Place(f.backends[0].Range))
			continue
		}
		mb.Backend, mb.Cloud = b, nil
	}
	for i, c := range f.clouds {
		if i > 0 {
			mb.errorf(c.Range, "Duplicate cloud configurations",
				"This override file already has a cloud block at %s. Only one is allowed.",
				tfdiags.Place(f.clouds[0].Range))
			continue
		}
		mb.Backend, mb.Cloud = nil, c
	}
	mb.Encryption = append(mb.Encryption, f.encryption...)
	for _, block := range f.requiredProviders {
		for _, req := range block.entries {
			if before := mb.RequiredProviders[req.LocalName]; before != nil {
				delete(mb.LocalNames, before.Provider)
			}
		}
		mb.requireProviders(block)
	}
	for _, m := range f.providerMetas {
		mb.ProviderMetas[m.LocalName] = m
	}
}

// overrideProvider applies a provider block to the earlier one with the same name. A block without
// an alias needs no earlier block, because every provider has a default configuration.
func (mb *moduleBuilder) overrideProvider(p *Provider) {
	base := mb.Providers[p.Local()]
	switch {
	case base != nil:
		base.Config = overrideBody(base.Config, p.Config)
		if p.VersionText != "" {
			base.VersionText, base.constraints, base.versionRange = p.VersionText, p.constraints, p.versionRange
		}
		override(&base.ForEach, p.ForEach)
	case p.Alias == "":
		mb.Providers[p.Local()] = p
	default:
		mb.missingBase(p.Range, "Missing base provider configuration for override",
			p.Name+" provider configuration with the alias "+quoted(p.Alias))
	}
}

func (mb *moduleBuilder) overrideVariable(base, over *Variable) {
	overrideOpt(&base.Description, over.Description)
	overrideOpt(&base.Sensitive, over.Sensitive)
	overrideOpt(&base.Ephemeral, over.Ephemeral)
	overrideOpt(&base.Nullable, over.Nullable)
	overrideOpt(&base.Const, over.Const)
	override(&base.Deprecated, over.Deprecated)
	if over.typeSet() {
		base.Type, base.TypeRange = over.Type, over.TypeRange
	}
	if over.Default.Set {
		base.Default, base.defaultExpr = over.Default, over.defaultExpr
	} else if base.defaultExpr != nil && over.typeSet() {
		// Use the default as the base file writes it, before conversion to the base's type.
		base.Default.Value, _ = base.defaultExpr.Value(nil)
	}
	if base.Default.Set {
		mb.errs = mb.errs.AppendError(base.convertDefault(over.Range))
	}
}

func (mb *moduleBuilder) overrideOutput(base, over *Output) {
	overrideOpt(&base.Description, over.Description)
	overrideOpt(&base.Sensitive, over.Sensitive)
	overrideOpt(&base.Ephemeral, over.Ephemeral)
	override(&base.Expr, over.Expr)
	override(&base.typeExpr, over.typeExpr)
	override(&base.Deprecated, over.Deprecated)
	mb.noDependsOn(over.DependsOn, over.lateDependsOn)
}

func (mb *moduleBuilder) overrideCall(base, over *ModuleCall) {
	if over.SourceExpr != nil {
		base.SourceExpr, base.SourceRange = over.SourceExpr, over.SourceRange
	}
	override(&base.VersionExpr, over.VersionExpr)
	overrideRepetition(&base.Count, &base.ForEach, over.Count, over.ForEach)
	overrideOpt(&base.Providers, over.Providers)
	base.Config = overrideBody(base.Config, over.Config)
	mb.noDependsOn(over.DependsOn, over.lateDependsOn)
}

// overrideRepetition overrides count and for_each. If one file has count and the other one for_each,
// count prevails, as in OpenTofu.
func overrideRepetition[T comparable](count, forEach *T, overCount, overForEach T) {
	var none T
	override(count, overCount)
	override(forEach, overForEach)
	if *count != none {
		*forEach = none
	}
}

func (mb *moduleBuilder) overrideResource(base, over *Resource) {
	overrideRepetition(&base.Count, &base.ForEach, over.Count, over.ForEach)
	override(&base.Provider, over.Provider)
	base.Lifecycle = overrideLifecycle(*base.Lifecycle, over.Lifecycle)
	override(&base.Connection, over.Connection)
	if len(over.Provisioners) > 0 { // replace all of them, because provisioners have no names to match
		base.Provisioners = over.Provisioners
	}
	base.Config = overrideBody(base.Config, over.Config)
	mb.noDependsOn(over.DependsOn, over.lateDependsOn)
}

// overrideLifecycle returns base with the arguments that over sets. Like OpenTofu, it ignores
// "enabled" and "replace_triggered_by" in override files.
func overrideLifecycle(base Lifecycle, over *Lifecycle) *Lifecycle {
	overrideOpt(&base.CreateBeforeDestroy, over.CreateBeforeDestroy)
	overrideOpt(&base.IgnoreMissing, over.IgnoreMissing)
	override(&base.PreventDestroy, over.PreventDestroy)
	if over.Destroy.Set || over.DestroyProblem != nil {
		base.Destroy, base.DestroyProblem = over.Destroy, over.DestroyProblem
	}
	if len(over.ActionTriggers) > 0 { // replace all of them, because they have no names to match
		base.ActionTriggers = over.ActionTriggers
	}
	if len(over.IgnoreChanges) > 0 || over.IgnoreAll {
		base.IgnoreChanges, base.IgnoreAll = over.IgnoreChanges, over.IgnoreAll
	}
	base.late = maps.Clone(base.late)
	for name, set := range map[string]bool{
		"create_before_destroy": over.CreateBeforeDestroy.Set, "destroy": over.Destroy.Set || over.DestroyProblem != nil,
		"ignore_changes": len(over.IgnoreChanges) > 0 || over.IgnoreAll, "ignore_missing": over.IgnoreMissing.Set,
	} {
		if set {
			delete(base.late, name)
		}
	}
	for name, expr := range over.late {
		if base.late == nil {
			base.late = map[string]hcl.Expression{}
		}
		base.late[name] = expr
	}
	return &base
}

// overrideOpt replaces an argument of base if the override file sets it.
func overrideOpt[T any](base *Opt[T], over Opt[T]) {
	if over.Set {
		*base = over
	}
}

// override replaces an argument of base unless over is the zero value. It is for arguments whose
// zero value means that they are not set.
func override[T comparable](base *T, over T) {
	var unset T
	if over != unset {
		*base = over
	}
}

func (mb *moduleBuilder) noDependsOn(traversals []hcl.Traversal, late []hcl.Expression) {
	var at hcl.Range
	switch {
	case len(traversals) > 0:
		at = traversals[0].SourceRange()
	case len(late) > 0:
		at = late[0].Range()
	default:
		return
	}
	mb.errorf(at, "Unsupported override", "The depends_on argument can't be overridden.")
}
