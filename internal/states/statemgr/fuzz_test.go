package statemgr_test

import (
	"os"
	"testing"

	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

func FuzzJournal(f *testing.F) {
	const begin = `{"kind":"begin","header":{"journal":1,"program":"x","who":"me","pid":1,"workspace":"default",` +
		`"lineage":"l","exists":true},"serial":5}` + "\n"
	for _, entries := range []string{
		`{"kind":"start","addr":"lab_object.a[0]","provider":"provider[\"a/b\"]","action":"create",` +
			`"planned":"kq9bIm9iamVjdCIse31dgA==","time":"2024-01-01T00:00:00Z"}` + "\n",
		`{"kind":"store","addr":"lab_object.a[\"x\"]","deposed":"00000001","provider":"provider[\"a/b\"]",` +
			`"object":{"schema_version":0,"attributes":{"id":"1"}}}` + "\n",
		`{"kind":"store","addr":"lab_object.a[0]","object":null}` + "\n" + `{"kind":"snapshot","serial":6}` + "\n" +
			`{"kind":"end","addr":"lab_object.a[0]"}`,
	} {
		f.Add([]byte(begin + entries))
	}
	f.Fuzz(func(t *testing.T, journal []byte) {
		t.Chdir(t.TempDir())
		writeState(t, state("x"), 5)
		if err := os.WriteFile("terraform.tfstate.journal", journal, 0o600); err != nil {
			t.Fatal(err)
		}
		m := open(t)
		snap, err := m.Read(t.Context(), tfdiags.Drop)
		if err != nil {
			return
		}
		check(t, m.Save(t.Context(), snap.State))
		after, err := open(t).Read(t.Context(), tfdiags.Drop)
		if err != nil || !statefile.Equal(after.State, snap.State) {
			t.Errorf("the saved state differs from the recovered one: %v", err)
		}
	})
}
