package session

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tofu/internal/configs"
)

// TestPackSnapshot checks the names of files in plans, which are OpenTofu's, and that each file is
// there once even if several calls use its module.
func TestPackSnapshot(t *testing.T) {
	want := &configs.Snapshot{
		Modules: []configs.SnapshotModule{
			{Path: "", Dir: "."},
			{Path: "a", Dir: filepath.Join("mods", "a"), Source: "./mods/a"},
			{Path: "a.in", Dir: filepath.Join("mods", "a", "in"), Source: "./in"},
			{Path: "b", Dir: filepath.Join("mods", "a"), Source: "./mods/a"},
			{Path: "empty", Dir: "empty", Source: "./empty"},
			{Path: "out", Dir: filepath.Join("..", "out"), Source: "../out"},
			{Path: "über", Dir: filepath.Join(".terraform", "modules", "über"), Source: "example.com/x/y/z", Version: "1.2.0"},
		},
		Files: map[string][]byte{},
	}
	for _, name := range []string{"main.tf", "b.tofu", "mods/a/main.tf", "mods/a/in/main.tf.json", "../out/main.tf",
		".terraform/modules/über/main.tf"} {
		want.Files[filepath.FromSlash(name)] = []byte(name)
	}
	packed, err := packSnapshot(want)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"m-/b.tofu", "m-/main.tf", "m-a.in/main.tf.json", "m-a/main.tf", "m-out/main.tf",
		"m-über/main.tf", "modules.json"}
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(packed))); diff != "" {
		t.Error(diff)
	}
	const manifest = `[{"Key":"","Dir":"."},{"Key":"a","Source":"./mods/a","Dir":"mods/a"},` +
		`{"Key":"a.in","Source":"./in","Dir":"mods/a/in"},{"Key":"b","Source":"./mods/a","Dir":"mods/a"},` +
		`{"Key":"empty","Source":"./empty","Dir":"empty"},{"Key":"out","Source":"../out","Dir":"../out"},` +
		`{"Key":"über","Source":"example.com/x/y/z","Version":"1.2.0","Dir":".terraform/modules/über"}]`
	if diff := cmp.Diff(manifest, string(packed[snapshotManifest])); diff != "" {
		t.Error(diff)
	}
	got, err := unpackSnapshot(packed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
