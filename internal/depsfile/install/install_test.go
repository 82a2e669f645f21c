package install

import (
	"archive/zip"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apparentlymart/go-versions/versions"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/tfdiags"
)

var tool = addrs.Provider{Host: "example.com", Namespace: "acme", Type: "tool"}
var spare = addrs.Provider{Host: "example.com", Namespace: "acme", Type: "spare"}

// bench has a mirror directory, a store and the directories of root modules.
type bench struct {
	*testing.T
	top    string
	store  *pkgstore.Store
	opts   *Options
	events []Event
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, top: t.TempDir()}
	store, err := pkgstore.Open(filepath.Join(b.top, "store"))
	if err != nil {
		t.Fatal(err)
	}
	b.store = store
	b.opts = &Options{Dir: filepath.Join(b.top, "work/providers"), Store: store,
		Source:  sources.Filesystem{Dir: b.path("mirror")},
		Observe: func(e Event) { b.events = append(b.events, e) }}
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.top, name) }

func (b *bench) write(path, content string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		b.Fatal(err)
	}
}

func content(p addrs.Provider, version, platform string) map[string]string {
	return map[string]string{"terraform-provider-" + p.Type + "_v" + version: "program of " + p.String() +
		" " + version + " " + platform, "LICENSE": "free"}
}

// pack writes an archive to the mirror directory.
func (b *bench) pack(p addrs.Provider, version, platform string, files map[string]string) string {
	b.Helper()
	if files == nil {
		files = content(p, version, platform)
	}
	path := b.path("mirror/" + p.String() + "/terraform-provider-" + p.Type + "_" + version + "_" + platform + ".zip")
	b.write(path, "")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

func (b *bench) unpacked(p addrs.Provider, version, platform string) {
	b.Helper()
	for name, text := range content(p, version, platform) {
		b.write(b.path("mirror/"+p.String()+"/"+version+"/"+platform+"/"+name), text)
	}
}

func here() string { return depsfile.CurrentPlatform().String() }

func (b *bench) reqs(pairs ...any) depsfile.Requirements {
	b.Helper()
	reqs := make(depsfile.Requirements)
	for i := 0; i < len(pairs); i += 2 {
		c, err := depsfile.ParseConstraints(pairs[i+1].(string))
		if err != nil {
			b.Fatal(err)
		}
		reqs[pairs[i].(addrs.Provider)] = c
	}
	return reqs
}

func (b *bench) ensure(reqs depsfile.Requirements, prev *depsfile.Locks) *depsfile.Locks {
	b.Helper()
	locks, err := Ensure(context.Background(), reqs, prev, b.opts, tfdiags.Drop)
	if err != nil {
		b.Fatal(err)
	}
	return locks
}

func (b *bench) refuse(reqs depsfile.Requirements, prev *depsfile.Locks, want string) {
	b.Helper()
	locks, err := Ensure(context.Background(), reqs, prev, b.opts, tfdiags.Drop)
	if locks != nil || err == nil {
		b.Fatalf("installed: %s", locks.Bytes())
	}
	if !strings.Contains(err.Error(), want) {
		b.Errorf("%v doesn't say %q", err, want)
	}
}

func (b *bench) version(locks *depsfile.Locks, p addrs.Provider, want string) {
	b.Helper()
	if lock, _ := locks.Provider(p); lock.Version.String() != want {
		b.Errorf("%s is locked in version %s, not %s", p, lock.Version, want)
	}
}

func TestEnsurePacked(t *testing.T) {
	b := newBench(t)
	b.pack(tool, "1.0.0", here(), nil)
	b.pack(tool, "1.1.0", here(), nil)
	b.pack(tool, "2.0.0-beta1", here(), nil)
	var warnings tfdiags.Diagnostics
	locks, err := Ensure(t.Context(), b.reqs(tool, "~> 1.0"), &depsfile.Locks{}, b.opts, warnings.Add)
	if err != nil || len(warnings) != 1 {
		t.Fatal(err, warnings)
	}
	b.version(locks, tool, "1.1.0")
	lock, _ := locks.Provider(tool)
	if len(lock.Hashes) != 1 || lock.Hashes[0].Scheme() != "h1" ||
		depsfile.ConstraintsString(lock.Constraints) != "~> 1.0" {
		t.Errorf("%v", lock)
	}
	target := pkgstore.PackageDir(b.opts.Dir, tool, lock.Version, depsfile.CurrentPlatform())
	if h, err := pkgstore.HashDir(target); err != nil || h != lock.Hashes[0] {
		t.Errorf("%s has %s, %v", target, h, err)
	}
	// Everything is installed, so no source is needed.
	b.opts.Source, b.events = sources.Multi{}, nil
	warnings = nil
	again, err := Ensure(t.Context(), b.reqs(tool, "~> 1.0"), locks, b.opts, warnings.Add)
	if err != nil || len(warnings) != 0 || !again.Equal(locks) {
		t.Errorf("%v %v\n%s", err, warnings, again.Bytes())
	}
	if want := []Event{Reusing{tool}, AlreadyInstalled{tool, lock.Version}}; !slices.Equal(b.events, want) {
		t.Errorf("events: %v", b.events)
	}
	// Another directory is filled from the store.
	b.opts.Dir = b.path("other/providers")
	if again := b.ensure(b.reqs(tool, ""), locks); !again.Equal(locks) {
		t.Errorf("%s", again.Bytes())
	}
}

func TestEnsureUnpackedIsLinked(t *testing.T) {
	b := newBench(t)
	b.pack(tool, "1.0.0", here(), nil)
	b.unpacked(tool, "1.0.0", here())
	locks := b.ensure(b.reqs(tool, ""), nil)
	lock, _ := locks.Provider(tool)
	target := pkgstore.PackageDir(b.opts.Dir, tool, lock.Version, depsfile.CurrentPlatform())
	if to, err := os.Readlink(target); err != nil || to != b.path("mirror/"+tool.String()+"/1.0.0/"+here()) {
		t.Errorf("link to %q, %v", to, err)
	}
}

func TestEnsureUpgradeAndConstraints(t *testing.T) {
	b := newBench(t)
	b.pack(tool, "1.0.0", here(), nil)
	locks := b.ensure(b.reqs(tool, ""), nil)
	b.pack(tool, "1.1.0", here(), nil)
	b.version(b.ensure(b.reqs(tool, ">= 1.0"), locks), tool, "1.0.0")
	b.refuse(b.reqs(tool, ">= 1.1"), locks, "init -upgrade")
	b.opts.Upgrade = true
	upgraded := b.ensure(b.reqs(tool, ""), locks)
	b.version(upgraded, tool, "1.1.0")
	old, _ := locks.Provider(tool)
	if lock, _ := upgraded.Provider(tool); slices.Contains(lock.Hashes, old.Hashes[0]) {
		t.Error("the old release's hash stays")
	}
	if got := b.ensure(b.reqs(), locks); !got.Empty() {
		t.Errorf("without requirements:\n%s", got.Bytes())
	}
}

func TestEnsureRefusals(t *testing.T) {
	b := newBench(t)
	b.pack(tool, "1.0.0", here(), nil)
	b.pack(tool, "3.0.0", "plan9_arm", nil)
	b.pack(spare, "1.0.0", here(), map[string]string{"README": "x"})
	version := versions.MustParseVersion("1.0.0")
	lockWith := func(hashes ...depsfile.Hash) *depsfile.Locks {
		return (&depsfile.Locks{}).With(tool, depsfile.Lock{Version: version, Hashes: hashes})
	}
	wrongZh := depsfile.Hash("zh:" + strings.Repeat("0", 64))
	wrongH1 := depsfile.Hash("h1:1Kpq6sU4hlZn0p5T0SAQT+EPx5elgYe+ZtMgul38tZY=")
	unknown := addrs.Provider{Host: "example.com", Namespace: "acme", Type: "unknown"}
	legacy := addrs.Provider{Host: addrs.DefaultHost, Namespace: "-", Type: "aws"}
	otherBuiltin := addrs.Provider{Host: addrs.BuiltinHost, Namespace: "builtin", Type: "spoon"}
	b.refuse(b.reqs(tool, "1.0.0"), lockWith(wrongZh), "none of the checksums in the lock file")
	b.refuse(b.reqs(tool, "1.0.0"), lockWith(wrongH1, wrongZh), "none of the checksums in the lock file")
	if _, err := os.Stat(b.opts.Dir); err == nil {
		t.Error("a refused package was installed")
	}
	b.refuse(b.reqs(tool, "> 4"), nil, "meets the version constraints")
	b.refuse(b.reqs(tool, "0.0.0"), nil, "0.0.0")
	b.refuse(b.reqs(tool, ""), nil, "isn't available for "+here())
	b.refuse(b.reqs(unknown, ""), nil, "was not found in the local directory")
	b.refuse(b.reqs(unknown, ""), nil, "modules should specify their required_providers")
	b.refuse(b.reqs(spare, ""), nil, "no file named terraform-provider-spare")
	b.refuse(b.reqs(legacy, ""), nil, "replace-provider")
	b.refuse(b.reqs(otherBuiltin, ""), nil, "no built-in provider")
	b.refuse(b.reqs(addrs.BuiltinTerraform, "1.0.0"), nil, "has no versions")
	// One correct hash among wrong ones is enough. The wrong ones are kept.
	locks := b.ensure(b.reqs(tool, "1.0.0"), lockWith(wrongZh, b.hash(tool, "1.0.0")))
	if lock, _ := locks.Provider(tool); len(lock.Hashes) != 3 {
		t.Errorf("%v", lock.Hashes)
	}
}

func (b *bench) hash(p addrs.Provider, version string) depsfile.Hash {
	b.Helper()
	h, err := pkgstore.ArchiveHash(b.path("mirror/" + p.String() + "/terraform-provider-" + p.Type + "_" + version +
		"_" + here() + ".zip"))
	if err != nil {
		b.Fatal(err)
	}
	return h
}

func TestEnsureModifiedPackage(t *testing.T) {
	b := newBench(t)
	b.pack(tool, "1.0.0", here(), nil)
	locks := b.ensure(b.reqs(tool, ""), nil)
	lock, _ := locks.Provider(tool)
	target := pkgstore.PackageDir(b.opts.Dir, tool, lock.Version, depsfile.CurrentPlatform())
	program, err := pkgstore.Executable(target, tool)
	if err != nil {
		t.Fatal(err)
	}
	packages := func() *Packages { return &Packages{Dir: b.opts.Dir, Locks: locks, Store: b.store} }
	if got, err := packages().Program(tool); err != nil || got.Path != program || got.Hash != lock.Hashes[0] {
		t.Fatalf("%v %v", got, err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	b.write(program, "changed")
	if _, err := packages().Program(tool); err == nil || !strings.Contains(err.Error(), "checksums") {
		t.Errorf("a changed program is used: %v", err)
	}
	b.refuse(b.reqs(tool, ""), locks, "if it was modified, delete it")
	if err := os.RemoveAll(target); err != nil {
		t.Fatal(err)
	}
	b.ensure(b.reqs(tool, ""), locks)
	if _, err := packages().Program(tool); err != nil {
		t.Error(err)
	}
}

func TestEnsureCache(t *testing.T) {
	b := newBench(t)
	b.pack(tool, "1.0.0", here(), nil)
	b.opts.Cache = b.path("cache")
	locks := b.ensure(b.reqs(tool, ""), nil)
	lock, _ := locks.Provider(tool)
	cached := pkgstore.PackageDir(b.opts.Cache, tool, lock.Version, depsfile.CurrentPlatform())
	if to, err := os.Readlink(pkgstore.PackageDir(b.opts.Dir, tool, lock.Version, depsfile.CurrentPlatform())); err !=
		nil || to != cached {
		t.Errorf("link to %q, %v", to, err)
	}
	b.opts.Source, b.opts.Dir, b.events = sources.Multi{}, b.path("b"), nil
	b.ensure(b.reqs(tool, ""), locks)
	if want := []Event{Reusing{tool}, FromCache{tool, lock.Version}}; !slices.Equal(b.events, want) {
		t.Errorf("events: %v", b.events)
	}
}

func TestEnsureManyAtOnce(t *testing.T) {
	b := newBench(t)
	b.pack(tool, "1.0.0", here(), nil)
	b.pack(spare, "1.0.0", here(), nil)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			// Open a second store in the same directory, as another process would.
			store, err := pkgstore.Open(b.path("store"))
			if err != nil {
				t.Error(err)
				return
			}
			opts := *b.opts
			opts.Store, opts.Observe, opts.Dir = store, nil, b.path("work/"+string(rune('a'+i%4)))
			if i%2 == 0 {
				opts.Cache = b.path("cache")
				opts.Dir += "-cached"
			}
			if _, err := Ensure(t.Context(), b.reqs(tool, "", spare, ""), nil, &opts, tfdiags.Drop); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	left, err := filepath.Glob(b.path("store/tmp/*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestAdoptAndClash(t *testing.T) {
	b := newBench(t)
	old := addrs.Provider{Host: addrs.LegacyDefaultHost, Namespace: "hashicorp", Type: "tool"}
	now, twin := old, old
	now.Host, twin.Host, twin.Namespace = addrs.DefaultHost, addrs.DefaultHost, "opentofu"
	for _, v := range []string{"1.0.0", "1.1.0"} {
		b.pack(now, v, here(), nil)
		b.pack(twin, v, here(), nil)
	}
	prev := (&depsfile.Locks{}).With(old,
		depsfile.Lock{Version: versions.MustParseVersion("1.0.0"), Hashes: []depsfile.Hash{"zh:1"}})
	var warnings tfdiags.Diagnostics
	locks, err := Ensure(t.Context(), b.reqs(now, "", twin, ""), prev, b.opts, warnings.Add)
	if err != nil {
		t.Fatal(err)
	}
	b.version(locks, now, "1.0.0")
	b.version(locks, twin, "1.1.0")
	if _, ok := locks.Provider(old); ok {
		t.Error("the old entry stays")
	}
	var summaries []string
	for _, d := range warnings {
		summaries = append(summaries, d.Summary)
	}
	if len(summaries) != 3 {
		t.Errorf("%q", summaries)
	}
}

func TestCheck(t *testing.T) {
	b := newBench(t)
	b.pack(tool, "1.0.0", here(), nil)
	locks := b.ensure(b.reqs(tool, ""), nil)
	for name, c := range map[string]struct {
		reqs  depsfile.Requirements
		locks *depsfile.Locks
		dir   string
		want  string
	}{
		"fine":     {b.reqs(tool, "~> 1.0", addrs.BuiltinTerraform, ""), locks, b.opts.Dir, ""},
		"no locks": {b.reqs(tool, ""), &depsfile.Locks{}, b.opts.Dir, "tofu init"},
		"one more": {b.reqs(tool, "", spare, ""), locks, b.opts.Dir, "missing versions with:\n  tofu init"},
		"constraint": {b.reqs(tool, "> 1.0.0"), locks, b.opts.Dir,
			"does not meet the constraints \"> 1.0.0\"\n\nSelect other versions with:\n  tofu init -upgrade"},
		"built in": {b.reqs(addrs.Provider{Host: addrs.BuiltinHost, Namespace: "builtin", Type: "spoon"}, ""), locks,
			b.opts.Dir, "no built-in provider"},
		"no package": {b.reqs(tool, ""), locks, b.path("nowhere"), "there is no package"},
	} {
		diags := tfdiags.FromError(Check(c.reqs, c.locks, c.dir, nil, "tofu init"))
		if c.want == "" && len(diags) > 0 ||
			c.want != "" && (len(diags) != 1 || !strings.Contains(diags[0].Detail, c.want)) {
			t.Errorf("%s: %v", name, diags)
		}
	}
	if err := Check(b.reqs(spare, ""), nil, "", map[addrs.Provider]bool{spare: true}, "tofu init"); err != nil {
		t.Error(err)
	}
}

func TestLocker(t *testing.T) {
	b := newBench(t)
	platforms := []depsfile.Platform{depsfile.CurrentPlatform(), {OS: "plan9", Arch: "arm"}}
	for _, p := range platforms {
		b.pack(tool, "1.0.0", p.String(), nil)
	}
	l := NewLocker(b.opts)
	wrong := depsfile.Hash("zh:" + strings.Repeat("0", 64))
	prev := (&depsfile.Locks{}).With(spare, depsfile.Lock{Version: versions.MustParseVersion("9.0.0")}).
		With(tool, depsfile.Lock{Version: versions.MustParseVersion("1.0.0"), Hashes: []depsfile.Hash{wrong}})
	locks, added, err := l.Lock(t.Context(), b.reqs(tool, "~> 1.0"), prev, platforms)
	if err != nil {
		t.Fatal(err)
	}
	b.version(locks, spare, "9.0.0")
	lock, _ := locks.Provider(tool)
	if len(lock.Hashes) != 3 || !slices.Contains(lock.Hashes, wrong) || len(added) != 2 || !added[0].More ||
		added[0].New {
		t.Errorf("%v %v", lock, added)
	}
	fetched := len(b.events)
	again, added, err := l.Lock(t.Context(), b.reqs(tool, "~> 1.0"), locks, platforms)
	if err != nil || !again.Equal(locks) || added[0].More || len(b.events) != fetched {
		t.Errorf("%v %v, %d events more", err, added, len(b.events)-fetched)
	}
	if _, _, err := l.Lock(t.Context(), b.reqs(tool, ""),
		nil, []depsfile.Platform{{OS: "os", Arch: "none"}}); err == nil {
		t.Error("a platform without package is locked")
	}
	if _, err := os.Stat(b.opts.Dir); err == nil {
		t.Error("something was installed")
	}
}
