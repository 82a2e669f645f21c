package postgres_test

import (
	"errors"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
)

// TestLateResults checks a run that could not store its results immediately. They are stored at the
// end of the run, or by pushing errored.tfstate. In both cases, the history must show which objects
// the run has created and destroyed, without the imported and forgotten ones.
func TestLateResults(t *testing.T) {
	for name, pushed := range map[string]bool{"stored at the end": false, "pushed": true} {
		t.Run(name, func(t *testing.T) {
			c := config(t)
			s := open(t, c)
			fill(t, manager(t, s), 2)
			then, err := s.Moment(t.Context(), ws, runs(t, s)[0])
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			m := statemgr.Open(s, ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: dir})
			if err := m.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
				t.Fatal(err)
			}
			snap := read(t, m)
			created, imported, destroyed, forgotten := addr("created", 0), addr("imported", 0), addr("a", 0), addr("a", 1)
			if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State,
				Footprint: footprintOf(snap, created, imported, destroyed, forgotten)}); err != nil {
				t.Fatal(err)
			}
			refuseWrites(t, c, true)
			if !pushed {
				// refuseWrites doesn't prevent the removal of objects, but this trigger does.
				execute(t, "CREATE TRIGGER refuse_removal BEFORE DELETE ON "+table(c, "object")+
					" EXECUTE FUNCTION refuse()")
			}
			restore := postgres.SetRetry(0)
			defer restore()
			final := snap.State.Clone()
			made := object("created")
			m.Started(statemgr.Operation{Addr: created, Action: plans.Create, Provider: provider})
			m.Stored(created, addrs.NotDeposed, made, provider)
			m.Started(statemgr.Operation{Addr: destroyed, Action: plans.Delete, Provider: provider})
			m.Stored(destroyed, addrs.NotDeposed, nil, provider)
			final.SetCurrent(created, made, provider)
			final.SetCurrent(destroyed, nil, provider)
			final.SetCurrent(imported, object("imported"), provider)
			final.SetCurrent(forgotten, nil, provider)
			if !pushed {
				execute(t, "DROP TRIGGER refuse_removal ON "+table(c, "object"))
				refuseWrites(t, c, false)
			}
			err = m.Save(t.Context(), final)
			if (err != nil) != pushed {
				t.Fatalf("saving: %v", err)
			}
			if pushed {
				refuseWrites(t, c, false)
				err = pushErrored(t, c, dir)
			}
			if err := errors.Join(err, m.Unlock()); err != nil {
				t.Fatal(err)
			}
			out, err := s.Turnover(t.Context(), ws, then)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Created) != 1 || !out.Created[created] {
				t.Errorf("created: %v", out.Created)
			}
			if len(out.Destroyed) != 1 || !out.Destroyed[destroyed] {
				t.Errorf("destroyed: %v", out.Destroyed)
			}
		})
	}
}
