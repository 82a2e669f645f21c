package moduletest

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// expectation is an object with a condition that the run expects to fail.
type expectation struct {
	subject addrs.Referenceable
	rng     hcl.Range
	met     bool
}

func expectations(run *configs.TestRun) ([]*expectation, error) {
	var out []*expectation
	var errs tfdiags.Diagnostics
	for _, tr := range run.ExpectFailures {
		ref, err := addrs.ParseRef(tr, addrs.TestScope)
		if err != nil {
			errs = errs.AppendError(err)
			continue
		}
		switch ref.Subject.(type) {
		case addrs.InputVariable, addrs.OutputValue, addrs.Check, addrs.Resource, addrs.ResourceInstance:
			out = append(out, &expectation{subject: ref.Subject, rng: tr.SourceRange()})
		default:
			errs = append(errs, tfdiags.Errorf("Invalid \"expect_failures\" reference",
				"Only objects with conditions can be expected to fail: variables, outputs, resources, data "+
					"sources and checks. %s has none.", ref.Subject).At(tr.SourceRange()))
		}
	}
	return out, errs.Err()
}

// covers reports whether the expectation is for the root module's object at addr.
func (x *expectation) covers(addr string) bool {
	text := x.subject.String()
	if _, whole := x.subject.(addrs.Resource); whole && strings.HasPrefix(addr, text+"[") {
		return true
	}
	return addr == text
}

// judge compares the reported problems with the expected failures. It drops expected failures,
// turns warnings about other failed checks into errors, and adds an error for each expected failure
// that did not occur. If a run only plans and can't decide a check, the check is treated as failed.
func judge(diags tfdiags.Diagnostics, results *checks.Results, expected []*expectation) tfdiags.Diagnostics {
	status := map[string]checks.Status{}
	for _, block := range results.Sorted() {
		for _, o := range block.Objects {
			status[o.Addr] = o.Status
		}
	}
	for addr, s := range status {
		for _, x := range expected {
			x.met = x.met || s >= checks.Fail && x.covers(addr)
		}
	}
	var out tfdiags.Diagnostics
	seen := map[failure]bool{}
	for _, d := range diags {
		addr := failedObject(d)
		if addr == "" {
			out = append(out, d)
			continue
		}
		key := failure{addr: addr, summary: d.Summary}
		if d.Subject != nil {
			key.at = *d.Subject
		}
		if seen[key] {
			continue // reported by both plan and apply
		}
		seen[key] = true
		i := slices.IndexFunc(expected, func(x *expectation) bool { return x.covers(addr) })
		if i >= 0 {
			expected[i].met = true
			continue
		}
		d.Severity = tfdiags.Error // a failed check is only a warning in other commands, but must fail a test
		out = append(out, d)
	}
	for _, x := range expected {
		if !x.met {
			out = append(out, tfdiags.Errorf("Missing expected failure",
				"The run expects %s to fail, but it did not.", x.subject).At(x.rng))
		}
	}
	return out
}

type failure struct {
	addr, summary string
	at            hcl.Range
}

// failedObject returns the address of the object whose condition failed according to d, or "" if d
// doesn't report a failed condition.
func failedObject(d tfdiags.Diagnostic) string {
	rule, _ := d.Extra.(tfdiags.CheckRule)
	return rule.Address
}

// withoutPending returns the diagnostics without warnings about conditions that will be evaluated
// during apply.
func withoutPending(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	return diags.Filter(func(d tfdiags.Diagnostic) bool {
		_, rule := d.Extra.(tfdiags.CheckRule)
		return !rule || d.Severity != tfdiags.Warning || !strings.HasSuffix(d.Summary, "known after apply")
	})
}

// unreachable returns a warning for each expected failure that prevented the apply.
func unreachable(diags tfdiags.Diagnostics, expected []*expectation) tfdiags.Diagnostics {
	var out tfdiags.Diagnostics
	for _, x := range expected {
		v, ok := x.subject.(addrs.InputVariable)
		fails := func(d tfdiags.Diagnostic) bool {
			rule, ok := d.Extra.(tfdiags.CheckRule)
			return ok && x.covers(rule.Address)
		}
		if !ok || !slices.ContainsFunc(diags, fails) {
			continue
		}
		out = append(out, tfdiags.Warningf("Invalid variable in test file",
			"The variable %s has an invalid value in this run. This failure was expected, but it prevented "+
				"the apply, so the run fails. Use command = plan to test the variable's validation rules.", v))
	}
	return out
}
