package postgres_test

import (
	"strings"
	"testing"

	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
)

// TestForeignOutputs checks which changes of another workspace's outputs conflict with a run that
// has read some of them. A run whose user may only read those outputs must also notice the changes.
func TestForeignOutputs(t *testing.T) {
	for _, test := range []struct {
		name    string
		read    plans.OutputsRead
		outputs []string // outputs of the other workspace after a change
		changed string
	}{
		{"nothing", plans.OutputsRead{Names: []string{"x"}}, []string{"x=1", "y=1"}, ""},
		{"another output", plans.OutputsRead{Names: []string{"x"}}, []string{"x=1", "y=2"}, ""},
		{"a read output", plans.OutputsRead{Names: []string{"x", "y"}}, []string{"x=1", "y=2"}, "output.y"},
		{"a removed one", plans.OutputsRead{Names: []string{"x", "y"}}, []string{"x=1"}, "output.y"},
		{"a missing one", plans.OutputsRead{Names: []string{"z"}, Missing: []string{"z"}}, []string{"x=1", "y=2"}, ""},
		{"an added one", plans.OutputsRead{Names: []string{"z"}, Missing: []string{"z"}}, []string{"x=1", "y=1", "z=1"},
			"output.z"},
		{"all, one added", plans.OutputsRead{Names: []string{"x", "y"}, All: true}, []string{"x=1", "y=1", "z=1"}, "output.z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config(t)
			s := open(t, c)
			put(t, s, "net", 1, nil, []string{"x=1", "y=1"})
			put(t, s, "app", 1, []string{"o=a"}, nil)
			reader := role(t, c, "r_reader")
			for _, grant := range []string{"'net', 'outputs'", "'app', 'write'"} {
				if _, err := rows(t, c, "", "SELECT grant_access('r_reader', "+grant+")"); err != nil {
					t.Fatal(err)
				}
			}
			loaded, err := open(t, reader).LoadOutputs(t.Context(), "net", nil)
			if err != nil || !loaded.Exists || loaded.State.Output("y") == nil {
				t.Fatal(loaded, err)
			}
			f := &plans.Footprint{Revision: 1, Foreign: []plans.OutputsRead{test.read}}
			f.Foreign[0].Workspace, f.Foreign[0].Revision = "net", loaded.Revision

			// While a run is in progress, nobody can change an output that it has read.
			run := s.NewRun("app", nil, statemgr.NewLockInfo("apply"))
			if err := run.Claim(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			other := &plans.Footprint{Revision: loaded.Revision}
			if name, found := strings.CutPrefix(test.changed, "output."); found {
				other.Outputs = []string{name}
			}
			changes := s.NewRun("net", nil, statemgr.NewLockInfo("apply"))
			err = changes.Claim(t.Context(), other)
			if held := lockedBy(statemgr.ExplainConflict(err)); (held != nil) != (test.changed != "") || err != nil && held == nil {
				t.Errorf("while the run has claims: %v", err)
			}
			for _, r := range []statemgr.LedgerRun{run, changes} {
				if err := r.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}

			put(t, s, "net", 2, nil, test.outputs)
			for name, at := range map[string]*postgres.Store{"owner": s, "reader of outputs": open(t, reader)} {
				run := at.NewRun("app", nil, statemgr.NewLockInfo("apply"))
				for what, err := range map[string]error{
					"claim": run.Claim(t.Context(), f), "check": at.CheckOutputs(t.Context(), &f.Foreign[0]),
				} {
					switch changed := changedBy(statemgr.ExplainConflict(err)); {
					case (changed != nil) != (test.changed != "") || err != nil && changed == nil:
						t.Errorf("%s, %s: %v", name, what, err)
					case changed != nil && !strings.HasPrefix(changed.What, test.changed+` of the workspace "net"`):
						t.Errorf("%s, %s: %s", name, what, changed.What)
					case changed != nil && (changed.Who == "") != (name != "owner"):
						t.Errorf("%s, %s: changed by %q", name, what, changed.Who)
					}
				}
				if err := run.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
