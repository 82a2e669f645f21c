package lsp

import (
	"path/filepath"
	"sync"

	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/warm"
)

// view has what is known of a root module: the newest configuration that could be loaded, and the newest
// plan, which may be older. It is immutable.
type view struct {
	root    string          // directory of the root module, absolute
	base    string          // names of files in the configuration are relative to it
	config  *configs.Config // nil if none could be loaded yet
	schemas ui.Schemas      // nil if there are none

	diagnostics tfdiags.Diagnostics // of the configuration, as it is now
	// plan is nil if nothing could be planned yet, and values if nothing could be evaluated.
	plan       *warm.Plan
	values     *engine.PlannedValues
	shown      *planview.Plan // the plan for review; nil without a plan
	evaluating *sync.Mutex    // held while an expression is evaluated with values
	outdated   bool           // the plan is not that of the present configuration
	// hide returns a function that returns a text without secrets.
	hide func() func(string) string
}

func (v *view) abs(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(v.base, name)
}

// modules returns the nodes of the module tree whose module is in a directory.
func (v *view) modules(dir string) []*configs.Config {
	var out []*configs.Config
	if v.config != nil {
		for m := range v.config.AllModules() {
			if m.Module != nil && v.abs(m.Module.Dir) == dir {
				out = append(out, m)
			}
		}
	}
	return out
}

// module returns the first of the modules in a directory, or nil.
func (v *view) module(dir string) *configs.Config {
	if list := v.modules(dir); len(list) > 0 {
		return list[0]
	}
	return nil
}
