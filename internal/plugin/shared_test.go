package plugin

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/providers"
)

// sharing is a test with a Shared that several root modules use.
type sharing struct {
	*testing.T
	shared *Shared
	log    string // path in PROVIDER_STARTS, to which the provider writes a line when it starts
	env    []string
}

func newSharing(t *testing.T, shared *Shared, env ...string) *sharing {
	t.Cleanup(func() {
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	log := filepath.Join(t.TempDir(), "starts")
	return &sharing{T: t, shared: shared, log: log, env: append(env, "PROVIDER_STARTS="+log)}
}

// in returns a copy of s for a subtest.
func (s *sharing) in(t *testing.T) *sharing {
	sub := *s
	sub.T = t
	return &sub
}

// user returns a provider for a root module in the directory dir.
func (s *sharing) user(dir string) *sharedUser {
	s.Helper()
	l := launch(s, "files", s.env...)
	l.PackageHash, l.WorkDir = "h1:files", dir
	pool := &Pool{Shared: s.shared, Find: func(context.Context, addrs.Provider) (Launch, error) { return l, nil }}
	s.Cleanup(func() { _ = pool.Close() })
	p, err := pool.Provider(s.Context(), address("files"))
	if err != nil {
		s.Fatal(err)
	}
	return p.(*sharedUser)
}

// configure sets the provider's root directory, after validating the configuration; "" means the
// provider's default.
func (s *sharing) configure(u *sharedUser, root string) {
	s.Helper()
	schema, diags := u.Schema(s.Context())
	noErrors(s, diags)
	attrs := map[string]cty.Value{}
	if root != "" {
		attrs["root"] = cty.StringVal(root)
	}
	config := object(s, schema.Provider, attrs)
	noErrors(s, u.ValidateProviderConfig(s.Context(), config))
	u.AllowDeferral()
	noErrors(s, u.Configure(s.Context(), config))
}

// starts returns how many processes have been started.
func (s *sharing) starts() int {
	text, err := os.ReadFile(s.log)
	if err != nil {
		s.Fatal(err)
	}
	return strings.Count(string(text), "files\n")
}

func (s *sharing) wantStarts(n int, when string) {
	s.Helper()
	if got := s.starts(); got != n {
		s.Errorf("%s: %d processes were started, want %d", when, got, n)
	}
}

// text returns the content of the file a.txt as the provider reads it.
func (s *sharing) text(u *sharedUser) string {
	s.Helper()
	schema, _ := u.Schema(s.Context())
	config := object(s, schema.DataSources.Type("files_file").Block,
		map[string]cty.Value{"path": cty.StringVal("a.txt")})
	got := u.ReadDataSource(s.Context(), providers.ReadDataRequest{Type: "files_file", Config: config})
	noErrors(s, got.Diagnostics)
	return got.State.GetAttr("content").AsString()
}

// dirs creates directories and returns their paths. Each directory has a file a.txt that contains
// its name.
func (s *sharing) dirs(names ...string) []string {
	top := s.TempDir()
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = filepath.Join(top, name)
		err := os.Mkdir(out[i], 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(out[i], "a.txt"), []byte(name), 0o600)
		}
		if err != nil {
			s.Fatal(err)
		}
	}
	return out
}

// TestSharedUnconfigured checks that users share one process until they configure it, and that each
// user then has its own process in its own working directory.
func TestSharedUnconfigured(t *testing.T) {
	s := newSharing(t, &Shared{})
	dirs := s.dirs("one", "two", "three")
	var users []*sharedUser
	for _, dir := range dirs {
		users = append(users, s.user(dir))
	}
	s.wantStarts(1, "before the configuration")
	for i, u := range users {
		s.configure(u, "")
		if got, want := s.text(u), filepath.Base(dirs[i]); got != want {
			t.Errorf("in %s the provider works in %s", want, got)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
	s.wantStarts(4, "after it")
	// The process has only one user at a time, so each user configures it in its working directory.
	// The first process still runs in the first directory.
	for _, dir := range dirs {
		u := s.user(dir)
		s.configure(u, "")
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
	s.wantStarts(6, "one after the other")
	if n := s.shared.Repeated(); n != 5 {
		t.Errorf("5 processes could have been saved, not %d", n)
	}
}

// TestSharedConfigured checks that users with equal configurations share a process, and that users
// with different configurations don't.
func TestSharedConfigured(t *testing.T) {
	s := newSharing(t, &Shared{Configured: true})
	roots := s.dirs("one", "two")
	const users = 12
	ids := make([]string, users)
	t.Run("users", func(t *testing.T) {
		for i := range users {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				s, root := s.in(t), roots[i%2]
				u := s.user(t.TempDir())
				s.configure(u, root)
				if got, want := s.text(u), filepath.Base(root); got != want {
					t.Errorf("configured for %s, a user has the provider of %s", want, got)
				}
				ids[i] = processID(t, u.Interface)
				if err := u.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	})
	for i := range users {
		if same := ids[i] == ids[0]; same != (i%2 == 0) {
			t.Errorf("user %d has process %s, and user 0 has %s", i, ids[i], ids[0])
		}
	}
	if n := s.shared.Repeated(); n != 0 {
		t.Errorf("%d processes could have been saved", n)
	}
	// There is one process for each configuration, and possibly an unconfigured one. There is no
	// unconfigured one if it had only one user and this user configured it.
	if n := s.starts(); n < 2 || n > 3 {
		t.Errorf("%d processes were started", n)
	}
}

// TestSharedCrash checks that a process that has crashed is replaced for later users, whether or
// not it was configured.
func TestSharedCrash(t *testing.T) {
	s := newSharing(t, &Shared{Configured: true})
	root := s.dirs("one")[0]
	kill := func(p providers.Interface) {
		t.Helper()
		c := p.(*pooled).Interface.(*client)
		c.process.kill()
		if !c.process.exited() {
			t.Fatal("the process is still there")
		}
	}
	for _, when := range []string{"unconfigured", "configured"} {
		u := s.user(t.TempDir())
		if when == "configured" {
			s.configure(u, root)
		}
		kill(u.Interface)
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
	u := s.user(t.TempDir())
	s.configure(u, root)
	if got := s.text(u); got != "one" {
		t.Errorf("got %s", got)
	}
}

// TestNotShared checks that packages with different hashes have their own processes, and that
// packages without a hash are not shared.
func TestNotShared(t *testing.T) {
	shared := &Shared{}
	launches := []Launch{{PackageHash: "h1:a"}, {PackageHash: "h1:b"},
		{PackageHash: "h1:a", Provider: address("files")}}
	seen := make(map[*member]bool)
	for i := range launches {
		m := shared.member(&launches[i])
		if m == nil || seen[m] || m != shared.member(&launches[i]) {
			t.Errorf("launch %d has the wrong member", i)
		}
		seen[m] = true
	}
	for _, l := range []Launch{{}, {PackageHash: "h1:a", Reattach: &Reattach{}}} {
		if shared.member(&l) != nil {
			t.Errorf("%+v is shared", l)
		}
	}
	if (*Shared)(nil).member(&launches[0]) != nil {
		t.Error("without Shared, there is a member")
	}
}
