package engine

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

// Some functions give infinite numbers (log(0, 10), pow(0, -1)). JSON has none, so that nothing could be stored of an object or an
// output that has one, and that would come out only after the change was made.

// infinite finds the first infinite number in a value.
func infinite(v cty.Value) (cty.Path, bool) {
	var at cty.Path
	found := false
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.Number && v.IsKnown() && !v.IsNull() && v.AsBigFloat().IsInf() && !found {
			at, found = path.Copy(), true
		}
		return !found, nil
	})
	return at, found
}

func infiniteNumber(path cty.Path) tfdiags.Diagnostic {
	what := "The value"
	if len(path) > 0 {
		what += "'s attribute " + strings.TrimPrefix(tfdiags.FormatPath(path), ".")
	}
	return tfdiags.Errorf("Number is infinite", "%s is an infinite number, which can't be stored. Functions such as log and pow give one where there is no finite result.", what)
}
