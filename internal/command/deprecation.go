package command

import (
	"slices"
	"strings"

	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// lessDeprecation is a printer that drops warnings about deprecated outputs, variables and
// attributes as -deprecation requests. JSON output keeps them all.
type lessDeprecation struct {
	ui.Printer
	local bool // whether to show warnings about local modules and providers
}

// withDeprecation returns the printer for a -deprecation mode.
func withDeprecation(p ui.Printer, mode string) ui.Printer {
	switch mode {
	case "module:local":
		return lessDeprecation{p, true}
	case "module:none":
		return lessDeprecation{p, false}
	}
	return p
}

// Diagnostics implements ui.Printer.
func (l lessDeprecation) Diagnostics(diags tfdiags.Diagnostics) {
	l.Printer.Diagnostics(slices.DeleteFunc(slices.Clone(diags), func(d tfdiags.Diagnostic) bool {
		by, ok := d.Extra.(tfdiags.Deprecation)
		return ok && !(l.local && (by.Source == "" || strings.HasPrefix(by.Source, ".")))
	}))
}
