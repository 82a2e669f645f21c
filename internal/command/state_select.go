package command

import (
	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// parseTargets parses addresses of modules, resources and instances.
func parseTargets(texts []string) ([]addrs.Target, error) {
	var errs tfdiags.Diagnostics
	targets := make([]addrs.Target, 0, len(texts))
	for _, text := range texts {
		t, err := addrs.ParseTargetText(text)
		errs = errs.AppendError(err)
		if err == nil {
			targets = append(targets, t)
		}
	}
	return targets, errs.Err()
}
