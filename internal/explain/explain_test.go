package explain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/engine/graph"
	"tofu/internal/explain"
	"tofu/internal/providers"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// secret is a sensitive value in the configurations of the archives. No answer may contain it.
const secret = "hush"

// TestAnswers compares the answers to questions about plans. An archive contains the configuration
// that is applied first (before/FILE), the configuration that is planned (after/FILE), changes made
// outside of OpenTofu (edit), and options for the plan. The expected answers follow, in sections
// with the name "explain ADDRESS".
func TestAnswers(t *testing.T) {
	testenv.Golden(t, testenv.Glob(t, "testdata/*.txtar"), func(t *testing.T, in *txtar.Archive) *txtar.Archive {
		s := subjectOf(t, in)
		out := &txtar.Archive{Comment: in.Comment}
		for _, f := range in.Files {
			if address, ok := strings.CutPrefix(f.Name, "explain "); ok {
				f.Data = []byte(answerText(t, s, address))
			}
			out.Files = append(out.Files, f)
		}
		return out
	})
}

// answerText returns the answer for an address, or the error. It also checks that the JSON form
// contains no secret.
func answerText(t *testing.T, s *explain.Subject, address string) string {
	answer, err := ask(t.Context(), s, address)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var text, document bytes.Buffer
	if err := answer.WriteText(&text, 0); err != nil {
		t.Fatal(err)
	}
	if err := answer.WriteJSON(&document); err != nil || !json.Valid(document.Bytes()) {
		t.Fatalf("not a document: %v\n%s", err, &document)
	}
	for _, out := range []string{text.String(), document.String()} {
		if strings.Contains(out, secret) {
			t.Errorf("the answer about %s has a secret:\n%s", address, out)
		}
	}
	checkWrapped(t, answer, text.String())
	return strings.ReplaceAll(text.String(), s.View.Config.Module.Dir+"/", "")
}

// checkWrapped checks that an answer on a narrow terminal has the same text as whole, and that its
// lines fit.
func checkWrapped(t *testing.T, answer *explain.Answer, whole string) {
	t.Helper()
	const columns = 40
	var narrow bytes.Buffer
	if err := answer.WriteText(&narrow, columns); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(narrow.String()) {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if termtext.Width(text) > max(columns-indent, 12) {
			t.Errorf("a line of more than %d columns: %s", columns, line)
		}
	}
	letters := func(text string) string { return strings.Join(strings.Fields(text), "") }
	if letters(narrow.String()) != letters(whole) {
		t.Errorf("at %d columns, the text is another one:\n%s", columns, narrow.String())
	}
}

// ask explains an address in the same way as the command does.
func ask(ctx context.Context, s *explain.Subject, address string) (*explain.Answer, error) {
	value, isValue, err := addrs.ParseValueText(address)
	if err != nil {
		return nil, err
	}
	if output, ok := value.Value.(addrs.OutputValue); ok && value.Module.IsRoot() {
		return explain.Output(s, output.Name)
	}
	if isValue {
		return explain.Value(ctx, s, value)
	}
	target, err := addrs.ParseTargetText(address)
	if err != nil {
		return nil, err
	}
	return explain.Explain(ctx, s, target)
}

// subjectOf applies and plans the configurations in an archive.
func subjectOf(t testing.TB, in *txtar.Archive) *explain.Subject {
	t.Helper()
	before, after := map[string]string{}, map[string]string{}
	step := &enginetest.Step{}
	s := enginetest.NewSession(t.TempDir())
	var edits string
	for _, f := range in.Files {
		switch folder, name, _ := strings.Cut(f.Name, "/"); folder {
		case "before":
			before[name] = string(f.Data)
		case "after":
			after[name] = string(f.Data)
		case "edit":
			edits = string(f.Data)
		case "options":
			for line := range strings.Lines(string(f.Data)) {
				if err := step.SetOption(strings.TrimSpace(line)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	first, err := s.Do(&enginetest.Step{Files: before})
	if err != nil || strings.Contains(first.Problems, "error") {
		t.Fatalf("the first apply failed: %v\n%s", err, first.Problems)
	}
	for line := range strings.Lines(edits) {
		words := append(strings.Fields(line), "", "")
		s.Cloud.Edit(words[0], words[1], words[2])
	}
	return plannedSubject(t, s, after, &step.Plan)
}

// plannedSubject plans a configuration and returns the plan as a Subject.
func plannedSubject(
	t testing.TB, s *enginetest.Session, files map[string]string, opts *engine.PlanOptions,
) *explain.Subject {
	t.Helper()
	cfg, err := s.Load(files, opts.Variables, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	env := s.Env()
	plan, err := engine.Plan(t.Context(), cfg, s.State, env, opts)
	if err != nil {
		t.Fatal(err)
	}
	op := engine.GraphOperation(cfg, plan.Prior, env, engine.GraphApply, plan)
	g, err := graph.Build(t.Context(), op)
	if err != nil {
		t.Fatal(err)
	}
	schema := func(p addrs.Provider, r addrs.Resource) *providers.ResourceSchema {
		found, _ := env.Schema(t.Context(), p)
		return found.Table(r.Mode).Type(r.Type)
	}
	return &explain.Subject{View: &planview.Source{Plan: plan, Config: cfg, Schema: schema}, Graph: g,
		Keys:     op.Early(g),
		Versions: map[addrs.Provider]string{enginetest.Address: "1.2.3"},
		Values: func(ctx context.Context) (*engine.PlannedValues, error) {
			return engine.EvalPlanned(ctx, cfg, plan, env)
		}}
}
