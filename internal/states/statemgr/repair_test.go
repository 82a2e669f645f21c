package statemgr_test

import (
	"os"
	"testing"

	"tofu/internal/tfdiags"
)

// TestRepairKeepsProvider checks that objects restored from the backup keep the provider of the
// newer state.
func TestRepairKeepsProvider(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	instances := func(provider string, keys ...string) string {
		text := `"resources":[{"mode":"managed","type":"t","name":"x","provider":"provider[\"example.com/` + provider +
			`\"]","instances":[`
		for i, key := range keys {
			if i > 0 {
				text += ","
			}
			text += `{"index_key":"` + key + `","attributes":{}}`
		}
		return text
	}
	write("terraform.tfstate", `{"version":4,"serial":3,"lineage":"l",`+instances("a/new", "0"))
	write("terraform.tfstate.backup", `{"version":4,"serial":2,"lineage":"l",`+instances("a/old", "0", "1", "2")+"]}]}")
	r, err := open(t).Examine(t.Context())
	if err != nil || r.Objects != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	for res := range r.State.Resources() {
		if got := res.Provider.String(); got != `provider["example.com/a/new"]` {
			t.Errorf("the provider is %s", got)
		}
	}
}

func TestEmptyFiles(t *testing.T) {
	for name, wrong := range map[string]bool{"": false, "terraform.tfstate.backup": true,
		"terraform.tfstate.journal": true,
		"errored.tfstate":           true, "errored.2.tfstate": true} {
		t.Chdir(t.TempDir())
		for _, path := range []string{"terraform.tfstate", name} {
			if path == "" {
				continue
			}
			content := "{}"
			if path == "terraform.tfstate" {
				content = ""
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		snap, err := open(t).Read(t.Context(), tfdiags.Drop)
		if (err != nil) != wrong {
			t.Errorf("with %q: %v", name, err)
		}
		if !wrong && snap.Exists {
			t.Error("an empty file is a state")
		}
	}
}
