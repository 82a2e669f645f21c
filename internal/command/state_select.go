package command

import (
	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// parseTargets parses addresses of modules, resources and instances.
func parseTargets(texts []string) ([]addrs.Target, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	targets := make([]addrs.Target, 0, len(texts))
	for _, text := range texts {
		t, more := addrs.ParseTargetText(text)
		diags = diags.Append(more...)
		if !more.HasErrors() {
			targets = append(targets, t)
		}
	}
	return targets, diags
}
