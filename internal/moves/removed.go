package moves

import (
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// ValidateRemoved returns an error for each removed block whose resource or module is still
// declared.
func ValidateRemoved(cfg *configs.Config) error {
	var errs tfdiags.Diagnostics
	for _, rm := range cfg.Module.Removed {
		from := newEndpoint(cfg.Path, rm.From)
		declared := cfg.Descendant(from.module())
		kind := "module"
		if !from.isModule() {
			kind = "resource"
			if declared != nil && declared.Module.Resources[from.res] == nil {
				declared = nil
			}
		}
		if declared != nil {
			errs = errs.Append(tfdiags.Errorf(
				"Removed "+kind+" block still exists",
				"The block says that %s is removed, but the configuration still has it. Delete its %s block, "+
					"or the removed block.",
				&from,
				kind,
			).At(rm.Range))
		}
	}
	for _, name := range sortedNames(cfg.Children) {
		errs = errs.AppendError(ValidateRemoved(cfg.Children[name]))
	}
	return errs.Err()
}
