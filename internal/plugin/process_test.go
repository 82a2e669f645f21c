//go:build unix

package plugin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/providers"
)

// createFile asks the provider to create a file.
func createFile(ctx context.Context, t *testing.T, p *client) providers.ApplyResponse {
	t.Helper()
	rs := resourceType(t, p, "files_file")
	config := object(t, rs.Block, map[string]cty.Value{"path": cty.StringVal("a.txt")})
	plan := p.PlanResourceChange(t.Context(), providers.PlanRequest{
		Type: "files_file", Prior: cty.NullVal(config.Type()), Proposed: config, Config: config,
	})
	noErrors(t, plan.Diagnostics)
	return p.ApplyResourceChange(ctx, providers.ApplyRequest{
		Type: "files_file", Prior: cty.NullVal(config.Type()), Planned: plan.Planned, Config: config,
		Private: plan.Private,
	})
}

func TestCrash(t *testing.T) {
	p, _ := configured(t, "files", "FILES_CRASH=create:*")
	resp := createFile(t.Context(), t, p)
	wantError(t, resp.Diagnostics.Err(), "Plugin did not respond", "example.com/tofu/files",
		"ApplyResourceChange", "its process ended")
	if resp.New != cty.NilVal {
		t.Errorf("a crashed provider said %#v", resp.New)
	}
	again := p.ReadResource(t.Context(), providers.ReadRequest{Type: "files_file",
		Prior: cty.NullVal(resourceType(t, p, "files_file").Block.ImpliedType())})
	wantError(t, again.Diagnostics.Err(), "Plugin did not respond", "ReadResource")
	within(t, closeTimeout+killTimeout, "closing after a crash", func() { p.Close() })
}

func TestStuckProviderIsGivenUpAndKilled(t *testing.T) {
	p, _ := configured(t, "files", "FILES_STUCK=create:*")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	within(t, 10*time.Second, "giving up", func() {
		resp := createFile(ctx, t, p)
		wantError(t, resp.Diagnostics.Err(), "Request cancelled", "example.com/tofu/files", "ApplyResourceChange")
	})
	pid, err := strconv.Atoi(p.process.client.ID())
	if err != nil {
		t.Fatal(err)
	}
	within(t, closeTimeout+killTimeout+5*time.Second, "closing a stuck provider", func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

func TestFrozenProviderIsKilled(t *testing.T) {
	p, _ := start(t, "files")
	pid, _ := strconv.Atoi(p.process.client.ID())
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	within(t, closeTimeout+killTimeout+5*time.Second, "closing a frozen provider", func() { p.Close() })
}

func TestStop(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, _ := configured(t, "files", "FILES_HANG=create:*", "FILES_LOG="+log)
	stopped := make(chan error, 1)
	go func() {
		for t.Context().Err() == nil {
			if text, _ := os.ReadFile(log); strings.Contains(string(text), "begin create") {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		stopped <- p.Stop(context.Background())
	}()
	within(t, time.Minute, "stopping", func() {
		if resp := createFile(t.Context(), t, p); !resp.Diagnostics.HasErrors() {
			t.Error("the stopped operation reports no error")
		}
		// The operation may end, and the test may close the provider, before Stop gets its
		// response.
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name, exec string
		want       []string
	}{
		{"missing", filepath.Join(dir, "nothing"), []string{"no such file"}},
		{"not executable", script("plain", "#!/bin/sh\n", 0o644), []string{"permission denied"}},
		{"not a plugin", script("noise", "#!/bin/sh\necho hello\nsleep 5\n", 0o755), []string{"hello"}},
		{"exits", script("exits", "#!/bin/sh\nexit 1\n", 0o755), []string{"Failed to read any lines",
			"the process ended with exit status 1 before it was ready."}},
		{"crashes", script("crashes", "#!/bin/sh\nkill -SEGV $$\n", 0o755),
			[]string{"the process ended with signal: segmentation fault"}},
		{"says why", script("licence", "#!/bin/sh\necho 'no licence' >&2\necho '{\"@level\":\"debug\"}' >&2\n"+
			"echo 'giving up' >&2\nexit 3\n", 0o755), []string{"exit status 3", "Its last lines on standard error:\n\n" +
			"    no licence\n    giving up"}},
		{"panics", script("panics", "#!/bin/sh\necho 'panic: bad build' >&2\nexit 2\n", 0o755),
			[]string{"panic: bad build"}},
		{"old protocol", script("old", "#!/bin/sh\necho '1|4|tcp|127.0.0.1:1|grpc'\nsleep 5\n", 0o755),
			[]string{"neither protocol version 5 nor 6"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Start(t.Context(), Launch{Provider: address("broken"), Exec: tc.exec})
			wantError(t, err, append(tc.want, tc.exec)...)
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	within(t, 10*time.Second, "giving up a start", func() {
		_, err := Start(ctx, Launch{Provider: address("silent"), Exec: script("silent",
			"#!/bin/sh\nexec sleep 30\n", 0o755)})
		wantError(t, err, "deadline")
	})
}

func TestReattach(t *testing.T) {
	cmd := exec.Command(executable(t, "files"), "-debug")
	cmd.Env = append(os.Environ(), "FILES_ROOT="+t.TempDir())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var value string
	for scanner := bufio.NewScanner(stdout); value == "" && scanner.Scan(); {
		if _, rest, ok := strings.Cut(scanner.Text(), ReattachEnv+"='"); ok {
			value = strings.TrimSuffix(rest, "'")
		}
	}
	running, err := ParseReattach(value)
	if err != nil || running[address("files")] == nil {
		t.Fatalf("%q gives %v, %v", value, running, err)
	}
	for range 2 { // the process continues after a client has disconnected
		p, err := Start(t.Context(), Launch{Provider: address("files"), Reattach: running[address("files")]})
		if err != nil {
			t.Fatal(err)
		}
		resourceType(t, p, "files_file")
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReattachHosts checks that a provider of Terraform's registry is found under the default host, too,
// unless another one is attached there.
func TestReattachHosts(t *testing.T) {
	entry := func(host, port string) string {
		return `"` + host + `acme/a":{"Protocol":"grpc","ProtocolVersion":6,"Addr":{"Network":"tcp","String":"127.0.0.1:` +
			port + `"}}`
	}
	for _, test := range []struct{ text, host, want string }{
		{entry("registry.terraform.io/", "1"), "registry.opentofu.org", "127.0.0.1:1"},
		{entry("registry.terraform.io/", "1"), "registry.terraform.io", "127.0.0.1:1"},
		{entry("registry.terraform.io/", "1") + "," + entry("", "2"), "registry.opentofu.org", "127.0.0.1:2"},
		{entry("x.example/", "1"), "registry.opentofu.org", ""},
	} {
		found, err := ParseReattach("{" + test.text + "}")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		provider, err := addrs.ParseProvider(test.host + "/acme/a")
		if err != nil {
			t.Fatal(err)
		}
		if r := found[provider]; r != nil {
			got = r.Addr.String()
		}
		if got != test.want {
			t.Errorf("%s in %s: %q, want %q", test.host, test.text, got, test.want)
		}
	}
}

func TestParseReattachErrors(t *testing.T) {
	for text, want := range map[string]string{
		`x`:               "not the JSON object",
		`{"a/b/c/d": {}}`: "which has the form",
		`{"example.com/a/b": {"Protocol": "netrpc"}}`:                       "only grpc",
		`{"example.com/a/b": {"ProtocolVersion": 4}}`:                       "not 5 or 6",
		`{"example.com/a/b": {"Addr": {"Network": "pipe", "String": "x"}}}`: "unknown kind of address",
	} {
		_, err := ParseReattach(text)
		wantError(t, err, want, ReattachEnv)
	}
	if got, err := ParseReattach(" "); got != nil || err != nil {
		t.Errorf("empty: %v, %v", got, err)
	}
}

func TestLogs(t *testing.T) {
	var mu sync.Mutex
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(lockedWriter{&mu, &out}, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))
	l := launch(t, "files", "TOFU_LOG=TRACE", "FILES_ROOT="+t.TempDir())
	l.Log = log
	p, err := Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	resourceType(t, p, "files_file")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"provider=example.com/tofu/files", "tf_rpc=GetProviderSchema", "level=DEBUG-4"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the log:\n%.2000s", want, out.String())
		}
	}
}

// TestQuietPlugins checks that a plugin writes only those log lines that this program logs or that
// the user has enabled for the plugin.
func TestQuietPlugins(t *testing.T) {
	at := func(level slog.Level) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: level}))
	}
	for name, c := range map[string]struct {
		log    *slog.Logger
		env    string
		writes bool
	}{
		"no log":          {nil, "A=b", false},
		"warnings":        {at(slog.LevelWarn), "A=b", false},
		"everything":      {at(slog.LevelDebug - 4), "A=b", true},
		"the user's wish": {nil, "TF_LOG_SDK_PROTO=TRACE", true},
		"and in our name": {nil, "TOFU_LOG_SDK_PROTO=TRACE", true},
	} {
		l := launch(t, "files", c.env, "FILES_ROOT="+t.TempDir())
		l.Log = c.log
		p, err := Start(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		resourceType(t, p, "files_file")
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		text := string(p.(*client).process.tail.text)
		if strings.Contains(text, "tf_rpc") != c.writes { // every line about a call contains this key
			t.Errorf("%s: the plugin has written %.300q", name, text)
		}
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

func TestStackTraceIsKept(t *testing.T) {
	tail := &stderrTail{}
	for i := range 10000 {
		tail.Write([]byte("line " + strconv.Itoa(i) + " of the log\n"))
	}
	if got := tail.panicText(); got != "" {
		t.Errorf("a stack trace in %q", got)
	}
	tail.Write([]byte("panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\n"))
	if got := tail.panicText(); !strings.HasPrefix(got, "panic: assignment") || !strings.HasSuffix(got, "[running]:") {
		t.Errorf("got %q", got)
	}
	tail.Write(bytes.Repeat([]byte("main.f()\n"), 100))
	if got := strings.Split(tail.panicText(), "\n"); len(got) != tailLines+1 {
		t.Errorf("%d lines", len(got))
	}
}
