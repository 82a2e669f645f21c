package sources

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/registry"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

var tool = addrs.Provider{Host: "example.com", Namespace: "acme", Type: "tool"}

func TestParsePattern(t *testing.T) {
	for text, want := range map[string]Pattern{
		"hashicorp/*":       {Host: addrs.DefaultHost, Namespace: "hashicorp", Type: "*"},
		"*/*":               {Host: addrs.DefaultHost, Namespace: "*", Type: "*"},
		"example.com/*/*":   {Host: "example.com", Namespace: "*", Type: "*"},
		"*/*/*":             {Host: "*", Namespace: "*", Type: "*"},
		"Example.com/A/Aws": {Host: "example.com", Namespace: "a", Type: "aws"},
	} {
		if got, err := ParsePattern(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "*", "a", "a/b/c/d", "*/*/tool", "*/tool", "a/b*", "a.example/*/tool",
		"no host/a/b"} {
		if got, err := ParsePattern(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func mirror(t *testing.T, files ...string) Filesystem {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		path := filepath.Join(dir, "example.com/acme/tool", filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		testenv.WriteFile(t, path, "")
	}
	return Filesystem{dir}
}

func versionTexts(v Versions) []string {
	var out []string
	for _, one := range v.List {
		out = append(out, one.String())
	}
	slices.Sort(out)
	return out
}

var linux = depsfile.Platform{OS: "linux", Arch: "amd64"}

// TestCapitals checks that a directory is found whose name has capital letters, as in the sources of
// some providers.
func TestCapitals(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"1.0.0/linux_amd64", "1.1.0/linux_amd64"} {
		if err := os.MkdirAll(filepath.Join(dir, "Example.com/ACME/Tool", path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(dir, "Example.com/ACME/Tool/terraform-provider-Tool_1.2.0_linux_amd64.zip")
	if err := os.WriteFile(archive, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := Filesystem{dir}
	got, err := f.Versions(t.Context(), tool)
	if want := []string{"1.0.0", "1.1.0", "1.2.0"}; err != nil || !slices.Equal(versionTexts(got), want) {
		t.Fatal(versionTexts(got), err)
	}
	pkg, err := f.Package(t.Context(), tool, got.List[0], linux)
	if err != nil || !f.Unpacked(tool, pkg.Version, linux) {
		t.Errorf("%+v, %v", pkg, err)
	}
	if _, err := os.Stat(pkg.Dir); err != nil {
		t.Error(err)
	}
}

func TestFilesystem(t *testing.T) {
	f := mirror(t, "terraform-provider-tool_1.0.0_linux_amd64.zip", "terraform-provider-tool_1.0.0-rc1_linux_amd64.zip",
		"1.1.0/linux_amd64/x", "1.0.0/linux_amd64/x",
		"terraform-provider-tool_2.0.0+b.1_darwin_arm64.zip", "terraform-provider-tool_9.9.9_linux_amd64.tar",
		"terraform-provider-spoon_9.9.9_linux_amd64.zip",
		"terraform-provider-tool_9.9_linux_amd64.zip/", "9.0.0/", "9.1.0/notes", "9.2.0", "v9.3.0/linux_amd64/x",
		"notes.txt", "index.json")
	got, err := f.Versions(context.Background(), tool)
	if want := []string{"1.0.0", "1.0.0-rc1", "1.1.0", "2.0.0+b.1"}; err != nil ||
		!slices.Equal(versionTexts(got), want) {
		t.Errorf("%v, %v", versionTexts(got), err)
	}
	for version, unpacked := range map[string]bool{"1.0.0": true, "1.1.0": true, "1.0.0-rc1": false} {
		v, err := depsfile.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := f.Package(context.Background(), tool, v, linux)
		if err != nil || (pkg.Dir != "") != unpacked || (pkg.Archive != "") == unpacked {
			t.Errorf("%s: %+v, %v", version, pkg, err)
		}
	}
	v, err := depsfile.ParseVersion("2.0.0+b.1")
	if err != nil {
		t.Fatal(err)
	}
	var none *NoPackageError
	if _, err := f.Package(context.Background(), tool, v, linux); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
	var unknown *NoProviderError
	if _, err := (Filesystem{filepath.Join(f.Dir, "none")}).Versions(context.Background(), tool); err == nil ||
		errors.As(err, &unknown) {
		t.Errorf("a mirror that isn't there: %v", err)
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(f.Dir, "example.com/acme/tool/notes.txt")} {
		if _, err := (Filesystem{dir}).Versions(context.Background(), tool); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestMultiAndImplied(t *testing.T) {
	one := mirror(t, "terraform-provider-tool_1.0.0_linux_amd64.zip", "terraform-provider-tool_1.1.0_linux_amd64.zip")
	two := mirror(t, "1.1.0/linux_amd64/x", "1.2.0/linux_amd64/x")
	empty := mirror(t)
	pattern := func(texts ...string) Patterns {
		got, err := patterns(texts)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	v, err := depsfile.ParseVersion("1.1.0")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		source   Source
		versions string
		from     string // directory from which version 1.1.0 is expected
	}{
		"both":        {Multi{{Source: one}, {Source: empty}, {Source: two}}, "1.0.0 1.1.0 1.2.0", one.Dir},
		"other order": {Multi{{Source: two}, {Source: one}}, "1.0.0 1.1.0 1.2.0", two.Dir},
		"included": {Multi{{Source: one, Include: pattern("other/*")},
			{Source: two, Include: pattern("example.com/acme/*")}}, "1.1.0 1.2.0", two.Dir},
		"excluded": {Multi{{Source: one, Include: pattern("*/*/*"), Exclude: pattern("example.com/*/*")},
			{Source: two}}, "1.1.0 1.2.0", two.Dir},
		"none applies": {Multi{{Source: one, Exclude: pattern("*/*/*")}}, "", ""},
		"no method":    {Multi{}, "", ""},
		"implied":      {Implied{Folders: []Filesystem{empty, one}, Direct: two}, "1.0.0 1.1.0", one.Dir},
		"direct":       {Implied{Folders: []Filesystem{empty}, Direct: two}, "1.1.0 1.2.0", two.Dir},
	} {
		got, err := c.source.Versions(context.Background(), tool)
		if strings.Join(versionTexts(got), " ") != c.versions || (err != nil) != (c.versions == "") {
			t.Errorf("%s: %v, %v", name, versionTexts(got), err)
		}
		pkg, err := c.source.Package(context.Background(), tool, v, linux)
		if c.from == "" {
			if err == nil {
				t.Errorf("%s: %+v", name, pkg)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(pkg.Dir+pkg.Archive, c.from) {
			t.Errorf("%s: %+v, %v", name, pkg, err)
		}
	}
}

func TestFromConfig(t *testing.T) {
	dir := t.TempDir()
	client := registry.New(&cliconfig.Config{})
	source, err := FromConfig(&cliconfig.Config{ImpliedDirs: []string{dir, filepath.Join(dir, "none")}}, client)
	if implied, ok := source.(Implied); err != nil || !ok || len(implied.Folders) != 1 {
		t.Errorf("%v %v", source, err)
	}
	cfg := &cliconfig.Config{Methods: []cliconfig.Method{
		{Kind: cliconfig.Direct, Retries: -1, Exclude: []string{"a/*"}},
		{Kind: cliconfig.FilesystemMirror, Location: dir, Include: []string{"*/x/y"}},
		{Kind: cliconfig.NetworkMirror, Location: "https://example.com/m/", Retries: 5, TrustAllHashes: true},
		{Kind: cliconfig.OCIMirror, Location: "example.com/x"},
	}}
	source, err = FromConfig(cfg, client)
	multi, ok := source.(Multi)
	if !ok || len(multi) != 2 || len(tfdiags.FromError(err)) != 2 {
		t.Fatalf("%v %v", source, err)
	}
	if m, ok := multi[1].Source.(*NetworkMirror); !ok || m.Retries != 5 || !m.TrustAllHashes {
		t.Errorf("%+v", multi[1].Source)
	}
}

func TestNewest(t *testing.T) {
	var list []depsfile.Version
	for _, text := range []string{"1.0.0", "1.0.1", "1.0.1+b", "2.0.0-rc1", "0.9.0"} {
		v, err := depsfile.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	if v, ok := Newest(list, depsfile.Acceptable(nil).Has); !ok || v.String() != "1.0.1+b" {
		t.Errorf("%s %v", v, ok)
	}
	if _, ok := Newest(list, func(depsfile.Version) bool { return false }); ok {
		t.Error("something is chosen of nothing")
	}
}
