package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/dirhash"

	"tofu/internal/testenv/registrytest"
)

// mirror is a network mirror with some providers, together with a user's home directory.
type mirror struct {
	testing.TB
	*registrytest.Server
	top string
	// hold may respond to a request for an archive instead of the mirror, and reports whether it
	// has. It may be nil.
	hold func(w http.ResponseWriter, r *http.Request, archive []byte) bool
}

var mirrored = []string{"alpha", "beta", "gamma"}

func newMirror(t testing.TB, scheme string, size int) *mirror {
	m := &mirror{TB: t, Server: registrytest.New(t), top: t.TempDir()}
	m.Scheme = scheme
	for i, name := range mirrored {
		noise := make([]byte, size)
		rng := rand.NewChaCha8([32]byte{byte(i)})
		if _, err := rng.Read(noise); err != nil {
			t.Fatal(err)
		}
		m.Add(name, "1.0.0", platform, map[string]string{"terraform-provider-" + name + "_v1.0.0": string(noise)})
	}
	m.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		parts := strings.Split(r.URL.Path, "/") // path is /files/NAME/1.0.0/FILE
		return m.hold != nil && strings.HasSuffix(r.URL.Path, ".zip") &&
			m.hold(w, r, m.Archive(parts[2], "1.0.0", platform))
	}
	m.write("ca.pem", string(registrytest.Certificate()))
	m.write("tofurc", fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = %q\n  }\n}\n",
		m.URL+"/mirror/"))
	return m
}

const platform = runtime.GOOS + "_" + runtime.GOARCH

func (m *mirror) write(name, text string) {
	m.Helper()
	path := filepath.Join(m.top, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.Fatal(err)
	}
}

// root creates a root module that requires all providers in the mirror, and returns its directory.
func (m *mirror) root(name string) string {
	m.Helper()
	var text strings.Builder
	text.WriteString("terraform {\n  required_providers {\n")
	for _, p := range mirrored {
		fmt.Fprintf(&text, "    %s = {\n      source = \"example.com/acme/%s\"\n    }\n", p, p)
	}
	text.WriteString("  }\n}\n")
	m.write(name+"/main.tf", text.String())
	return filepath.Join(m.top, name)
}

// init returns a command that initializes a root module.
func (m *mirror) init(ctx context.Context, dir string, env ...string) *exec.Cmd {
	return m.run(ctx, dir, []string{"tofu", "init", "-input=false", "-no-color"}, env...)
}

func (m *mirror) run(ctx context.Context, dir string, words []string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.top,
		"SSL_CERT_FILE=" + filepath.Join(m.top, "ca.pem"),
		"TF_CLI_CONFIG_FILE=" + filepath.Join(m.top, "tofurc")}, env...)
	return cmd
}

// whole checks that each installed package is complete. If all is set, it also checks that no
// package is missing.
func (m *mirror) whole(dir string, all bool) {
	m.Helper()
	for _, name := range mirrored {
		// A killed run may leave a directory with a temporary name. The pattern excludes such
		// directories.
		pattern := filepath.Join(dir, ".terraform/providers/example.com/acme", name, "1.0.0/[^.]*")
		found, err := filepath.Glob(pattern)
		if err != nil || all && len(found) != 1 {
			m.Errorf("%s: %v %v", pattern, found, err)
		}
		for _, pkg := range found {
			real, err := filepath.EvalSymlinks(pkg)
			if err != nil {
				m.Error(err)
			}
			h, err := dirhash.HashDir(real, "", dirhash.Hash1)
			if err != nil || h != registrytest.ContentHash(m, m.Archive(name, "1.0.0", platform)) {
				m.Errorf("%s is not whole: %s, %v", pkg, h, err)
			}
		}
	}
}

// TestManyInits checks that if 40 processes share an empty cache, each package is downloaded once
// and no process fails. Without file locks, packages may be downloaded more than once.
func TestManyInits(t *testing.T) {
	for name, c := range map[string]struct {
		scheme       string
		cache, locks bool
	}{
		"store":                           {"zh", false, true},
		"plugin cache, content hashes":    {"h1", true, true},
		"store without file locks":        {"zh", false, false},
		"plugin cache without file locks": {"h1", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t, c.scheme, 500_000)
			words := []string{"tofu", "init", "-input=false", "-no-color"}
			if !c.locks {
				if !canForbidLocks {
					t.Skip("file locks can't be forbidden here")
				}
				words = append([]string{"nolocks"}, words...)
				more := make(chan struct{})
				var came atomic.Int32
				// Hold all responses until one of the archives is requested a second time.
				m.hold = func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
					if came.Add(1) == int32(len(mirrored))+1 {
						close(more)
					}
					select {
					case <-more:
					case <-r.Context().Done():
					}
					return false
				}
			}
			var env []string
			if c.cache {
				m.write("cache/.keep", "")
				env = []string{"TF_PLUGIN_CACHE_DIR=" + filepath.Join(m.top, "cache")}
			}
			dirs := make([]string, 40)
			for i := range dirs {
				dirs[i] = m.root(fmt.Sprintf("root-%02d", i))
			}
			var group sync.WaitGroup
			for _, dir := range dirs {
				group.Go(func() {
					if out, err := m.run(t.Context(), dir, words, env...).CombinedOutput(); err != nil {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
			group.Wait()
			if n := m.Requests(".zip"); c.locks && n != len(mirrored) || !c.locks && n <= len(mirrored) {
				t.Errorf("%d archives were fetched", n)
			}
			want, err := os.ReadFile(filepath.Join(dirs[0], ".terraform.lock.hcl"))
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range dirs {
				m.whole(dir, true)
				if got, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl")); err != nil ||
					!bytes.Equal(got, want) {
					t.Errorf("%v: %s", err, got)
				}
			}
			// If the cache is filled, no requests are necessary, even in a new directory.
			m.Requests("")
			fresh := m.root("fresh")
			m.write("fresh/.terraform.lock.hcl", string(want))
			for _, dir := range []string{dirs[0], fresh} {
				if out, err := m.run(t.Context(), dir, words, env...).CombinedOutput(); err != nil ||
					m.Requests("") != 0 {
					t.Errorf("requests are made, or %v\n%s", err, out)
				}
			}
			m.whole(fresh, true)
			m.clean()
		})
	}
}

// clean checks that no files with temporary names remain.
func (m *mirror) clean() {
	m.Helper()
	err := filepath.WalkDir(m.top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "tmp-") {
			m.Errorf("left over: %s", path)
		}
		return err
	})
	if err != nil {
		m.Error(err)
	}
}

// TestKilledInit kills init after increasing delays. It checks that there is never an incomplete
// package or lock file, and that the next run completes the work.
func TestKilledInit(t *testing.T) {
	m := newMirror(t, "zh", 2_000_000)
	m.hold = func(w http.ResponseWriter, r *http.Request, archive []byte) bool { // sends the archive slowly
		for len(archive) > 0 {
			n := min(len(archive), 200_000)
			if _, err := w.Write(archive[:n]); err != nil {
				return true
			}
			w.(http.Flusher).Flush()
			archive = archive[n:]
			time.Sleep(3 * time.Millisecond)
		}
		return true
	}
	dir := m.root("root")
	killed := 0
	for delay := 20 * time.Millisecond; ; delay += delay / 5 {
		ctx, cancel := context.WithTimeout(t.Context(), delay)
		err := m.init(ctx, dir).Run()
		cancel()
		m.whole(dir, err == nil)
		text, lockErr := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
		if (lockErr == nil) != (err == nil) && lockErr != nil ||
			lockErr == nil && strings.Count(string(text), "provider ") != len(mirrored) {
			t.Errorf("after %s: %v, %v\n%s", delay, err, lockErr, text)
		}
		if err == nil {
			break
		}
		killed++
		if killed > 500 {
			t.Fatal("it never gets done")
		}
	}
	if killed == 0 {
		t.Error("nothing was killed")
	}
}

// TestInterruptedInit checks that an interrupt of a stalled download takes effect immediately and
// leaves the lock file unchanged.
func TestInterruptedInit(t *testing.T) {
	m := newMirror(t, "zh", 100_000)
	stalled := make(chan struct{}, 100)
	m.hold = func(w http.ResponseWriter, r *http.Request, archive []byte) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(archive)))
		if _, err := w.Write(archive[:1000]); err != nil {
			t.Log(err)
		}
		w.(http.Flusher).Flush()
		stalled <- struct{}{}
		<-r.Context().Done()
		return true
	}
	dir := m.root("root")
	const old = "provider \"example.com/acme/alpha\" {\n  version = \"1.0.0\"\n}\n"
	m.write("root/.terraform.lock.hcl", old)
	cmd := m.init(t.Context(), dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-stalled
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if err == nil || time.Since(start) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	if !strings.Contains(out.String(), "interrupted") {
		t.Errorf("%s", out.String())
	}
	m.whole(dir, false)
	if text, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl")); err != nil || string(text) != old {
		t.Errorf("%v: %s", err, text)
	}
}

// TestMirrorOfMirror checks that `providers mirror` copies from the network mirror that the CLI
// configuration names, without the registry of the providers, and that the copy can be installed.
func TestMirrorOfMirror(t *testing.T) {
	m := newMirror(t, "zh", 1000)
	dir := m.root("root")
	m.write("root/call.tf", "module \"m\" {\n  source = \"./m\"\n}\n")
	m.write("root/m/main.tf", "")
	run := func(words ...string) {
		t.Helper()
		if out, err := m.run(t.Context(), dir, append([]string{"tofu"}, words...)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", words, err, out)
		}
	}
	run("providers", "mirror", "copy")
	for _, name := range mirrored {
		file := fmt.Sprintf("copy/example.com/acme/%s/terraform-provider-%[1]s_1.0.0_%s.zip", name, platform)
		got, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !bytes.Equal(got, m.Archive(name, "1.0.0", platform)) {
			t.Errorf("%s: %v", file, err)
		}
	}
	m.write("tofurc", "provider_installation {\n  filesystem_mirror {\n    path = \"copy\"\n  }\n}\n")
	m.Requests("")
	run("init")
	m.whole(dir, true)
	if n := m.Requests(""); n > 0 {
		t.Errorf("%d requests for packages in the copy", n)
	}
	// Without an installation method, the packages come from their registries.
	m.write("tofurc", fmt.Sprintf("host \"example.com\" {\n  services = {\n    \"providers.v1\" = %q\n  }\n}\n", m.URL+"/v1/"))
	run("providers", "mirror", "copy2")
	if n := m.Requests("/v1/"); n == 0 {
		t.Error("the registry was not asked")
	}
}

// TestMirrorWithoutLockFile checks that -lock-file=false mirrors the newest versions that the
// constraints allow, and doesn't read the lock file.
func TestMirrorWithoutLockFile(t *testing.T) {
	m := newMirror(t, "zh", 100)
	dir := m.root("root")
	m.write("root/limit.tf", "module \"m\" {\n  source = \"./m\"\n}\n")
	m.write("root/m/main.tf", "terraform {\n  required_providers {\n    beta = {\n      source  = \"example.com/acme/beta\"\n"+
		"      version = \"< 2.0.0\"\n    }\n  }\n}\n")
	run := func(words ...string) (string, error) {
		out, err := m.run(t.Context(), dir, append([]string{"tofu"}, words...)).CombinedOutput()
		return string(out), err
	}
	mirror := func(copied, option, alpha, beta string) {
		t.Helper()
		if out, err := run("providers", "mirror", option, copied); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got, err := filepath.Glob(filepath.Join(dir, copied, "example.com/acme/[ab]*/*.zip"))
		for i, path := range got {
			got[i] = filepath.Base(path)
		}
		want := []string{
			fmt.Sprintf("terraform-provider-alpha_%s_%s.zip", alpha, platform),
			fmt.Sprintf("terraform-provider-beta_%s_%s.zip", beta, platform),
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", option, got, err, want)
		}
	}
	if out, err := run("init"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lock, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, add := range [][2]string{{"alpha", "2.1.0"}, {"beta", "1.4.0"}, {"beta", "2.1.0"}} {
		m.Add(add[0], add[1], platform, map[string]string{"terraform-provider-" + add[0] + "_v" + add[1]: "x"})
	}
	mirror("locked", "-lock-file", "1.0.0", "1.0.0")
	mirror("newest", "-lock-file=false", "2.1.0", "1.4.0")
	if now, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl")); err != nil || !bytes.Equal(now, lock) {
		t.Errorf("the lock file changed: %v\n%s", err, now)
	}
	m.write("root/.terraform.lock.hcl", "provider {")
	if out, err := run("providers", "mirror", "broken"); err == nil {
		t.Errorf("the lock file was not read:\n%s", out)
	}
	mirror("unread", "-lock-file=false", "2.1.0", "1.4.0")
}

// BenchmarkWarmInit measures init in a directory with installed providers and an unchanged lock
// file. For comparison, it also measures the start of the program.
func BenchmarkWarmInit(b *testing.B) {
	m := newMirror(b, "zh", 60<<20)
	dir := m.root("root")
	if out, err := m.init(b.Context(), dir).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.Run("init", func(b *testing.B) {
		for b.Loop() {
			if out, err := m.init(b.Context(), dir).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		}
	})
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			cmd := m.init(b.Context(), dir)
			cmd.Args = []string{"tofu", "version"}
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		}
	})
}

// TestMinimumReleaseAge checks that init names the versions that are too young.
func TestMinimumReleaseAge(t *testing.T) {
	m := newMirror(t, "zh", 100)
	m.Uploaded = map[string]time.Time{"1.0.0": time.Now().Add(-72 * time.Hour), "1.3.0": time.Now().Add(-5 * time.Hour)}
	m.Add("beta", "1.3.0", platform, map[string]string{"terraform-provider-beta_v1.3.0": "x"})
	m.write("tofurc", fmt.Sprintf("minimum_release_age = \"2d\"\nprovider_installation {\n  network_mirror {\n    url = %q\n  }\n}\n",
		m.URL+"/mirror/"))
	dir := m.root("root")
	out, err := m.init(t.Context(), dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m.whole(dir, true)
	if text := string(out); !strings.Contains(text, "- Passing over example.com/acme/beta: version 1.3.0 was published on ") ||
		strings.Count(text, "Passing over") != 1 {
		t.Errorf("%s", text)
	}
	// An exact version that is too young is an error.
	m.write("root/more.tf", `terraform {
  required_version = ">= 1.0"
  required_providers {
    delta = {
      source  = "example.com/acme/delta"
      version = "2.0.0"
    }
  }
}
`)
	m.Uploaded["2.0.0"] = time.Now()
	m.Add("delta", "2.0.0", platform, map[string]string{"terraform-provider-delta_v2.0.0": "x"})
	m.write("root/main.tf", "")
	out, err = m.init(t.Context(), dir).CombinedOutput()
	if err == nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), "minimum_release_age is 2d. Wait, or set") {
		t.Errorf("%v\n%s", err, out)
	}
}
