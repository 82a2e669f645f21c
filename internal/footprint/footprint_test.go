package footprint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/engine/graph"
	"tofu/internal/footprint"
	"tofu/internal/graphview"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// TestFootprints compares the footprints of plans. An archive has the sections
//
//	before.tf, before/FILE   a configuration that is applied first
//	edit                     changes objects: lines "ID ATTR VALUE", or "ID" to delete
//	after.tf, after/FILE     the configuration to plan; "same" means the files of "before"
//	target                   an address that the plan is limited to
//	footprint                the result
func TestFootprints(t *testing.T) {
	testenv.Golden(t, testenv.Glob(t, "testdata/*.txtar"), func(t *testing.T, in *txtar.Archive) *txtar.Archive {
		text := map[string]string{}
		out := &txtar.Archive{Comment: in.Comment}
		for _, f := range in.Files {
			text[f.Name] = string(f.Data)
			if f.Name != "footprint" {
				out.Files = append(out.Files, f)
			}
		}
		s := enginetest.NewSession(t.TempDir())
		files := configuration(text, "before")
		if text["before.tf"] != "" {
			got, err := s.Do(&enginetest.Step{Files: files})
			if err != nil || strings.Contains(got.Problems, "error") {
				t.Fatal(err, got)
			}
		}
		for line := range strings.Lines(text["edit"]) {
			parts := append(strings.SplitN(strings.TrimSpace(line), " ", 3), "", "")
			s.Cloud.Edit(parts[0], parts[1], parts[2])
		}
		if strings.TrimSpace(text["after.tf"]) != "same" {
			files = configuration(text, "after")
		}
		out.Files = append(out.Files, txtar.File{Name: "footprint", Data: []byte(planned(t, s, files, text["target"]))})
		return out
	})
}

// configuration returns the files of the configuration with the given name in an archive.
func configuration(text map[string]string, name string) map[string]string {
	out := map[string]string{}
	for path, content := range text {
		if path == name+".tf" {
			out["main.tf"] = content
		} else if rest, ok := strings.CutPrefix(path, name+"/"); ok {
			out[rest] = content
		}
	}
	return out
}

// planned plans the configuration in files and returns the footprint of the plan as text.
func planned(t *testing.T, s *enginetest.Session, files map[string]string, target string) string {
	t.Helper()
	cfg, err := s.Load(files, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	opts := &engine.PlanOptions{}
	target = strings.TrimSpace(target)
	if target != "" {
		selected, err := addrs.ParseTargetText(target)
		if err != nil {
			t.Fatal(err)
		}
		opts.Targets = append(opts.Targets, selected)
	}
	env := s.Env()
	plan, err := engine.Plan(t.Context(), cfg, s.State, env, opts)
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Build(t.Context(), engine.GraphOperation(cfg, s.State, env, engine.GraphPlan, nil))
	if err != nil {
		t.Fatal(err)
	}
	return describe(footprint.Of(graphview.Build(g, nil, nil),
		plan, statemgr.ChangedInstances(s.State, plan.Prior), s.State))
}

func describe(f *plans.Footprint) string {
	var lines []string
	for _, w := range f.Writes {
		line := "write " + w.Addr.String()
		if !w.Existed {
			line += ", which does not exist"
		}
		if w.Destroys {
			line += ", destroying"
		}
		lines = append(lines, line)
	}
	for _, name := range f.Outputs {
		lines = append(lines, "write output."+name)
	}
	for _, addr := range f.Reads {
		lines = append(lines, fmt.Sprint("read ", addr))
	}
	for _, addr := range f.Wholes {
		lines = append(lines, fmt.Sprint("read ", addr, " as a whole"))
	}
	slices.Sort(lines)
	return strings.Join(append(lines, ""), "\n")
}
