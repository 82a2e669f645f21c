package planview_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/providers"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/planview"
)

// TestViews compares the content of views of a plan with golden files. An archive has these
// sections:
//
//	before.tf, before/FILE   configuration that is applied first
//	edit                     changes made outside of OpenTofu: lines "ID ATTR VALUE", or "ID" to delete
//	after.tf, after/FILE     configuration to plan; if missing, that of before.tf and before/FILE
//	hide                     names of attributes whose differences are hidden
//	view                     expected result
func TestViews(t *testing.T) {
	testenv.Golden(t, testenv.Glob(t, "testdata/*.txtar"), func(t *testing.T, in *txtar.Archive) *txtar.Archive {
		text := map[string]string{}
		out := &txtar.Archive{Comment: in.Comment}
		for _, f := range in.Files {
			text[f.Name] = string(f.Data)
			if f.Name != "view" {
				out.Files = append(out.Files, f)
			}
		}
		s, after, err := enginetest.ApplyBefore(in, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text["edit"]) {
			parts := append(strings.SplitN(strings.TrimSpace(line), " ", 3), "", "")
			s.Cloud.Edit(parts[0], parts[1], parts[2])
		}
		view := describe(viewOf(t, s, after, strings.Fields(text["hide"])))
		view = directory.ReplaceAllString(view, "")
		out.Files = append(out.Files, txtar.File{Name: "view", Data: []byte(view)})
		return out
	})
}

// directory matches the directory of the configuration in the description of a view.
var directory = regexp.MustCompile(`[^" (]*/step\d+/`)

// viewOf plans a configuration and prepares the plan for review.
func viewOf(t *testing.T, s *enginetest.Session, files map[string]string, hide []string) *planview.Plan {
	t.Helper()
	cfg, err := s.Load(files, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	env := s.Env()
	plan, err := engine.Plan(t.Context(), cfg, s.State, env, &engine.PlanOptions{Defer: true})
	if err != nil {
		t.Fatal(err)
	}
	schema := func(p addrs.Provider, r addrs.Resource) *providers.ResourceSchema {
		found, _ := env.Schema(t.Context(), p)
		return found.Table(r.Mode).Type(r.Type)
	}
	return planview.New(&planview.Source{Plan: plan, Config: cfg, Schema: schema},
		planview.Options{Hide: hide, Spread: 40})
}

// describe returns everything that a view shows, as text.
func describe(p *planview.Plan) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	lines := func(fields []planview.Field) {
		for _, l := range planview.Text(fields) {
			indent := "    "
			if l.Nested {
				indent = "        "
			}
			line("%s%s%s", indent, planview.Symbol(l.Action), l.Text)
		}
	}
	for _, g := range p.Groups() {
		line("%s (%s)", g.Title(), kinds[g.Kind])
		for _, c := range g.Changes {
			heading, notes := planview.Heading(c.InstanceChange, false)
			line("  %s", heading)
			for _, note := range append(notes, planview.ReplaceReason(c.InstanceChange)) {
				if note != "" {
					line("    %s", note)
				}
			}
		}
		lines(g.Fields)
		if g.Hidden > 0 {
			line("    %d hidden", g.Hidden)
		}
	}
	for _, c := range p.Drift {
		heading, _ := planview.Heading(c.InstanceChange, true)
		line("outside: %s", heading)
		lines(c.RelevantFields())
	}
	for _, d := range p.Deferred() {
		line("deferred: %s, because %s", d.Addr, d.Because())
	}
	for _, o := range p.Outputs {
		line("output %s", o.Name)
		lines(o.Fields)
	}
	for _, r := range p.Renames {
		line("%d renamed? In module %q:\n%s", r.Objects, r.Module, r.MovedBlock())
	}
	line("%s", p.Counts)
	return b.String()
}

var kinds = map[planview.Kind]string{
	planview.Destroyed: "destroyed", planview.Replaced: "replaced", planview.Forgotten: "forgotten",
	planview.Updated: "updated", planview.Created: "created", planview.Imported: "imported", planview.Read: "read",
	planview.Moved: "moved",
}
