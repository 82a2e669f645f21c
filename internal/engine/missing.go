package engine

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// manyObjects is the smallest number of missing objects that causes a warning. The missing objects
// must also be at least half of all objects. A refresh trusts the provider: if the provider does
// not find an object, the object is gone. But a provider that suddenly finds far fewer objects may
// lack permissions or use another account or region. Applying the plan would then create these
// objects again, or remove them from the state.
const manyObjects = 10

// missingObjects counts the missing objects of one provider configuration, or of one resource type
// within it.
type missingObjects struct {
	known int
	gone  []string
}

type missingKey struct {
	provider addrs.AbsProviderConfig
	typ      string // "" for all types
}

// warnOfMissing warns if a refresh found far fewer objects than the state has.
func (f finisher) warnOfMissing(drift []*plans.InstanceChange) {
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
		return
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
	for _, key := range many {
		n := counts[key]
		whole := counts[missingKey{key.provider, ""}]
		if 2*len(n.gone) < n.known || key.typ != "" && 2*len(whole.gone) >= whole.known {
			continue // too few, or the warning about the whole provider includes them
		}
		w.out.warn(tfdiags.Warningf("Many objects are gone", "%s", f.missingText(key, n)))
	}
}

func (f finisher) missingText(key missingKey, n *missingObjects) string {
	w := f.w
	what := "objects"
	if key.typ != "" {
		what = key.typ + " objects"
	}
	next := "create them again"
	if w.op.Mode == plans.RefreshOnly || w.op.PreDestroy {
		next = "remove them from the state"
	}
	advice := " With -refresh=false the plan uses the stored objects."
	if w.op.Mode == plans.RefreshOnly {
		advice = "" // the options exclude each other
	}
	return fmt.Sprintf("%s can't find %d of the %d %s that the state has, such as %s. If they were not "+
		"deleted on purpose, check the credentials, permissions and settings of the provider before you "+
		"continue: applying this plan would %s.%s",
		key.provider, len(n.gone), n.known, what, strings.Join(n.gone[:3], ", "), next, advice)
}
