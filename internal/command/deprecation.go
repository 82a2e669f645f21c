package command

import (
	"slices"
	"strings"

	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// lessDeprecation leaves out warnings of deprecated outputs, variables and attributes for people who asked for fewer of them. Programs
// get them all.
type lessDeprecation struct {
	ui.Printer
	local bool // show those of modules with a relative path, and of providers
}

// withDeprecation gives the printer that -deprecation asks for.
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
