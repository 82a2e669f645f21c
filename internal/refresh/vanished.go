package refresh

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// A refresh trusts the provider: if the provider does not find an object, the object is gone. But a
// provider that suddenly finds far fewer objects may lack permissions, or use another account or
// region. Applying the plan would then create these objects again, or remove them from the state.

// Vanished says when too many objects of a provider are gone. The zero value is the default.
type Vanished struct {
	// Share is the share of the objects of a provider configuration or of a type, from 0 to 1, above
	// which too many are gone; 0 means the defaults.
	Share float64
	// Stop says that a plan with too many of them is an error: it would be applied without approval.
	Stop bool
}

const (
	defaultShare = 0.1
	fewVanished  = 5 // so few objects are never too many

	// Objects of one type are too many if there are at least so many of them, and they are at least
	// half of all.
	manyOfType = 10
)

// ParseShare parses a share such as 25%.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	if !percent || err != nil || !(n > 0 && n <= 100) {
		return 0, errors.New("must be a share from 1% to 100%")
	}
	return n / 100, nil
}

// vanishedOf are the objects of one provider configuration, or of one resource type within it.
type vanishedOf struct {
	known int
	gone  []string
}

type vanishedKey struct {
	provider addrs.AbsProviderConfig
	typ      string // "" for all types
}

// texts returns a sentence for each provider configuration, or resource type of one, of which too
// many objects are gone. read reports whether the plan has read an object.
func (v Vanished) texts(plan *plans.Plan, read func(object) bool) []string {
	counts := map[vanishedKey]*vanishedOf{}
	for _, c := range plan.Drift {
		if c.Action != plans.Delete {
			continue
		}
		for _, typ := range []string{"", c.Addr.Resource.Type} {
			key := vanishedKey{c.Provider.Config, typ}
			if counts[key] == nil {
				counts[key] = &vanishedOf{}
			}
			counts[key].gone = append(counts[key].gone, c.Addr.String())
		}
	}
	if len(counts) == 0 {
		return nil
	}
	for r := range plan.PrevRun.Resources() {
		for key, inst := range r.Instances {
			if r.Addr.Resource.Mode != addrs.Managed || inst.Current == nil || !read(object{addr: r.Addr.Instance(key)}) {
				continue
			}
			for _, typ := range []string{"", r.Addr.Resource.Type} {
				if n := counts[vanishedKey{r.Provider, typ}]; n != nil {
					n.known++
				}
			}
		}
	}
	var out []string
	for key, n := range counts {
		if whole := counts[vanishedKey{key.provider, ""}]; v.tooMany("", whole) != (key.typ == "") || !v.tooMany(key.typ, n) {
			continue // the sentence about the whole provider includes its types
		}
		what := "objects"
		if key.typ != "" {
			what = key.typ + " objects"
		}
		out = append(out, fmt.Sprintf("%s can't find %d of the %d %s that the state has, such as %s.", key.provider,
			len(n.gone), n.known, what, strings.Join(n.gone[:3], ", ")))
	}
	slices.Sort(out)
	return out
}

func (v Vanished) tooMany(typ string, n *vanishedOf) bool {
	share := v.Share
	switch {
	case typ != "" && (len(n.gone) < manyOfType || 2*len(n.gone) < n.known):
		return false
	case share == 0:
		share = defaultShare
	}
	return len(n.gone) > fewVanished && float64(len(n.gone)) > share*float64(n.known)
}

// check records in a plan that too many objects are gone. It warns or, if the plan would be applied
// without approval, returns an error.
func (v Vanished) check(plan *plans.Plan, read func(object) bool, warn tfdiags.Sink) error {
	plan.Vanished = v.texts(plan, read)
	if len(plan.Vanished) == 0 {
		return nil
	}
	next := "create them again"
	if plan.Mode != plans.Normal {
		next = "remove them from the state"
	}
	text := fmt.Sprintf("%s If they were not deleted on purpose, check the credentials, permissions and settings of the "+
		"provider before you continue: applying this plan would %s.", strings.Join(plan.Vanished, " "), next)
	const summary = "Many objects are gone"
	if v.Stop && plan.Mode != plans.Destroy {
		return tfdiags.Errorf(summary, "%s To continue without approval, use -allow-vanished.", text)
	}
	if warn != nil {
		if plan.Mode != plans.RefreshOnly { // the options exclude each other
			text += " With -refresh=false the plan uses the stored objects."
		}
		warn(tfdiags.Warningf(summary, "%s", text))
	}
	return nil
}
