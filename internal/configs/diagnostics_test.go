package configs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// Each testdata/*.txtar is a configuration. A comment "# error: summary" or "# warning: summary" at the end of a line says that this
// diagnostic is reported there. What has no place, or lies in a JSON file, is said in the archive's comment: "# error: summary" or
// "# file:line: error: summary". Nothing else may be reported.
func TestDiagnostics(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, diags := loadArchive(archive, nil)
			got, want := places(diags), expectations(archive)
			for _, line := range want {
				if !slices.Contains(got, line) {
					t.Errorf("missing %s", line)
				}
			}
			for _, line := range got {
				if !slices.Contains(want, line) {
					t.Errorf("unexpected %s", line)
				}
			}
		})
	}
}

// loadArchive loads the configuration in an archive, its local modules in place, and checks the arguments of calls when nothing is wrong.
func loadArchive(archive *txtar.Archive, opts *LoadOptions) (*Config, tfdiags.Diagnostics) {
	files := &Snapshot{Files: map[string][]byte{}, Modules: []SnapshotModule{{Dir: "."}}}
	for _, f := range archive.Files {
		files.Files[f.Name] = f.Data
	}
	if opts == nil {
		opts = &LoadOptions{}
	}
	opts.Parser = NewParser(files.FS())
	opts.Resolve = func(req *ModuleRequest) (string, string, tfdiags.Diagnostics) {
		if req.Source.Kind != addrs.LocalModule {
			return "", "", nil
		}
		return req.LocalDir(), "", nil
	}
	cfg, diags := LoadRoot(".", opts)
	if !diags.HasErrors() {
		diags = append(diags, cfg.CheckArguments()...)
	}
	return cfg, diags
}

func places(diags tfdiags.Diagnostics) []string {
	var out []string
	for _, d := range diags {
		at := "-"
		if d.Subject != nil {
			at = fmt.Sprintf("%s:%d", d.Subject.Filename, d.Subject.Start.Line)
		}
		out = append(out, fmt.Sprintf("%s: %s: %s", at, d.Severity, d.Summary))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var elsewhere = regexp.MustCompile(`^# (?:(\S+:\d+): )?(error|warning): (.*)$`)

func expectations(archive *txtar.Archive) []string {
	var out []string
	for _, line := range strings.Split(string(archive.Comment), "\n") {
		if m := elsewhere.FindStringSubmatch(line); m != nil {
			at := m[1]
			if at == "" {
				at = "-"
			}
			out = append(out, fmt.Sprintf("%s: %s: %s", at, m[2], m[3]))
		}
	}
	for _, f := range archive.Files {
		for i, line := range strings.Split(string(f.Data), "\n") {
			for _, note := range strings.Split(line, " # ")[1:] {
				if strings.HasPrefix(note, "error: ") || strings.HasPrefix(note, "warning: ") {
					out = append(out, fmt.Sprintf("%s:%d: %s", f.Name, i+1, note))
				}
			}
		}
	}
	return out
}
