package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
)

// TestTransformers holds the order of the passes against what each says must come before it.
func TestTransformers(t *testing.T) {
	done := map[*engine.Transformer]bool{}
	names := map[string]bool{}
	for _, pass := range engine.Transformers() {
		for _, before := range pass.After {
			if !done[before] {
				t.Errorf("%s has to come after %s", pass.Name, before.Name)
			}
		}
		if names[pass.Name] || pass.Doc == "" {
			t.Errorf("%q needs a name of its own and a sentence of what it does", pass.Name)
		}
		done[pass], names[pass.Name] = true, true
	}
}

// TestGraphs draws graphs. The archives in testdata/graph have steps like those of sessions; all but the last are applied, and the
// last one's graphs are in the golden sections "plan graph" and "apply graph", and in "undo graph" where there is such a section. A
// section "destroy" makes it a destruction.
func TestGraphs(t *testing.T) {
	files, err := filepath.Glob("testdata/graph/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no graphs: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			golden(t, path, func(t *testing.T, in *txtar.Archive) (out *txtar.Archive, err error) {
				dir := t.TempDir()
				synctest.Test(t, func(*testing.T) { out, err = drawGraphs(in, dir) })
				return out, err
			})
		})
	}
}

var graphNames = map[engine.GraphKind]string{
	engine.GraphPlan: "plan graph", engine.GraphApply: "apply graph", engine.GraphPlanDestroy: "undo graph",
}

func drawGraphs(in *txtar.Archive, dir string) (*txtar.Archive, error) {
	out := &txtar.Archive{Comment: in.Comment}
	var steps []map[string]string
	opts := &engine.PlanOptions{}
	kinds := []engine.GraphKind{engine.GraphPlan, engine.GraphApply}
	for _, f := range in.Files {
		if strings.HasSuffix(f.Name, " graph") {
			if f.Name == graphNames[engine.GraphPlanDestroy] {
				kinds = append(kinds, engine.GraphPlanDestroy)
			}
			continue
		}
		out.Files = append(out.Files, f)
		base, isStep := strings.CutSuffix(f.Name, ".tf")
		switch {
		case f.Name == "destroy":
			opts.Mode = plans.Destroy
		case isStep && !strings.Contains(base, "/"):
			steps = append(steps, map[string]string{"main.tf": string(f.Data)})
		default:
			_, name, _ := strings.Cut(f.Name, "/")
			steps[len(steps)-1][name] = string(f.Data)
		}
	}
	s := enginetest.NewSession(dir)
	for _, files := range steps[:len(steps)-1] {
		if got, err := s.Do(&enginetest.Step{Files: files}); err != nil || got.Problems != "" {
			return nil, fmt.Errorf("%w%s", err, got.Problems)
		}
	}
	ctx := context.Background()
	cfg, diags, err := s.Load(steps[len(steps)-1], nil)
	if err != nil || diags.HasErrors() {
		return nil, fmt.Errorf("loading: %w %w", err, diags.Err())
	}
	plan, diags := engine.Plan(ctx, cfg, s.State, s.Env(), opts)
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	for _, kind := range kinds {
		text, diags := engine.GraphText(ctx, cfg, s.State, s.Env(), kind, plan)
		if diags.HasErrors() {
			return nil, diags.Err()
		}
		if kind != engine.GraphPlan || opts.Mode == plans.Normal {
			out.Files = append(out.Files, txtar.File{Name: graphNames[kind], Data: []byte(strings.ReplaceAll(text, "registry.opentofu.org/hashicorp/", ""))})
		}
	}
	return out, nil
}
