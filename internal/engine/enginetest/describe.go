package enginetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// stepDir matches the temporary directory of a step, in front of a file name.
var stepDir = regexp.MustCompile(`/\S*/step[0-9]+/`)

func describeProblems(diags tfdiags.Diagnostics, details bool) string {
	var lines []string
	for _, d := range diags {
		line := d.Severity.String() + " "
		if d.Subject != nil {
			line += fmt.Sprintf("%s:%d ", filepath.Base(d.Subject.Filename), d.Subject.Start.Line)
		}
		line += d.Summary
		if details {
			line += ": " + stepDir.ReplaceAllString(strings.ReplaceAll(d.Detail, "\n", " "), "")
		}
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}

// DescribePlan formats a plan with a line for each change.
func DescribePlan(plan *plans.Plan) string {
	var b strings.Builder
	for _, c := range plan.Changes.Instances {
		if c.Action == plans.NoOp && c.MovedFrom == nil && c.Importing == nil && c.Deposed == "" {
			continue
		}
		describeChange(&b, c)
	}
	for inv, change := range plan.Changes.Invocations() {
		fmt.Fprintf(&b, "invoke %s", inv.Addr)
		if change != nil {
			fmt.Fprintf(&b, " %s %s", inv.Trigger.Event, inv.Trigger.Caller)
			if inv.Trigger.OnFailure != "halt" {
				b.WriteString(" on failure " + inv.Trigger.OnFailure)
			}
			if inv.Trigger.Undecided {
				b.WriteString(" maybe")
			}
		}
		config, _ := inv.Config.UnmarkDeep()
		for _, name := range []string{"name", "text"} {
			if v := config.GetAttr(name); !v.IsNull() {
				fmt.Fprintf(&b, " %s=%s", name, describeValue(v))
			}
		}
		b.WriteByte('\n')
	}
	for _, o := range plan.Changes.Outputs {
		if o.Action != plans.NoOp {
			undecided := ""
			if o.Undecided {
				undecided = " undecided"
			}
			fmt.Fprintf(&b, "%s output %s%s\n", o.Action, o.Name, undecided)
		}
	}
	for _, d := range plan.Drift {
		b.WriteString("drift ")
		describeChange(&b, d)
	}
	for _, a := range plan.Read {
		fmt.Fprintf(&b, "reads %s%s\n", a.Resource, tfdiags.FormatPath(a.Attr))
	}
	for _, d := range plan.Deferred {
		describeDeferred(&b, d)
	}
	if plan.Past != nil {
		for _, lost := range plan.Past.Lost {
			fmt.Fprintf(&b, "lost %s %s %s\n", lost.Addr, lost.Why, strings.Join(lost.Attributes, " "))
		}
	}
	switch {
	case plan.Errored:
		b.WriteString("errored\n")
	case plan.Applyable && b.Len() == 0:
		b.WriteString("applyable\n")
	case !plan.Applyable && b.Len() > 0:
		b.WriteString("not applyable\n")
	}
	return b.String()
}

func describeDeferred(b *strings.Builder, d *plans.Deferred) {
	fmt.Fprintf(b, "defer %s %s %s", d.Action, d.Addr, d.Why)
	if d.Via != "" {
		b.WriteString(" via " + d.Via)
	}
	for i, step := range d.Chain {
		b.WriteString([]string{": ", " > "}[min(i, 1)] + step.What)
		if file, line, found := strings.Cut(step.Where, ":"); found {
			fmt.Fprintf(b, " (%s:%s)", filepath.Base(file), line)
		}
	}
	b.WriteByte('\n')
}

func describeChange(b *strings.Builder, c *plans.InstanceChange) {
	fmt.Fprintf(b, "%s %s", c.Action, c.Addr)
	if c.Deposed != "" {
		b.WriteString(" (deposed)")
	}
	if c.MovedFrom != nil {
		fmt.Fprintf(b, " (from %s)", c.MovedFrom)
	}
	if i := c.Importing; i != nil {
		id := i.ID
		if id == "" {
			id = "by " + describeValue(i.Identity)
		}
		b.WriteString(" (import " + id + ")")
	}
	if c.Reason != "" {
		b.WriteString(" " + string(c.Reason))
	}
	if by, at, ok := strings.Cut(c.NeededBy, " at "); ok {
		b.WriteString(" (" + by + " at " + filepath.Base(at) + ")")
	}
	b.WriteByte('\n')
}

// Describe formats a state with a line for each object.
func Describe(s *states.State) string { return describe(s, nil) }

// describe is like Describe, but it shows numbers instead of the random keys of deposed objects.
// Keys are numbered in the order in which they first occur, and numbers holds the keys seen so far.
func describe(s *states.State, numbers map[addrs.DeposedKey]int) string {
	var b strings.Builder
	for _, r := range s.Sorted() {
		if len(r.Instances) == 0 {
			fmt.Fprintf(&b, "%s: no objects\n", r.Addr)
		}
		for _, key := range r.SortedKeys() {
			inst := r.Instances[key]
			if inst.Current != nil {
				describeObject(&b, r.Addr.Instance(key).String(), inst.Current)
			}
			old := slices.SortedFunc(maps.Keys(inst.Deposed), func(x, y addrs.DeposedKey) int {
				return strings.Compare(string(inst.Deposed[x].Attrs), string(inst.Deposed[y].Attrs))
			})
			for _, name := range old {
				describeObject(&b, r.Addr.Instance(key).String()+deposed(name, numbers), inst.Deposed[name])
			}
		}
	}
	for _, name := range s.OutputNames() {
		o := s.Output(name)
		fmt.Fprintf(&b, "output %s = %s", name, describeValue(o.Value))
		if o.Sensitive {
			b.WriteString(" sensitive")
		}
		b.WriteByte('\n')
	}
	for _, block := range s.Checks.Sorted() {
		for _, o := range block.SortedObjects() {
			fmt.Fprintf(&b, "check %s %s\n", o.Addr, o.Status)
		}
		if len(block.Objects) == 0 {
			fmt.Fprintf(&b, "check %s %s without objects\n", block.Config, block.Status)
		}
	}
	return b.String()
}

func deposed(key addrs.DeposedKey, numbers map[addrs.DeposedKey]int) string {
	if numbers == nil {
		return " (deposed)"
	}
	if numbers[key] == 0 {
		numbers[key] = len(numbers) + 1
	}
	return fmt.Sprintf(" (deposed %d)", numbers[key])
}

func describeObject(b *strings.Builder, addr string, o *states.Object) {
	b.WriteString(addr + ":")
	var attrs map[string]any
	if json.Unmarshal(o.Attrs, &attrs) == nil {
		fmt.Fprintf(b, " %v", attrs["id"])
		for _, name := range []string{"v", "f", "s", "w", "tags", "rule"} {
			if v := attrs[name]; v != nil && fmt.Sprint(v) != "[]" {
				fmt.Fprintf(b, " %s=%v", name, v)
			}
		}
	}
	flags := map[string]bool{" tainted": o.Status == states.Tainted, " cbd": o.CreateBeforeDestroy,
		" skip": o.SkipDestroy}
	for _, flag := range slices.Sorted(maps.Keys(flags)) {
		if flags[flag] {
			b.WriteString(flag)
		}
	}
	for _, path := range o.SensitivePaths {
		if p := tfdiags.FormatPath(path); p != ".s" {
			b.WriteString(" sensitive " + p)
		}
	}
	if o.Dependencies != nil {
		b.WriteString(" deps")
	}
	for dep := range o.Dependencies.All() {
		b.WriteString(" " + dep.String())
	}
	if len(o.DependencyInstances) > 0 {
		b.WriteString(" instances")
	}
	for _, dep := range o.DependencyInstances {
		b.WriteString(" " + dep.String())
	}
	b.WriteByte('\n')
}

// describeValue formats a value readably.
func describeValue(v cty.Value) string {
	v, _ = v.UnmarkDeep()
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case !v.IsKnown():
		return "unknown"
	case ty == cty.String:
		return fmt.Sprintf("%q", v.AsString())
	case ty == cty.Number:
		return v.AsBigFloat().Text('f', -1)
	case ty == cty.Bool:
		return fmt.Sprint(v.True())
	}
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		part := describeValue(e)
		if ty.IsObjectType() || ty.IsMapType() {
			part = k.AsString() + "=" + part
		}
		parts = append(parts, part)
	}
	if ty.IsObjectType() || ty.IsMapType() {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
