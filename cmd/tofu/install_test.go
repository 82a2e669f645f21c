package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/dirhash"
)

// mirror is a network mirror with some providers, and a user's machine beside it.
type mirror struct {
	testing.TB
	top     string
	url     string
	scheme  string // of the hashes that it announces
	archive map[string][]byte
	// hold answers a request for an archive in place of the mirror, and tells whether it did; nil never does.
	hold func(w http.ResponseWriter, r *http.Request, archive []byte) bool

	mu    sync.Mutex
	asked []string
}

var mirrored = []string{"alpha", "beta", "gamma"}

func newMirror(t testing.TB, scheme string, size int) *mirror {
	m := &mirror{TB: t, top: t.TempDir(), scheme: scheme, archive: make(map[string][]byte)}
	for i, name := range mirrored {
		noise := make([]byte, size)
		rng := rand.NewChaCha8([32]byte{byte(i)})
		if _, err := rng.Read(noise); err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		w, err := z.Create("terraform-provider-" + name + "_v1.0.0")
		if err == nil {
			_, err = w.Write(noise)
		}
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		m.archive[name] = packed.Bytes()
	}
	server := httptest.NewUnstartedServer(m)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // connections end when processes are killed
	server.StartTLS()
	t.Cleanup(server.Close)
	m.url = server.URL
	m.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	m.write("tofurc", fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = %q\n  }\n}\n", m.url+"/"))
	return m
}

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

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked = append(m.asked, r.URL.Path)
	m.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // example.com/acme/NAME/FILE
	if len(parts) != 4 || m.archive[parts[2]] == nil {
		http.NotFound(w, r)
		return
	}
	name, data := parts[2], m.archive[parts[2]]
	w.Header().Set("Content-Type", "application/json")
	switch parts[3] {
	case "index.json":
		fmt.Fprint(w, `{"versions": {"1.0.0": {}}}`)
	case "1.0.0.json":
		hash := fmt.Sprintf("zh:%x", sha256.Sum256(data))
		if m.scheme == "h1" {
			hash = m.contentHash(name)
		}
		doc := map[string]any{"archives": map[string]any{runtime.GOOS + "_" + runtime.GOARCH: map[string]any{"url": "package.zip", "hashes": []string{hash}}}}
		if err := json.NewEncoder(w).Encode(doc); err != nil {
			m.Log(err)
		}
	case "package.zip":
		if m.hold == nil || !m.hold(w, r, data) {
			http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(data))
		}
	default:
		http.NotFound(w, r)
	}
}

func (m *mirror) contentHash(name string) string {
	path := filepath.Join(m.top, name+".zip")
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := os.WriteFile(path, m.archive[name], 0o600); err != nil {
		m.Error(err)
	}
	h, err := dirhash.HashZip(path, dirhash.Hash1)
	if err != nil {
		m.Error(err)
	}
	return h
}

// requests tells how often a path with this end was asked for since the last time.
func (m *mirror) requests(suffix string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, path := range m.asked {
		if strings.HasSuffix(path, suffix) {
			n++
		}
	}
	m.asked = nil
	return n
}

// root makes a root module that needs all providers.
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

// init is the command in a root module.
func (m *mirror) init(ctx context.Context, dir string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "tofu", "init", "-input=false", "-no-color")
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.top, "SSL_CERT_FILE=" + filepath.Join(m.top, "ca.pem"),
		"TF_CLI_CONFIG_FILE=" + filepath.Join(m.top, "tofurc")}, env...)
	return cmd
}

// whole checks that a root module has all packages completely, or none of one.
func (m *mirror) whole(dir string, all bool) {
	m.Helper()
	for _, name := range mirrored {
		// A run that is killed may leave a folder with a temporary name, which nothing takes for a package.
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
			if err != nil || h != m.contentHash(name) {
				m.Errorf("%s is not whole: %s, %v", pkg, h, err)
			}
		}
	}
}

// TestManyInits: 40 processes on one cold cache fetch each package once, and none fails.
func TestManyInits(t *testing.T) {
	for name, c := range map[string]struct {
		scheme string
		cache  bool
	}{"store": {"zh", false}, "plugin cache, content hashes": {"h1", true}} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t, c.scheme, 500_000)
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
					if out, err := m.init(t.Context(), dir, env...).CombinedOutput(); err != nil {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
			group.Wait()
			if n := m.requests(".zip"); n != len(mirrored) {
				t.Errorf("%d archives were fetched", n)
			}
			want, err := os.ReadFile(filepath.Join(dirs[0], ".terraform.lock.hcl"))
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range dirs {
				m.whole(dir, true)
				if got, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl")); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%v: %s", err, got)
				}
			}
			// With a warm cache nothing is asked for, in a new folder neither.
			m.requests("")
			fresh := m.root("fresh")
			m.write("fresh/.terraform.lock.hcl", string(want))
			for _, dir := range []string{dirs[0], fresh} {
				if out, err := m.init(t.Context(), dir, env...).CombinedOutput(); err != nil || m.requests("") != 0 {
					t.Errorf("requests are made, or %v\n%s", err, out)
				}
			}
			m.whole(fresh, true)
		})
	}
}

// TestKilledInit kills init at one moment after another: there is never a part of a package or of a lock file, and the next run
// completes the work.
func TestKilledInit(t *testing.T) {
	m := newMirror(t, "zh", 2_000_000)
	m.hold = func(w http.ResponseWriter, r *http.Request, archive []byte) bool { // slowly
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
		if (lockErr == nil) != (err == nil) && lockErr != nil || lockErr == nil && strings.Count(string(text), "provider ") != len(mirrored) {
			t.Errorf("after %s: %v, %v\n%s", delay, err, lockErr, text)
		}
		if err == nil {
			break
		}
		if killed++; killed > 500 {
			t.Fatal("it never gets done")
		}
	}
	if killed == 0 {
		t.Error("nothing was killed")
	}
}

// TestInterruptedInit: somebody who interrupts a download that stalls doesn't wait for it, and finds the old lock file.
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

// BenchmarkWarmInit is init in a folder with installed providers and an unchanged lock file, beside the program's start alone.
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
