package objchange

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func pair(a, b cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"a": a, "b": b}) }

// becomes returns a function that compares planned and actual objects, and counts its calls in
// tries.
func becomes(tries *int) func(planned, actual cty.Value) bool {
	return func(planned, actual cty.Value) bool {
		*tries++
		c := compatCheck{show: goText}
		c.value(planned, actual, nil)
		return len(c.problems) == 0
	}
}

// TestUnmatchedComparesEnough checks that comparing an element with only some of the candidates has
// the same result as comparing it with all of them.
func TestUnmatchedComparesEnough(t *testing.T) {
	var tries int
	match := becomes(&tries)
	stems := func(actual, planned cty.Value) bool { return match(planned, actual) }
	text := func(r *rand.Rand) cty.Value {
		return []cty.Value{cty.StringVal("x"), cty.StringVal("y"), cty.NullVal(cty.String)}[r.IntN(3)]
	}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		var plans, actuals []cty.Value
		someA, someB := r.IntN(2) == 0, r.IntN(2) == 0
		for range r.IntN(5) {
			a, b := text(r), text(r)
			actuals = append(actuals, pair(text(r), text(r)))
			if someA && r.IntN(2) == 0 {
				a = cty.UnknownVal(cty.String)
			}
			if someB && r.IntN(2) == 0 {
				b = cty.UnknownVal(cty.String)
			}
			plans = append(plans, pair(a, b))
		}
		decisive := knownInAll(plans)
		lost, all := unmatched(plans, actuals, decisive, match), unmatched(plans, actuals, nil, match)
		if fmt.Sprintf("%#v", lost) != fmt.Sprintf("%#v", all) {
			t.Errorf("seed %d: lost are %#v, not %#v", seed, lost, all)
		}
		grown, all := unmatched(actuals, plans, decisive, stems), unmatched(actuals, plans, nil, stems)
		if fmt.Sprintf("%#v", grown) != fmt.Sprintf("%#v", all) {
			t.Errorf("seed %d: new are %#v, not %#v", seed, grown, all)
		}
	}
}

// TestSetComparisonsAreLinear checks that comparing a set takes about one comparison for each
// element if the provider completes the elements.
func TestSetComparisonsAreLinear(t *testing.T) {
	const n = 1000
	var plans, actuals []cty.Value
	for i := range n {
		name := cty.StringVal(fmt.Sprint(i))
		plans, actuals = append(plans, pair(name, cty.UnknownVal(cty.String))), append(actuals, pair(name, name))
	}
	var tries int
	if lost := unmatched(plans, actuals, knownInAll(plans), becomes(&tries)); len(lost) > 0 || tries > 2*n {
		t.Errorf("%d are lost; %d comparisons", len(lost), tries)
	}
}
