package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/providers"
)

func newPool(t *testing.T, find func(addrs.Provider) (Launch, error)) *Pool {
	pool := &Pool{Find: func(_ context.Context, addr addrs.Provider) (Launch, error) { return find(addr) }}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

func processID(t *testing.T, p providers.Interface) string {
	t.Helper()
	return p.(*pooled).Interface.(*client).process.client.ID()
}

func TestPoolReusesProcesses(t *testing.T) {
	finds := 0
	pool := newPool(t, func(addrs.Provider) (Launch, error) {
		finds++
		return launch(t, "files", "FILES_ROOT="+t.TempDir()), nil
	})
	schema, diags := pool.Schema(t.Context(), address("files"))
	noErrors(t, diags)
	again, _ := pool.Schema(t.Context(), address("files"))
	if again != schema {
		t.Error("the schema is fetched twice")
	}
	provider := func() providers.Interface {
		p, err := pool.Provider(t.Context(), address("files"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := provider()
	second := provider()
	if processID(t, first) == processID(t, second) {
		t.Error("two users share a process")
	}
	if own, _ := second.Schema(t.Context()); own != schema {
		t.Error("the second process decodes the schema anew")
	}
	id := processID(t, first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third := provider()
	if processID(t, third) != id {
		t.Error("an unconfigured process isn't used again")
	}
	config := object(t, schema.Provider, map[string]cty.Value{})
	noErrors(t, third.Configure(t.Context(), config))
	if err := errors.Join(third.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	if fourth := provider(); processID(t, fourth) == id {
		t.Error("a configured process is used again")
	}
	if finds != 1 {
		t.Errorf("looked for %d times", finds)
	}
}

// TestPrepare checks that the first user of a provider gets the process that was started early, or the
// error, and that a process that starts while the pool is closed does not stay.
func TestPrepare(t *testing.T) {
	var starts atomic.Int32
	pool := newPool(t, func(p addrs.Provider) (Launch, error) {
		starts.Add(1)
		switch p.Type {
		case "missing":
			return Launch{}, errors.New("not installed")
		case "broken":
			return Launch{Exec: filepath.Join(t.TempDir(), "nothing")}, nil
		}
		return launch(t, "files", "FILES_ROOT="+t.TempDir()), nil
	})
	pool.Prepare(t.Context(), []addrs.Provider{address("files"), address("missing"), address("broken")})
	p, err := pool.Provider(t.Context(), address("files"))
	if err != nil {
		t.Fatal(err)
	}
	schema, diags := pool.Schema(t.Context(), address("files"))
	noErrors(t, diags)
	if own, _ := p.Schema(t.Context()); own != schema || len(pool.running) != 1 {
		t.Errorf("%d processes; one schema: %t", len(pool.running), own == schema)
	}
	for _, name := range []string{"missing", "broken"} {
		if _, err := pool.Provider(t.Context(), address(name)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if n := starts.Load(); n != 4 { // an installation that fails is looked for again
		t.Errorf("%d times it was found out how to start a provider", n)
	}

	closed := newPool(t, func(addrs.Provider) (Launch, error) { return launch(t, "files"), nil })
	closed.Prepare(t.Context(), []addrs.Provider{address("files")})
	if err := closed.Close(); err != nil || len(closed.running) != 0 {
		t.Errorf("after closing: %v, %d processes", err, len(closed.running))
	}
}

// TestPoolKeepsAllProcesses checks that all unconfigured processes are used again after their users
// have closed them.
func TestPoolKeepsAllProcesses(t *testing.T) {
	pool := newPool(t,
		func(addrs.Provider) (Launch, error) { return launch(t, "files", "FILES_ROOT="+t.TempDir()), nil })
	use := func() (ids []string) {
		var users []providers.Interface
		for range 3 {
			p, err := pool.Provider(t.Context(), address("files"))
			if err != nil {
				t.Fatal(err)
			}
			users, ids = append(users, p), append(ids, processID(t, p))
		}
		for _, p := range users {
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(ids)
		return ids
	}
	if before, after := use(), use(); !slices.Equal(before, after) {
		t.Errorf("processes %s were followed by %s", before, after)
	}
}

func TestPoolInParallel(t *testing.T) {
	pool := newPool(t, func(addr addrs.Provider) (Launch, error) { return launch(t, addr.Type), nil })
	executable(t, "files")
	executable(t, "notes")
	var wg sync.WaitGroup
	for range 2 {
		for _, name := range []string{"files", "notes"} {
			wg.Go(func() {
				schema, diags := pool.Schema(t.Context(), address(name))
				if diags.HasErrors() || len(schema.Resources.Names()) == 0 {
					t.Errorf("%s: %v", name, diags.Err())
				}
			})
		}
	}
	wg.Wait()
	_, err := newPool(t,
		func(addrs.Provider) (Launch, error) { return Launch{}, errors.New("not installed") }).Provider(
		t.Context(), address("files"))
	wantError(t, err, "not installed")
}

// TestSchemaCache checks that a cached schema is used without starting a process, unless the cache
// file is damaged or outdated.
func TestSchemaCache(t *testing.T) {
	cache := t.TempDir()
	l := launch(t, "synth", "SYNTH_TYPES=30")
	l.PackageHash, l.CacheDir = "h1:abc", cache
	pool := newPool(t, func(addrs.Provider) (Launch, error) { return l, nil })
	schema, diags := pool.Schema(t.Context(), address("synth"))
	noErrors(t, diags)
	if !schema.SchemaOptional {
		t.Fatal("synth doesn't allow its schema to be kept")
	}
	kept := l
	kept.Exec = "/nonexistent"
	unstartable := func(l Launch) *Pool { return newPool(t, func(addrs.Provider) (Launch, error) { return l, nil }) }
	cached, diags := unstartable(kept).Schema(t.Context(), address("synth"))
	noErrors(t, diags)
	for _, name := range schema.Resources.Names() {
		if a, b := schema.Resources.Type(name), cached.Resources.Type(name); b == nil ||
			!a.Block.ImpliedType().Equals(b.Block.ImpliedType()) {
			t.Errorf("%s differs", name)
		}
	}

	other := kept
	other.PackageHash = "h1:def"
	if _, diags := unstartable(other).Schema(t.Context(), address("synth")); !diags.HasErrors() {
		t.Error("the schema of another package is used")
	}
	files, _ := filepath.Glob(filepath.Join(cache, "*"))
	if len(files) != 1 {
		t.Fatalf("cache files: %v", files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if l.cachedSchema() != nil {
		t.Error("a damaged cache is used")
	}

	fresh := launch(t, "files")
	fresh.PackageHash, fresh.CacheDir = "h1:abc", t.TempDir()
	if p, err := Start(t.Context(), fresh); err != nil {
		t.Fatal(err)
	} else {
		schema, diags := p.Schema(t.Context())
		noErrors(t, diags)
		if schema.SchemaOptional != (fresh.cachedSchema() != nil) {
			t.Error("a schema is kept without the provider's permission, or not with it")
		}
		p.Close()
	}
}

// TestPoolKeepsConfigured checks that a configured process is reused by a user with the same
// configuration, and by no other user.
func TestPoolKeepsConfigured(t *testing.T) {
	root := t.TempDir()
	pool := newPool(t, func(addrs.Provider) (Launch, error) { return launch(t, "files"), nil })
	pool.Keep = time.Minute
	schema, diags := pool.Schema(t.Context(), address("files"))
	noErrors(t, diags)
	config := object(t, schema.Provider, map[string]cty.Value{"root": cty.StringVal(root)})
	other := object(t, schema.Provider, map[string]cty.Value{"root": cty.StringVal(filepath.Join(root, "other"))})
	configured := func() providers.Interface {
		p, err := pool.Provider(t.Context(), address("files"))
		if err != nil {
			t.Fatal(err)
		}
		noErrors(t, p.Configure(t.Context(), config))
		return p
	}
	closed := func(p providers.Interface) {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	first := configured()
	if pool.Reuse(address("files"), config) != nil {
		t.Error("a process in use has a second user")
	}
	closed(first)
	if pool.Reuse(address("files"), other) != nil {
		t.Error("a process with another configuration is used")
	}
	again := pool.Reuse(address("files"), config)
	if again == nil {
		t.Fatal("a configured process isn't used again")
	}
	noErrors(t, again.Configure(t.Context(), config))

	// The process has been configured again, and is now stopped.
	if err := again.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed(again)
	if pool.Reuse(address("files"), config) != nil {
		t.Error("a stopped process is used again")
	}

	pool.Keep = time.Millisecond
	last := configured()
	process := last.(*pooled).Interface.(*client).process.client
	closed(last)
	for start := time.Now(); !process.Exited(); time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("a process that nobody uses doesn't end")
		}
	}
}
