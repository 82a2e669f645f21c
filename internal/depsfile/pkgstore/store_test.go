package pkgstore

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/dirhash"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
)

type entry struct {
	name, content string
	mode          fs.FileMode
}

// archive writes a zip file whose names may be malicious.
func archive(t *testing.T, entries ...entry) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode == 0 {
			e.mode = 0o644
		}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "package.zip")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// anything accepts any content.
func anything(depsfile.Hash) error { return nil }

func add(t *testing.T, s *Store, path string) Content {
	t.Helper()
	zh, err := ArchiveHash(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Add(path, zh, anything)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var sample = []entry{{"terraform-provider-tool_v1", "program", 0o755}, {"LICENSE", "free", 0},
	{"docs/", "", fs.ModeDir | 0o755}, {"docs/a.md", "a", 0}}

func TestHashesAgree(t *testing.T) {
	path := archive(t, sample...)
	s := open(t)
	c := add(t, s, path)
	inflated, err := HashArchive(path)
	if err != nil || inflated != c.Hash {
		t.Errorf("archive: %s %v, content: %s", inflated, err, c.Hash)
	}
	folder, err := HashDir(c.Dir)
	if err != nil || folder != c.Hash {
		t.Errorf("folder: %s %v", folder, err)
	}
	standard, err := dirhash.HashDir(c.Dir, "", dirhash.Hash1)
	if err != nil || standard != string(c.Hash) {
		t.Errorf("as for Go modules: %s %v", standard, err)
	}
	info, err := os.Stat(filepath.Join(c.Dir, "terraform-provider-tool_v1"))
	if err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the program can't be executed: %v %v", info, err)
	}
}

func TestHostileArchives(t *testing.T) {
	bomb := strings.Repeat("\x00", 1<<20)
	var many []entry
	for range maxFiles + 1 {
		many = append(many, entry{name: "f" + strings.Repeat("x", len(many)%7) + string(rune('a'+len(many)%26)) +
			"/" + time.Duration(len(many)).String()})
	}
	for name, entries := range map[string][]entry{
		"parent":      {{name: "../escaped"}},
		"deep":        {{name: "a/../../escaped"}},
		"absolute":    {{name: "/escaped"}},
		"backslash":   {{name: `..\escaped`}},
		"drive":       {{name: "C:escaped"}},
		"link":        {{"out", "/etc", fs.ModeSymlink | 0o777}},
		"device":      {{"dev", "", fs.ModeDevice | 0o666}},
		"twice":       {{name: "a"}, {name: "a"}},
		"file as dir": {{name: "a"}, {name: "a/b"}},
		"not clean":   {{name: "a//b"}},
		"empty name":  {{name: ""}},
		"too many":    many,
	} {
		t.Run(name, func(t *testing.T) {
			path := archive(t, entries...)
			s := open(t)
			zh, err := ArchiveHash(path)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := s.Add(path, zh, anything); err == nil {
				t.Errorf("unpacked to %s", c.Dir)
			}
			left, err := filepath.Glob(filepath.Join(s.root, "tmp", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
	// An archive that understates its size is detected while it is read.
	path := archive(t, entry{name: "a", content: bomb})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := []byte{0, 0, 16, 0} // 1 MiB, the size announced in the central directory
	at := bytes.LastIndex(data, size)
	copy(data[at:], []byte{1, 0, 0, 0})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if h, err := HashArchive(path); err == nil {
		t.Errorf("hashed as %s", h)
	}
}

// TestBombs checks that an archive that announces too much content is refused before anything is
// written.
func TestBombs(t *testing.T) {
	const page = 1 << 12
	for name, claims := range map[string][]zip.FileHeader{
		"too large": {{Name: "a", CompressedSize64: page, UncompressedSize64: maxBytes + 1}},
		"too large in all": {{Name: "a", CompressedSize64: page, UncompressedSize64: maxBytes},
			{Name: "b", CompressedSize64: page, UncompressedSize64: page}},
		"a sum that wraps": {{Name: "a", CompressedSize64: page, UncompressedSize64: page},
			{Name: "b", CompressedSize64: page, UncompressedSize64: 1<<64 - page}},
		"too well packed": {{Name: "a", CompressedSize64: page, UncompressedSize64: freeBytes + 1}},
		"one for all names": {{Name: "a", CompressedSize64: 2 * page, UncompressedSize64: page},
			{Name: "b", CompressedSize64: 2 * page, UncompressedSize64: page}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			z := zip.NewWriter(&out)
			for _, claim := range claims {
				claim.Method = zip.Deflate
				w, err := z.CreateRaw(&claim)
				if err == nil {
					_, err = w.Write(make([]byte, page))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "bomb.zip")
			if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if _, err := Unpack(path, dir); err == nil || !strings.Contains(err.Error(), "the maximum size") &&
				!strings.Contains(err.Error(), "larger than the archive itself") {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v %v", left, err)
			}
		})
	}
}

func TestStoreFindsAndRepairs(t *testing.T) {
	s := open(t)
	path := archive(t, sample...)
	zh, err := ArchiveHash(path)
	if err != nil {
		t.Fatal(err)
	}
	c := add(t, s, path)
	for _, h := range []depsfile.Hash{zh, c.Hash} {
		if got, ok := s.Find([]depsfile.Hash{"zh:1", "h9:x", h}); !ok || got != c {
			t.Errorf("%s: %v %v", h, got, ok)
		}
	}
	if _, ok := s.Find([]depsfile.Hash{"h1:../../../etc", "zh:../../x", "h1:"}); ok {
		t.Error("a hash that is none is found")
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "LICENSE"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Find([]depsfile.Hash{zh}); ok {
		t.Error("a damaged package is given out")
	}
	if again := add(t, s, path); again != c {
		t.Errorf("%v", again)
	}
}

// TestRefusedContent checks that unexpected content is neither stored nor returned.
func TestRefusedContent(t *testing.T) {
	s := open(t)
	path := archive(t, sample...)
	zh, err := ArchiveHash(path)
	if err != nil {
		t.Fatal(err)
	}
	odd := errors.New("odd")
	refuse := func(depsfile.Hash) error { return odd }
	if _, err := s.Add(path, zh, refuse); !errors.Is(err, odd) {
		t.Errorf("%v", err)
	}
	for _, folder := range []string{"packages", "archives", "tmp"} {
		if left, err := os.ReadDir(filepath.Join(s.root, folder)); err != nil || len(left) > 0 {
			t.Errorf("in %s: %v %v", folder, left, err)
		}
	}
	add(t, s, path)
	if _, err := s.Add(path, zh, refuse); !errors.Is(err, odd) {
		t.Errorf("what is there already: %v", err)
	}
}

func TestContentHashRemembers(t *testing.T) {
	s := open(t)
	c := add(t, s, archive(t, sample...))
	file := filepath.Join(c.Dir, "LICENSE")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	// Changing the file changes its stat data, so the stored hash must not be used.
	if err := os.WriteFile(file, []byte("evil"), 0o644); err != nil {
		t.Fatal(err)
	}
	if h, err := s.ContentHash(c.Dir); err != nil || h == c.Hash {
		t.Errorf("a changed file isn't noticed: %s %v", h, err)
	}
	if err := os.WriteFile(file, []byte("free"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if h, err := s.ContentHash(c.Dir); err != nil || h != c.Hash {
		t.Errorf("%s %v", h, err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "more"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if h, err := s.ContentHash(c.Dir); err != nil || h == c.Hash {
		t.Errorf("a new file isn't noticed: %s %v", h, err)
	}
}

func TestPlace(t *testing.T) {
	s := open(t)
	c := add(t, s, archive(t, sample...))
	other := add(t, s, archive(t, entry{name: "terraform-provider-tool", content: "other"}))
	target := filepath.Join(t.TempDir(), "a", "b")
	check := func(h depsfile.Hash) {
		t.Helper()
		if got, err := HashDir(target); err != nil || got != h {
			t.Errorf("%s holds %s, %v", target, got, err)
		}
		left, err := filepath.Glob(filepath.Join(filepath.Dir(target), ".tmp-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
	for range 2 {
		if err := s.Place(c, target); err != nil {
			t.Fatal(err)
		}
		check(c.Hash)
	}
	if err := s.Place(other, target); !errors.Is(err, ErrModified) {
		t.Errorf("%v", err)
	}
	check(c.Hash)
	if err := s.Link(other.Dir, target); err != nil {
		t.Fatal(err)
	}
	check(other.Hash)
	if err := s.Place(c, target); err != nil { // replaces a link
		t.Fatal(err)
	}
	check(c.Hash)
	if err := os.RemoveAll(target); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Place(c, target); err != nil { // fills an empty directory
		t.Fatal(err)
	}
	check(c.Hash)
}

// TestExchange checks that the directory is restored if it can't be replaced.
func TestExchange(t *testing.T) {
	dir := t.TempDir()
	target, kept := filepath.Join(dir, "target"), filepath.Join(dir, "target", "kept")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := exchange(filepath.Join(dir, "missing"), target, filepath.Join(dir, "old")); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

func TestManyAtOnce(t *testing.T) {
	path := archive(t, sample...)
	root := filepath.Join(t.TempDir(), "store")
	target := filepath.Join(t.TempDir(), "target")
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() {
			s, err := Open(root)
			if err != nil {
				t.Error(err)
				return
			}
			zh, err := ArchiveHash(path)
			if err != nil {
				t.Error(err)
				return
			}
			c, err := s.Add(path, zh, anything) // without a lock, as on file systems without locks
			if err == nil {
				err = s.Place(c, target)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestReadOnlyLock checks that the lock of a file in a directory that the user may not write is no
// error, whether the file is there or not.
func TestReadOnlyLock(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("root can write all directories")
	}
	dir := t.TempDir()
	there := filepath.Join(dir, "there.lock")
	if err := errors.Join(os.WriteFile(there, nil, 0o444), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	for _, path := range []string{there, filepath.Join(dir, "missing.lock")} {
		unlock, err := LockFile(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	if _, err := LockFile(t.Context(), filepath.Join(dir, "none", "x.lock"), nil); err == nil {
		t.Error("a missing directory is no error")
	}
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	unlock, err := LockFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := LockFile(ctx, path, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a held lock is given out: %v", err)
	}
	unlock()
	again, err := LockFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestTemporaryStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(file, "store")) // this directory can't be created
	if err != nil {
		t.Fatal(err)
	}
	c := add(t, s, archive(t, sample...))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.Dir); err == nil {
		t.Error("a temporary store stays")
	}
}

func TestExplain(t *testing.T) {
	s := open(t)
	inside := &fs.PathError{Op: "open", Path: filepath.Join(s.root, "x"), Err: syscall.EACCES}
	for err, want := range map[error]bool{
		fmt.Errorf("x: %w", syscall.ENOSPC): true, syscall.EROFS: true, inside: true,
		&fs.PathError{Op: "open", Path: "/mirror/x", Err: syscall.EACCES}: false, io.EOF: false,
	} {
		if got := s.Explain(err); strings.Contains(got.Error(), "TOFU_CACHE_DIR") != want || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
	if err := s.Explain(nil); err != nil {
		t.Error(err)
	}
}

func TestExecutable(t *testing.T) {
	p := addrs.Provider{Host: "h", Namespace: "n", Type: "tool"}
	for name, want := range map[string]bool{
		"terraform-provider-tool": true, "terraform-provider-tool_v1.0.0": true, "terraform-provider-tool.exe": true,
		"terraform-provider-toolbox": false, "terraform-provider-too": false, "tool": false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Executable(dir, p); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzUnpack checks that archives with arbitrary names never write outside the directory.
func FuzzUnpack(f *testing.F) {
	f.Add("a", "../b")
	f.Add("a/b", "a")
	f.Add("/x", "a\\..\\b")
	f.Fuzz(func(t *testing.T, one, two string) {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for _, name := range []string{one, two} {
			if w, err := z.Create(name); err != nil {
				t.Skip(err)
			} else if !strings.HasSuffix(name, "/") {
				w.Write([]byte("x"))
			}
		}
		if err := z.Close(); err != nil {
			t.Skip(err)
		}
		top := t.TempDir()
		file, dir := filepath.Join(top, "z.zip"), filepath.Join(top, "in", "dir")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = Unpack(file, dir) // errors are fine
		var outside []string
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if !strings.HasPrefix(path, dir) && path != file && path != top && path != filepath.Join(top, "in") {
				outside = append(outside, path)
			}
			return err
		})
		if err != nil || len(outside) > 0 {
			t.Errorf("outside of the folder: %v %v", outside, err)
		}
	})
}

func BenchmarkHashArchive(b *testing.B) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("terraform-provider-big")
	if err != nil {
		b.Fatal(err)
	}
	words := slices.Sorted(maps.Keys(map[string]bool{"apply ": true, "plan ": true, "resource ": true,
		"provider ": true}))
	for i := range 8 << 20 / 8 {
		w.Write([]byte(words[(i*7+i/13)%len(words)]))
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "z.zip")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(8 << 20)
	for b.Loop() {
		if _, err := HashArchive(path); err != nil {
			b.Fatal(err)
		}
	}
}

// TestChangedInPlace checks that a changed file of a package is detected even if its modification
// time is reset.
func TestChangedInPlace(t *testing.T) {
	s := open(t)
	c := add(t, s, archive(t, sample...))
	file := filepath.Join(c.Dir, "LICENSE")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if changeTime(info) == 0 {
		t.Skip("this system has no change times")
	}
	if h, err := s.ContentHash(c.Dir); err != nil || h != c.Hash {
		t.Fatalf("%s %v", h, err)
	}
	time.Sleep(20 * time.Millisecond) // some file systems have coarse timestamps
	evil := strings.Repeat("x", int(info.Size()))
	if err := os.WriteFile(file, []byte(evil), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if h, err := s.ContentHash(c.Dir); err != nil || h == c.Hash {
		t.Errorf("a changed file isn't noticed: %s %v", h, err)
	}
}

// TestRelinked checks that the stored hash stays valid when hard links to the files of a package
// are created.
func TestRelinked(t *testing.T) {
	s := open(t)
	c := add(t, s, archive(t, sample...))
	if _, err := s.ContentHash(c.Dir); err != nil {
		t.Fatal(err)
	}
	real, err := realPath(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	known := func() bool {
		files, err := listDir(real)
		if err != nil {
			t.Fatal(err)
		}
		f, ok := s.fingerprint(real)
		return ok && slices.Equal(f.Files, files)
	}
	file := filepath.Join(c.Dir, "LICENSE")
	link := func() error {
		time.Sleep(20 * time.Millisecond)
		return os.Link(file, filepath.Join(t.TempDir(), "link"))
	}
	if err := s.relinked(c.Dir, link); err != nil {
		t.Skip("no hard links: ", err)
	}
	if !known() {
		t.Error("the hash was forgotten")
	}
	err = s.relinked(c.Dir, func() error { return os.WriteFile(file, []byte("changed"), 0o644) })
	if err != nil {
		t.Fatal(err)
	}
	if known() {
		t.Error("a change while linking isn't noticed")
	}
	if err := s.relinked(c.Dir, link); err != nil || known() {
		t.Errorf("linking makes the hash of a changed package known: %v", err)
	}
}
