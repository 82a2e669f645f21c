package statefile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/states"
	"tofu/internal/states/statefile"
)

func countObjects(s *states.State) (n int) {
	for r := range s.Resources() {
		for _, inst := range r.Instances {
			for range inst.Objects() {
				n++
			}
		}
	}
	return n
}

// TestSalvageTruncated checks that Salvage reads all objects before the end of a truncated state.
func TestSalvageTruncated(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := statefile.Parse(data)
		if err != nil || !strings.Contains(string(data), `"version": 4`) {
			continue
		}
		before := 0
		for n := 0; n < len(data); n += 31 {
			f, problems := statefile.Salvage(data[:n])
			got := countObjects(f.State)
			if got < before || len(problems) == 0 && strings.TrimSpace(string(data[n:])) != "" {
				t.Fatalf("%s: %d bytes: %d objects, %d in a shorter text; problems %q", path, n, got, before, problems)
			}
			before = got
		}
		f, problems := statefile.Salvage(data)
		f.State.Checks, whole.State.Checks = nil, nil // salvage may drop them
		whole.State.Prune()
		if len(problems) > 0 || !statefile.Equal(f.State, whole.State) || f.Serial != whole.Serial ||
			f.Lineage != whole.Lineage {
			t.Errorf("%s: salvaging the whole file differs from parsing it: %q", path, problems)
		}
	}
}

func TestSalvageDamaged(t *testing.T) {
	text, err := os.ReadFile("testdata/damaged.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	f, problems := statefile.Salvage(text)
	if got := countObjects(f.State); got != 2 || f.Lineage != "l" || f.State.Output("good") == nil ||
		len(problems) != 4 {
		t.Errorf("%d objects, %q", got, problems)
	}
}
