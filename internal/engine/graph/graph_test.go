package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// TestTransformers checks that each transformer runs after the transformers in its After field.
func TestTransformers(t *testing.T) {
	done := map[*graph.Transformer]bool{}
	names := map[string]bool{}
	for _, pass := range graph.Transformers() {
		for _, before := range pass.After {
			if !done[before] {
				t.Errorf("%s must run after %s", pass.Name, before.Name)
			}
		}
		if names[pass.Name] || pass.Doc == "" {
			t.Errorf("%q needs a unique name and a Doc sentence", pass.Name)
		}
		done[pass], names[pass.Name] = true, true
	}
}

// TestGraphs compares graphs with the golden sections of the archives in testdata/graphs. The
// configurations in an archive are applied in order. The graphs of the last configuration are in
// the sections "plan graph" and "apply graph". If the archive has a section "undo graph", it holds
// the graph for planning to destroy everything. If there is a section "destroy", the last step
// destroys everything.
func TestGraphs(t *testing.T) {
	testenv.Golden(
		t,
		testenv.Glob(t, "testdata/graphs/*.txtar"),
		func(t *testing.T, in *txtar.Archive) (out *txtar.Archive) {
			dir := t.TempDir()
			var err error
			synctest.Test(t, func(*testing.T) { out, err = drawGraphs(in, dir) })
			if err != nil {
				t.Fatal(err)
			}
			return out
		},
	)
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
	cfg, err := s.Load(steps[len(steps)-1], nil, tfdiags.Drop)
	if err != nil {
		return nil, fmt.Errorf("loading: %w", err)
	}
	plan, err := engine.Plan(ctx, cfg, s.State, s.Env(), opts)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		text, err := graph.Text(ctx, engine.GraphOperation(cfg, s.State, s.Env(), kind, plan))
		if err != nil {
			return nil, err
		}
		if kind != engine.GraphPlan || opts.Mode == plans.Normal {
			out.Files = append(
				out.Files,
				txtar.File{
					Name: graphNames[kind],
					Data: []byte(strings.ReplaceAll(text, "registry.opentofu.org/hashicorp/", "")),
				},
			)
		}
	}
	return out, nil
}
