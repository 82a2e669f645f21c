package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// validateRemoved holds removed blocks against what is declared. Refreshing alone removes nothing, so it doesn't ask.
func validateRemoved(cfg *configs.Config) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for _, rm := range cfg.Module.Removed {
		from := moveEnd(cfg.Path, rm.From)
		declared := cfg.Descendant(from.module())
		kind := "module"
		if !from.isModule() {
			kind = "resource"
			if declared != nil && declared.Module.Resources[from.res] == nil {
				declared = nil
			}
		}
		if declared != nil {
			diags = diags.Append(tfdiags.Errorf("Removed "+kind+" block still exists",
				"The block says that %s is removed, but the configuration still has it. Delete its %s block, or the removed block.", &from, kind).At(rm.Range))
		}
	}
	for _, name := range sortedKeys(cfg.Children) {
		diags = diags.Append(validateRemoved(cfg.Children[name]))
	}
	return diags
}

// matchRemoved attaches removed blocks to the resources that they cover: one that names the resource before one that names a module.
func (w *walk) matchRemoved() {
	byEnd := map[endKey]*configs.Removed{}
	for _, m := range w.modules {
		if m.cfg == nil {
			continue
		}
		for _, rm := range m.cfg.Module.Removed {
			from := moveEnd(m.path, rm.From)
			byEnd[endKey{module: from.module(), res: from.res}] = rm
		}
	}
	if len(byEnd) == 0 {
		return
	}
	for _, r := range w.resources {
		if r.addr.Resource.Mode != addrs.Managed {
			continue
		}
		r.removed = byEnd[endKey{module: r.addr.Module, res: r.addr.Resource}]
		for m := r.addr.Module; r.removed == nil && !m.IsRoot(); m, _ = m.Parent() {
			r.removed = byEnd[endKey{module: m}]
		}
	}
}
