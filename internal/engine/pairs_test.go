package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/testenv"
)

// lifecycleOptions are the arguments of lifecycle blocks that affect objects.
var lifecycleOptions = []struct{ name, text string }{
	{"create_before_destroy", "create_before_destroy = true"},
	{"destroy = false", "destroy = false"},
	{"prevent_destroy", "prevent_destroy = true"},
	{"ignore_changes", "ignore_changes = [f]"},
	{"replace_triggered_by", "replace_triggered_by = [fake_thing.t]"},
}

// lifecycleActions are actions on an object. Each has the configuration of the second step, the
// options of the plan, and the calls that fail in the first or second step. LIFECYCLE in a
// configuration is replaced with the lifecycle block, which has the tested options.
var lifecycleActions = []struct {
	name, config    string
	plan            engine.PlanOptions
	failFirst, fail map[string]string
}{
	{name: "nothing", config: pairThing("1", "1", "1", "1")},
	{name: "update", config: pairThing("2", "1", "1", "1")},
	{name: "replace", config: pairThing("1", "2", "1", "1")},
	{name: "update and replace", config: pairThing("2", "2", "1", "1")},
	{name: "trigger", config: pairThing("1", "1", "1", "2")},
	{name: "request", config: pairThing("1", "1", "1", "1"),
		plan: engine.PlanOptions{ForceReplace: []addrs.AbsInstance{pairAddr}}},
	{name: "tainted", config: pairThing("1", "1", "1", "1"), failFirst: map[string]string{"create a": "partial"}},
	{name: "replace, not created", config: pairThing("1", "2", "1", "1"), fail: map[string]string{"create a": ""}},
	{name: "replace, created in part", config: pairThing("1", "2", "1", "1"),
		fail: map[string]string{"create a": "partial"}},
	{name: "replace, not deleted", config: pairThing("1", "2", "1", "1"), fail: map[string]string{"delete a-1": ""}},
	{name: "count down", config: pairThing("1", "1", "0", "1")},
	{name: "block gone", config: pairTrigger("1")},
	{name: "removed, to be kept", config: pairTrigger("1") + pairRemoved("false")},
	{name: "removed, to be destroyed", config: pairTrigger("1") + pairRemoved("true")},
	{name: "destroy", config: pairThing("1", "1", "1", "1"), plan: engine.PlanOptions{Mode: plans.Destroy}},
}

var pairAddr = addrs.Resource{Mode: addrs.Managed, Type: "fake_thing",
	Name: "a"}.InInstance(addrs.RootInstance).Instance(addrs.IntKey(0))

func pairThing(v, f, count, trigger string) string {
	return fmt.Sprintf("resource \"fake_thing\" \"a\" {\n  name = \"a\"\n  count = %s\n  v = %q\n  f = "+
		"%q\nLIFECYCLE}\n", count, v, f) + pairTrigger(trigger)
}

func pairTrigger(v string) string {
	return fmt.Sprintf("resource \"fake_thing\" \"t\" {\n  name = \"t\"\n  v = %q\n}\n", v)
}

func pairRemoved(destroy string) string {
	return fmt.Sprintf("removed {\n  from = fake_thing.a\n  lifecycle {\n    destroy = %s\n  }\n}\n", destroy)
}

// TestLifecyclePairs performs every action on an object with every pair of lifecycle options, and
// compares the results with a table. Only two kinds of errors may occur: the failure of a call in
// fail, and the error of prevent_destroy. Every existing object must be in the state, unless
// "destroy = false" or a removed block makes the engine forget it. Applying the same configuration
// again must complete the change.
func TestLifecyclePairs(t *testing.T) {
	const path = "testdata/lifecycle_pairs.txt"
	var table strings.Builder
	for i := range lifecycleOptions {
		for j := i; j < len(lifecycleOptions); j++ {
			if i == 0 && j == 0 {
				pairRows(t, &table, nil)
			}
			pairRows(t, &table, slices.Compact([]int{i, j}))
		}
	}
	testenv.GoldenText(t, path, table.String())
}

// pairRows writes the table rows for a combination of lifecycle options. options are indexes of
// lifecycleOptions.
func pairRows(t *testing.T, table *strings.Builder, options []int) {
	var names []string
	lifecycle := ""
	for _, i := range options {
		names = append(names, lifecycleOptions[i].name)
		lifecycle += "    " + lifecycleOptions[i].text + "\n"
	}
	if lifecycle != "" {
		lifecycle = "  lifecycle {\n" + lifecycle + "  }\n"
	}
	fmt.Fprintf(table, "== %s\n", cmp.Or(strings.Join(names, ", "), "no options"))
	for _, a := range lifecycleActions {
		p := &pair{s: enginetest.NewSession(t.TempDir())}
		p.s.Cloud.Delay = enginetest.Delay
		p.kept = strings.Contains(lifecycle, "destroy = false") || a.name == "removed, to be kept"
		first, second := strings.ReplaceAll(pairThing("1", "1", "1", "1"), "LIFECYCLE", lifecycle),
			strings.ReplaceAll(a.config, "LIFECYCLE", lifecycle)
		var row string
		var err error
		synctest.Test(t, func(*testing.T) {
			_, err = p.step(first, a.failFirst, engine.PlanOptions{})
			if err == nil {
				row, err = p.step(second, a.fail, a.plan)
			}
			if err == nil {
				err = p.end(second, a.plan)
			}
		})
		if err != nil {
			t.Errorf("%v, %s: %v\n%s", names, a.name, err, row)
		}
		table.WriteString(strings.TrimRight(fmt.Sprintf("%-26s%s", a.name, row), " ") + "\n")
	}
}

// pair is a test of one action with one combination of lifecycle options.
type pair struct {
	s      *enginetest.Session
	kept   bool // whether the state may forget the existing object
	denied bool // whether prevent_destroy has prevented the action
}

// step plans and applies a configuration, and checks that no object is lost. It returns a table row
// with the planned actions and the calls.
func (p *pair) step(config string, fail map[string]string, opts engine.PlanOptions) (string, error) {
	p.s.Cloud.Fail = fail
	got, err := p.s.Do(&enginetest.Step{Files: map[string]string{"main.tf": config}, Plan: opts})
	if err != nil {
		return "", err
	}
	var parts []string
	for line := range strings.Lines(got.Plan) {
		if action, reason, ok := strings.Cut(strings.TrimSpace(line), " "+pairAddr.String()); ok && action != "drift" {
			parts = append(parts, action+reason)
		}
	}
	row := strings.Join(append(parts, ""), "; ")
	for line := range strings.Lines(got.Calls) {
		for call := range strings.SplitSeq(strings.TrimSpace(line), ", ") {
			if !strings.HasSuffix(call, " t-1") {
				row += call + "; "
			}
		}
	}
	for line := range strings.Lines(got.Problems) {
		switch line = strings.TrimSpace(line); {
		case strings.HasSuffix(line, "Resource instance cannot be destroyed"):
			p.denied = true
			row += "prevented; "
		case strings.HasSuffix(line, "left behind forgotten instances") && p.kept,
			strings.HasSuffix(line, "Asked to fail") && fail != nil:
		case strings.HasPrefix(line, "error"):
			return row, errors.New(line)
		}
	}
	known := enginetest.Describe(p.s.State)
	for _, id := range p.s.Cloud.Objects() {
		if !strings.Contains(known, " "+id+" ") && !p.kept {
			return row, fmt.Errorf("%s exists and is not in the state:\n%s", id, known)
		}
	}
	return strings.TrimSuffix(row, "; "), nil
}

// end applies the configuration again without failures, and checks that nothing is left to do.
func (p *pair) end(config string, opts engine.PlanOptions) error {
	if p.denied {
		return nil
	}
	if opts.Mode != plans.Destroy {
		opts = engine.PlanOptions{}
	}
	if _, err := p.step(config, nil, opts); err != nil {
		return fmt.Errorf("again: %w", err)
	}
	if row, err := p.step(config, nil, opts); row != "" || err != nil {
		return fmt.Errorf("there is still to do: %s, %w", row, err)
	}
	return nil
}
