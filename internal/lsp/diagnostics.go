package lsp

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lsp/protocol"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
)

// findings returns the diagnostics of a root module by file: those of the configuration, and those that
// only a plan can know. read returns a file, or nil.
func (v *view) findings(read func(string) *parsed) map[string][]protocol.Diagnostic {
	out := map[string][]protocol.Diagnostic{}
	add := func(d tfdiags.Diagnostic) {
		name, rng := v.placeOf(d, read)
		if name == "" {
			return
		}
		text := d.Summary
		if d.Detail != "" {
			text += "\n\n" + d.Detail
		}
		if d.Address != "" && !strings.Contains(text, d.Address) {
			text += "\n\n(" + d.Address + ")"
		}
		text = v.hide()(text)
		one := protocol.Diagnostic{Range: rng, Severity: protocol.DiagnosticSeverityError, Source: "tofu", Message: text}
		if d.Severity == tfdiags.Warning {
			one.Severity = protocol.DiagnosticSeverityWarning
		}
		if _, ok := d.Extra.(tfdiags.Deprecation); ok {
			one.Tags = []protocol.DiagnosticTag{protocol.DiagnosticTagDeprecated}
		}
		if note, ok := d.Extra.(onlyInPlan); ok {
			one.Severity, one.Source = note.severity, "tofu plan"
		}
		out[name] = append(out[name], one)
	}
	all := v.diagnostics
	if v.plan != nil && !v.outdated {
		for _, d := range v.plan.Diagnostics.Dedup(v.diagnostics) {
			all = all.Append(d)
		}
		if v.plan.View != nil {
			all = all.Append(v.replacements()...).Append(v.deferrals()...)
		}
	}
	for _, d := range all {
		add(d)
	}
	return out
}

// placeOf returns the file and the range of a diagnostic. One without a position is shown at the
// beginning of the first file of the root module.
func (v *view) placeOf(d tfdiags.Diagnostic, read func(string) *parsed) (string, protocol.Range) {
	if d.Subject == nil || d.Subject.Filename == "" || strings.HasPrefix(d.Subject.Filename, "<") {
		if v.config == nil || len(v.config.Module.Files) == 0 {
			return "", protocol.Range{}
		}
		return v.abs(v.config.Module.Files[0]), protocol.Range{}
	}
	name := v.abs(d.Subject.Filename)
	p := read(name)
	if p == nil {
		return "", protocol.Range{}
	}
	return name, p.rangeOf(*d.Subject)
}

// onlyInPlan, as a diagnostic's Extra, indicates that it says what a plan does.
type onlyInPlan struct{ severity protocol.DiagnosticSeverity }

// replacements returns a warning for each resource of which the plan replaces objects.
func (v *view) replacements() tfdiags.Diagnostics {
	var out tfdiags.Diagnostics
	for _, group := range v.changesByBlock() {
		var replaced []*planview.Change
		for _, c := range group {
			if c.Action.IsReplace() {
				replaced = append(replaced, c)
			}
		}
		if len(replaced) == 0 {
			continue
		}
		text := "The plan replaces " + replaced[0].Name()
		if n := len(replaced) - 1; n > 0 {
			text += " and " + ui.Count(n, "other")
		}
		if because := planview.ReplaceReason(replaced[0].InstanceChange); because != "" {
			text += " (" + because + ")"
		}
		fields, _ := replaced[0].Fields()
		var names []string
		for _, f := range fields {
			if f.Forces {
				names = append(names, f.Path)
			}
		}
		if len(names) > 0 {
			text += ", because of " + strings.Join(names, ", ")
		}
		out = append(out, note(protocol.DiagnosticSeverityWarning, replaced[0].Block, "Objects are replaced", text+"."))
	}
	return out
}

func note(severity protocol.DiagnosticSeverity, block *configs.Resource, summary, detail string) tfdiags.Diagnostic {
	d := tfdiags.Warningf(summary, "%s", detail).At(block.Range)
	d.Extra = onlyInPlan{severity}
	return d
}

// deferrals returns a note for each resource whose changes the plan defers.
func (v *view) deferrals() tfdiags.Diagnostics {
	var out tfdiags.Diagnostics
	for _, d := range v.plan.View.Plan.Deferred {
		m := v.config.Descendant(d.Addr.Module.Module())
		if m == nil || m.Module.Resources[d.Addr.Resource] == nil {
			continue
		}
		out = append(out, note(protocol.DiagnosticSeverityInformation, m.Module.Resources[d.Addr.Resource],
			"Deferred", d.Addr.String()+" can't be planned yet: "+d.Because()+"."))
	}
	return out
}

// changesByBlock returns the planned changes of the blocks in the configuration, grouped by block.
func (v *view) changesByBlock() map[hcl.Range][]*planview.Change {
	out := map[hcl.Range][]*planview.Change{}
	if v.plan == nil || v.plan.View == nil {
		return out
	}
	for _, c := range v.shown.Changes {
		if c.Block != nil && c.Action != plans.NoOp {
			out[c.Block.Range] = append(out[c.Block.Range], c)
		}
	}
	return out
}

// difference returns the planned changes of a resource as text, or "". The zero resource means all of
// them.
func (v *view) difference(addr addrs.ConfigResource) string {
	if v.shown == nil {
		return ""
	}
	var changes []*planview.Change
	for _, c := range v.shown.Changes {
		if c.Addr.Config() == addr || addr == (addrs.ConfigResource{}) {
			changes = append(changes, c)
		}
	}
	var b strings.Builder
	for _, g := range planview.Groups(changes) {
		fmt.Fprintf(&b, "%s %s\n", planview.Symbol(g.Action), g.Title())
		if names, _ := g.Members(maxPoints); len(g.Changes) > 1 {
			fmt.Fprintf(&b, "    # %s\n", strings.Join(names, ", "))
		}
		for _, f := range g.Fields {
			b.WriteString("    " + fieldText(f) + "\n")
		}
	}
	return b.String()
}

// fieldText returns a difference in one line.
func fieldText(f planview.Field) string {
	text := planview.Symbol(f.Action) + " " + f.Path + " = "
	after := f.After
	switch {
	case f.Unknown:
		after = "(known after apply)"
	case len(f.Lines) > 0:
		after = ui.Count(len(f.Lines), "line")
	}
	switch {
	case f.Action == plans.Delete:
		text += f.Before
	case f.Before == "":
		text += after
	default:
		text += f.Before + " -> " + after
	}
	if f.Forces {
		text += " # forces replacement"
	}
	return text
}
