package engine

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// manyObjects is how many objects must be gone at once for a warning; they must also be at least half of those that there were.
//
// A refresh believes its provider: what that doesn't find is gone. But a provider that suddenly finds much less may have lost its
// permissions, or look into another account or region, and going on would make everything a second time, or forget it.
const manyObjects = 10

// vanished counts the objects of one provider configuration, or those of one type among them.
type missingObjects struct {
	known int
	gone  []string
}

type missingKey struct {
	provider addrs.AbsProviderConfig
	typ      string // empty: all types
}

// warnOfMissing looks at what a refresh didn't find any more.
func (f finisher) warnOfMissing(drift []*plans.InstanceChange) tfdiags.Diagnostics {
	w := f.w
	counts := map[missingKey]*missingObjects{}
	for _, c := range drift {
		if c.Action != plans.Delete {
			continue
		}
		for _, key := range []missingKey{{c.Provider.Config, ""}, {c.Provider.Config, c.Addr.Resource.Type}} {
			if counts[key] == nil {
				counts[key] = &missingObjects{}
			}
			counts[key].gone = append(counts[key].gone, c.Addr.String())
		}
	}
	var many []missingKey
	for key, n := range counts {
		if len(n.gone) >= manyObjects {
			many = append(many, key)
		}
	}
	if len(many) == 0 {
		return nil
	}
	for r := range w.out.prevRun.Resources() {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for _, inst := range r.Instances {
			if inst.Current == nil {
				continue
			}
			for _, key := range []missingKey{{r.Provider, ""}, {r.Provider, r.Addr.Resource.Type}} {
				if n := counts[key]; n != nil {
					n.known++
				}
			}
		}
	}
	slices.SortFunc(many, func(a, b missingKey) int {
		return strings.Compare(a.provider.String()+" "+a.typ, b.provider.String()+" "+b.typ)
	})
	var diags tfdiags.Diagnostics
	for _, key := range many {
		n := counts[key]
		whole := counts[missingKey{key.provider, ""}]
		if 2*len(n.gone) < n.known || key.typ != "" && 2*len(whole.gone) >= whole.known {
			continue // said of the whole provider already
		}
		diags = diags.Append(tfdiags.Warningf("Many objects are gone", "%s", f.missingText(key, n)))
	}
	return diags
}

func (f finisher) missingText(key missingKey, n *missingObjects) string {
	w := f.w
	what := "objects"
	if key.typ != "" {
		what = key.typ + " objects"
	}
	next := "make them anew"
	if w.op.Mode == plans.RefreshOnly || w.op.PreDestroy {
		next = "forget them"
	}
	return fmt.Sprintf("%s does not find %d of the %d %s that the state has, such as %s. If nobody deleted them, look at the provider's credentials, permissions "+
		"and settings before you go on: applying this plan would %s. Without refreshing (-refresh=false) they count as they are known.",
		key.provider, len(n.gone), n.known, what, strings.Join(n.gone[:3], ", "), next)
}
