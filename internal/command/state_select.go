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
		t, err := addrs.ParseTargetText(text)
		diags = diags.AppendError(err)
		if err == nil {
			targets = append(targets, t)
		}
	}
	return targets, diags
}
