package local_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tofu/internal/backend"
	"tofu/internal/backend/local"
)

// TestMain runs the test binary as a child process of a test if LOCAL_TEST_CHILD is set.
func TestMain(m *testing.M) {
	switch os.Getenv("LOCAL_TEST_CHILD") {
	case "posix":
		posixChild(os.Args[1])
	case "writer":
		writerChild(os.Args[1])
	default:
		os.Exit(m.Run())
	}
}

// posixChild takes the process-wide lock that OpenTofu takes, prints the result, and holds it until
// its input ends.
func posixChild(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err == nil {
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart})
	}
	fmt.Println("result:", err)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// writerChild writes snapshots forever.
func writerChild(path string) {
	s := local.New(&local.Config{Path: path}, nil)
	id, err := s.Lock(context.Background(), ws, backend.LockInfo{ID: "child", Who: "child"})
	if err != nil {
		fmt.Println("error:", err, id)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		if err := s.Put(context.Background(), ws, snapshot(i)); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// snapshot returns a snapshot that begins with a checksum of the rest; see whole.
func snapshot(i int) []byte {
	body := bytes.Repeat([]byte(fmt.Sprintf("%08d ", i)), 5000+rand.IntN(20000))
	sum := sha256.Sum256(body)
	return append([]byte(hex.EncodeToString(sum[:])), body...)
}

func whole(data []byte) bool {
	if len(data) < 2*sha256.Size {
		return false
	}
	sum := sha256.Sum256(data[2*sha256.Size:])
	return hex.EncodeToString(sum[:]) == string(data[:2*sha256.Size])
}

func child(t *testing.T, what, path string) (*exec.Cmd, *bufio.Reader, io.Closer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), "LOCAL_TEST_CHILD="+what)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewReader(out), in
}

func TestLocksAndOpenTofuExcludeEachOther(t *testing.T) {
	t.Chdir(t.TempDir())
	s := local.New(nil, nil)
	put(t, s, ws, "0")

	cmd, out, in := child(t, "posix", "terraform.tfstate")
	if line, err := out.ReadString('\n'); err != nil || line != "result: <nil>\n" {
		t.Fatal(line, err)
	}
	var locked *backend.LockedError
	if _, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "i"}); !errors.As(err, &locked) {
		t.Fatalf("locking what OpenTofu has locked: %v", err)
	}
	in.Close()
	_ = cmd.Wait()

	id, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "i"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // each new snapshot is locked, and reading doesn't release the lock
		cmd, out, in := child(t, "posix", "terraform.tfstate")
		if line, _ := out.ReadString('\n'); !strings.Contains(line, "resource temporarily unavailable") &&
			!strings.Contains(line, "permission denied") {
			t.Errorf("after %d writes OpenTofu could lock: %s", i, line)
		}
		in.Close()
		_ = cmd.Wait()
		put(t, s, ws, fmt.Sprint(i))
		if _, err := s.Get(t.Context(), ws); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	_, out, _ = child(t, "posix", "terraform.tfstate")
	if line, _ := out.ReadString('\n'); line != "result: <nil>\n" {
		t.Errorf("after unlocking: %s", line)
	}
}

// TestFirstLock checks that a lock excludes OpenTofu's while there is no snapshot, and that nothing
// is left of it.
func TestFirstLock(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"state.tfstate", ""}, {"new/workspace/state.tfstate", ""}, {"missing.tfstate", "out.tfstate"},
		{"link.tfstate", ""},
	} {
		t.Chdir(t.TempDir())
		path := cmp.Or(c.out, c.in)
		if err := os.Symlink("target.tfstate", "link.tfstate"); err != nil {
			t.Fatal(err)
		}
		s := local.New(&local.Config{Path: c.in}, &local.Options{StateOut: c.out})
		for _, written := range []bool{false, true} {
			id, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "first"})
			if err != nil {
				t.Fatal(err)
			}
			if data, err := s.Get(t.Context(), ws); data != nil || err != nil {
				t.Errorf("a state of %d bytes, %v", len(data), err)
			}
			if written {
				put(t, s, ws, "first")
			}
			cmd, out, in := child(t, "posix", path)
			if line, _ := out.ReadString('\n'); line == "result: <nil>\n" {
				t.Errorf("%s: OpenTofu could lock", path)
			}
			in.Close()
			_ = cmd.Wait()
			if err := s.Unlock(t.Context(), ws, id); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); (err == nil) != written {
				t.Errorf("%s after unlocking: %v, written: %t", path, err, written)
			}
			if _, err := os.Lstat("link.tfstate"); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestKilledWriter checks that killing a writer at any time leaves no lock and a complete snapshot:
// the last one that it reported or a later one.
func TestKilledWriter(t *testing.T) {
	runs := 25
	if testing.Short() {
		runs = 5
	}
	for range runs {
		dir := t.TempDir()
		path := filepath.Join(dir, "state")
		cmd, out, _ := child(t, "writer", path)
		go func() {
			time.Sleep(time.Duration(1+rand.IntN(60)) * time.Millisecond)
			_ = cmd.Process.Kill()
		}()
		last := -1
		for {
			line, err := out.ReadString('\n')
			if err != nil {
				break
			}
			if _, err := fmt.Sscan(line, &last); err != nil {
				t.Fatal(line)
			}
		}
		_ = cmd.Wait()
		s := local.New(&local.Config{Path: path}, nil)
		data, err := s.Get(t.Context(), ws)
		if len(data) == 0 {
			data = nil // the file was only locked
		}
		if err != nil || data == nil && last >= 0 || data != nil && !whole(data) {
			t.Fatalf("after a kill: %d bytes, whole: %v, %v", len(data), whole(data), err)
		}
		var found int
		if data != nil {
			_, _ = fmt.Sscanf(string(data[2*sha256.Size:2*sha256.Size+8]), "%d", &found)
		}
		if data != nil && found < last {
			t.Fatalf("snapshot %d was written, %d is there", last, found)
		}
		id, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "next"})
		if err != nil {
			t.Fatalf("a killed process still holds the lock: %v", err)
		}
		put(t, s, ws, "next")
		if err := s.Unlock(t.Context(), ws, id); err != nil {
			t.Fatal(err)
		}
	}
}

// mount returns a directory with its own file system of 256 KiB.
func mount(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("mounting a small file system needs more rights: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDisk(t *testing.T) {
	dir := mount(t)
	s := local.New(&local.Config{Path: filepath.Join(dir, "state")}, nil)
	id, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "i"})
	if err != nil {
		t.Fatal(err)
	}
	old := bytes.Repeat([]byte("old"), 10_000)
	if err := s.Put(t.Context(), ws, old); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), ws, make([]byte, 400_000)); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("writing to a full disk: %v", err)
	}
	if data, err := s.Get(t.Context(), ws); err != nil || !bytes.Equal(data, old) {
		t.Errorf("the old snapshot has %d bytes now, %v", len(data), err)
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
	if err := s.Put(t.Context(), ws, []byte("small")); err != nil {
		t.Errorf("a snapshot that fits: %v", err)
	}
	if err := s.Unlock(t.Context(), ws, id); err != nil {
		t.Error(err)
	}
}

// TestMountedFile checks that a state file can be written if the file itself is a mount point, as
// in a container. Such a file can't be replaced by renaming.
func TestMountedFile(t *testing.T) {
	dir := t.TempDir()
	source, target := filepath.Join(dir, "outside"), filepath.Join(dir, "state")
	for _, path := range []string{source, target} {
		if err := os.WriteFile(path, []byte("longer than the new one"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		t.Skip("mounting a file needs more rights: ", err)
	}
	defer func() { _ = unix.Unmount(target, unix.MNT_DETACH) }()
	s := local.New(&local.Config{Path: target}, nil)
	if err := s.Probe(t.Context(), ws); err != nil {
		t.Error(err)
	}
	id, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "i"})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, ws, "new")
	if data, _ := os.ReadFile(source); string(data) != "new" {
		t.Errorf("the mounted file has %q", data)
	}
	if err := s.Unlock(t.Context(), ws, id); err != nil {
		t.Error(err)
	}
}

// TestUnwritableFolder checks that a writable file can be written if its directory isn't writable.
func TestUnwritableFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("for root every folder is writable")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	if err := os.WriteFile(path, []byte("longer than the new one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	s := local.New(&local.Config{Path: path}, &local.Options{Backup: "-"})
	if err := s.Probe(t.Context(), ws); err != nil {
		t.Error(err)
	}
	put(t, s, ws, "new")
	if data, _ := os.ReadFile(path); string(data) != "new" {
		t.Errorf("the file has %q", data)
	}
}
