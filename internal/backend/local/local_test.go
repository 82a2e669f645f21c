package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tofu/internal/backend"
	"tofu/internal/backend/local"
	"tofu/internal/testenv"
	"tofu/internal/testenv/storetest"
)

const ws = backend.DefaultWorkspace

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
		t.Chdir(t.TempDir())
		return local.New(nil, nil), local.New(nil, nil)
	})
}

// files returns the contents of the files in a directory, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func put(t *testing.T, s *local.Store, workspace, data string) {
	t.Helper()
	if err := s.Put(t.Context(), workspace, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func TestPathsAndBackups(t *testing.T) {
	for _, test := range []struct {
		name   string
		config local.Config
		opts   local.Options
		before map[string]string
		ws     string
		want   map[string]string
	}{
		{name: "nothing before", ws: ws, want: map[string]string{"terraform.tfstate": "2"}},
		{name: "an empty file isn't backed up", ws: ws,
			before: map[string]string{"terraform.tfstate": "", "terraform.tfstate.backup": "good"},
			want:   map[string]string{"terraform.tfstate": "2", "terraform.tfstate.backup": "good"}},
		{name: "a backup per run", ws: ws,
			before: map[string]string{"terraform.tfstate": "0", "terraform.tfstate.backup": "-1"},
			want:   map[string]string{"terraform.tfstate": "2", "terraform.tfstate.backup": "0"}},
		{name: "path", ws: ws, config: local.Config{Path: "sub/x.tfstate"},
			before: map[string]string{"sub/x.tfstate": "0"},
			want:   map[string]string{"sub/x.tfstate": "2", "sub/x.tfstate.backup": "0"}},
		{name: "workspace", ws: "w", config: local.Config{Path: "sub/x.tfstate"},
			before: map[string]string{"terraform.tfstate.d/w/terraform.tfstate": "0"},
			want: map[string]string{"terraform.tfstate.d/w/terraform.tfstate": "2",
				"terraform.tfstate.d/w/terraform.tfstate.backup": "0"}},
		{name: "workspace_dir", ws: "w", config: local.Config{WorkspaceDir: "d"},
			want: map[string]string{"d/w/terraform.tfstate": "2"}},
		{name: "-state", ws: "w", opts: local.Options{State: "s"}, before: map[string]string{"s": "0"},
			want: map[string]string{"s": "2", "s.backup": "0"}},
		{name: "-state-out", ws: ws, opts: local.Options{StateOut: "o"},
			before: map[string]string{"terraform.tfstate": "0", "o": "?"},
			want:   map[string]string{"terraform.tfstate": "0", "o": "2", "o.backup": "?"}},
		{name: "-state-out, a new file", ws: ws, opts: local.Options{StateOut: "o"},
			before: map[string]string{"terraform.tfstate": "0"},
			want:   map[string]string{"terraform.tfstate": "0", "o": "2"}},
		{name: "-backup", ws: ws, opts: local.Options{Backup: "b"}, before: map[string]string{"terraform.tfstate": "0"},
			want: map[string]string{"terraform.tfstate": "2", "b": "0"}},
		{name: "no backup", ws: ws, opts: local.Options{Backup: "-"},
			before: map[string]string{"terraform.tfstate": "0"},
			want:   map[string]string{"terraform.tfstate": "2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for path, data := range test.before {
				testenv.WriteFile(t, path, data)
			}
			s := local.New(&test.config, &test.opts)
			if err := s.Probe(t.Context(), test.ws); err != nil {
				t.Fatal(err)
			}
			id, err := s.Lock(t.Context(), test.ws, backend.LockInfo{ID: "i"})
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, test.ws, "1")
			put(t, s, test.ws, "2")
			if err := s.Unlock(t.Context(), test.ws, id); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, files(t, ".")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLockingLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	s := local.New(&local.Config{Path: "a/b/c.tfstate"}, nil)
	id, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "i", Who: "me"})
	if err != nil {
		t.Fatal(err)
	}
	if info := files(t, ".")["a/b/.c.tfstate.lock.info"]; !strings.Contains(info, `"Who":"me"`) ||
		!strings.Contains(info, `"Path":"a/b/c.tfstate"`) {
		t.Errorf("lock information: %s", info)
	}
	if err := s.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir("."); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestLateLockInformation has a holder that writes its information after another program was refused the lock.
func TestLateLockInformation(t *testing.T) {
	t.Chdir(t.TempDir())
	a, b := local.New(nil, nil), local.New(nil, nil)
	id, err := a.Lock(t.Context(), ws, backend.LockInfo{ID: "i", Who: "me"})
	if err != nil {
		t.Fatal(err)
	}
	const name = ".terraform.tfstate.lock.info"
	text := files(t, ".")[name]
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { _ = os.WriteFile(name, []byte(text), 0o600) })
	_, err = b.Lock(t.Context(), ws, backend.LockInfo{ID: "other"})
	if locked, ok := errors.AsType[*backend.LockedError](err); !ok || locked.Info.Who != "me" {
		t.Error(err)
	}
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Error(err)
	}
}

func TestStaleLockInformation(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(".terraform.tfstate.lock.info", []byte(`{"ID":"old","Who":"gone"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	a, b := local.New(nil, nil), local.New(nil, nil)
	id, err := a.Lock(t.Context(), ws, backend.LockInfo{ID: "new"})
	if err != nil {
		t.Fatalf("stale information blocks: %v", err)
	}
	if err := b.Unlock(t.Context(), ws, "new"); err == nil ||
		!strings.Contains(err.Error(), "held by a running process") {
		t.Errorf("unlocking a running process's lock: %v", err)
	}
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	if err := b.Unlock(t.Context(), ws, "old"); err == nil || err.Error() != "the state isn't locked" {
		t.Errorf("unlocking what isn't locked: %v", err)
	}
	if err := os.WriteFile(".terraform.tfstate.lock.info", []byte(`{"ID":"old","Who":"gone"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.Unlock(t.Context(), ws, "other"); err == nil {
		t.Error("a wrong ID clears stale information")
	}
	if err := b.Unlock(t.Context(), ws, "old"); err != nil {
		t.Error(err)
	}
	if got := files(t, "."); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestLinksAndModes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"real", "links"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("real/state", []byte("0"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../real/state", "links/first"); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := os.Symlink("links/first", "second"); err != nil {
		t.Fatal(err)
	}
	s := local.New(&local.Config{Path: "second"}, &local.Options{Backup: "-"})
	put(t, s, ws, "1")
	if data, _ := os.ReadFile("real/state"); string(data) != "1" {
		t.Errorf("the file behind the links has %q", data)
	}
	for _, link := range []string{"second", "links/first"} {
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no longer a link: %v", link, err)
		}
	}
	if info, _ := os.Stat("real/state"); info.Mode().Perm() != 0o640 {
		t.Errorf("mode is now %v", info.Mode())
	}
	if err := os.Symlink("loop", "loop"); err != nil {
		t.Fatal(err)
	}
	s = local.New(&local.Config{Path: "loop"}, nil)
	if err := s.Put(t.Context(), ws, []byte("1")); err == nil {
		t.Error("writing through a loop of links works")
	}
}

func TestUnwritable(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	s := local.New(nil, &local.Options{StateOut: "folder"})
	for name, err := range map[string]error{"probe": s.Probe(t.Context(), ws),
		"put": s.Put(t.Context(), ws, []byte("1"))} {
		if err == nil || !strings.Contains(err.Error(), "folder is a directory") {
			t.Errorf("%s of a folder: %v", name, err)
		}
	}
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s = local.New(&local.Config{Path: "file/state"}, nil)
	if err := s.Probe(t.Context(), ws); err == nil {
		t.Error("probing a path below a file works")
	}
	s = local.New(nil, &local.Options{State: "state", Backup: "folder"})
	if err := s.Probe(t.Context(), ws); err == nil {
		t.Error("probing with a backup that can't be written works")
	}
}

func TestMakeListDelete(t *testing.T) {
	t.Chdir(t.TempDir())
	s := local.New(nil, nil)
	if err := s.Make(t.Context(), "empty"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "full", "1")
	names, err := s.List(t.Context())
	if err != nil || !slices.Equal(names, []string{"empty", "full"}) {
		t.Errorf("%q, %v", names, err)
	}
	for _, name := range []string{"", "..", "../x", "empty"} {
		if err := s.Delete(t.Context(), name); (err == nil) != (name == "empty") {
			t.Errorf("deleting %q: %v", name, err)
		}
	}
	if _, err := os.Stat("terraform.tfstate.d/empty"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the deleted workspace's folder is still there")
	}
}

// TestEmptyIsNotAbsent checks that empty files are distinguished from absent ones. The state
// manager depends on this.
func TestEmptyIsNotAbsent(t *testing.T) {
	t.Chdir(t.TempDir())
	s := local.New(nil, nil)
	if err := os.WriteFile("terraform.tfstate", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Get(context.Background(), ws); data == nil || len(data) != 0 || err != nil {
		t.Errorf("an empty file gives %#v, %v", data, err)
	}
}

// TestModesOfCopies checks that backups and the file of -state-out are readable only by users who
// can read the state.
func TestModesOfCopies(t *testing.T) {
	for _, test := range []struct {
		name          string
		config        local.Config
		opts          local.Options
		state, backup os.FileMode // modes before the write; 0 for no file
		file          string
		want          os.FileMode
	}{
		{name: "a new backup", state: 0o600, file: "terraform.tfstate.backup", want: 0o600},
		{name: "an old backup", state: 0o600, backup: 0o644, file: "terraform.tfstate.backup", want: 0o600},
		{name: "a private backup", state: 0o644, backup: 0o600, file: "terraform.tfstate.backup", want: 0o600},
		{name: "everything is public", state: 0o644, backup: 0o644, file: "terraform.tfstate.backup", want: 0o644},
		{name: "another output", state: 0o600, opts: local.Options{StateOut: "out"}, file: "out", want: 0o600},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for path, mode := range map[string]os.FileMode{"terraform.tfstate": test.state,
				"terraform.tfstate.backup": test.backup} {
				if mode == 0 {
					continue
				}
				if err := os.WriteFile(path, []byte("1"), mode); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			put(t, local.New(&test.config, &test.opts), ws, "2")
			info, err := os.Stat(test.file)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != test.want {
				t.Errorf("%s has the mode %v, not %v", test.file, got, test.want)
			}
		})
	}
}
