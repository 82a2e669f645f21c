package ui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/tools/txtar"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/termtext"
)

// TestViews compares each view of a plan at three widths. The archives contain the
// configuration, the plan, and the expected views. Values with "hush" are secret.
func TestViews(t *testing.T) {
	text, err := os.ReadFile("testdata/view_schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	schemas := lookup(loadSchemas(t, text))
	files := testenv.Glob(t, "testdata/views/*.txtar")
	if len(files) < 40 {
		t.Errorf("only %d plans", len(files))
	}
	testenv.Golden(t, files, func(t *testing.T, archive *txtar.Archive) *txtar.Archive {
		out := &txtar.Archive{Comment: archive.Comment}
		var plan []byte
		config := make(map[string][]byte)
		for _, f := range archive.Files {
			switch {
			case f.Name == "plan.json":
				plan = f.Data
			case strings.HasSuffix(f.Name, ".tf"):
				config[f.Name] = f.Data
			default:
				continue
			}
			out.Files = append(out.Files, f)
		}
		for _, name := range cliconfig.Views {
			for _, width := range []int{40, 80, 200} {
				got := renderView(t, name, width, plan, config, schemas)
				out.Files = append(out.Files, txtar.File{Name: fmt.Sprintf("%s at %d columns", name, width), Data: got})
			}
		}
		return out
	})
}

// markers matches the marks of changed words without colors: lines of carets, and comments.
var markers = regexp.MustCompile(`(?m)^ +\^[ ^]*\n|^ +# changed: ".*\n| # ("[^\n]*|nothing) -> ("[^\n]*|nothing)$`)

func renderView(
	t *testing.T, name string, width int, plan []byte, config map[string][]byte, schemas Schemas,
) []byte {
	view := loadPlan(t, plan, schemas)
	view.Config = loadConfig(t, config)
	var options struct{ Hide []string }
	if err := json.Unmarshal(plan, &options); err != nil {
		t.Fatal(err)
	}
	o := Options{Terminal: true, Width: width}
	if name != "full" {
		o.View = PlanTextView{Name: name, Hide: options.Hide}
	}
	var plain, colored bytes.Buffer
	o.Out = &plain
	NewHuman(o).Plan(view)
	o.Out, o.Color = &colored, true
	NewHuman(o).Plan(view)
	if got := termtext.Plain(colored.String()); got != markers.ReplaceAllString(plain.String(), "") {
		t.Errorf("%s at %d: colors change the text:\n%s", name, width, got)
	}
	if strings.Contains(plain.String(), "hush") {
		t.Errorf("%s at %d shows a secret", name, width)
	}
	viewed := view.Plan.Mode != plans.RefreshOnly && !strings.Contains(plain.String(), "No changes.")
	paste := false
	for line := range strings.Lines(plain.String()) {
		line = strings.TrimSuffix(line, "\n")
		paste = strings.HasPrefix(line, "    moved {") || paste && line != ""
		if name != "full" && viewed && !paste && termtext.Width(line) > width {
			t.Errorf("%s: a line of %d columns at %d: %s", name, termtext.Width(line), width, line)
		}
		if strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%s has control characters: %q", name, line)
		}
	}
	return plain.Bytes()
}

// loadConfig loads a configuration. Each called module is in a directory with the name of the
// call.
func loadConfig(t *testing.T, files map[string][]byte) *configs.Config {
	t.Helper()
	snapshot := &configs.Snapshot{Files: files, Modules: []configs.SnapshotModule{{Dir: "."}}}
	for name := range files {
		if dir := path.Dir(name); dir != "." {
			snapshot.Modules = append(snapshot.Modules, configs.SnapshotModule{
				Path: addrs.Module(strings.ReplaceAll(dir, "/", ".")), Dir: dir, Source: "./" + path.Base(dir)})
		}
	}
	slices.SortFunc(snapshot.Modules, func(a, b configs.SnapshotModule) int { return cmp.Compare(a.Path, b.Path) })
	cfg, err := configs.LoadSnapshot(t.Context(), snapshot, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
