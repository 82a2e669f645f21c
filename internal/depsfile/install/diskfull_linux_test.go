package install

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// TestDiskFull installs to disks that are too small, each larger than the one before, until
// everything fits. Whichever step fails, there must be a clear error and no partial package or lock
// file may be left. The disk is a tmpfs, which the process can mount in its own mount namespace.
func TestDiskFull(t *testing.T) {
	if os.Getenv("TEST_DISK_FULL") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDiskFull$", "-test.v")
		cmd.Env = append(os.Environ(), "TEST_DISK_FULL=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		_, refused := errors.AsType[*os.SyscallError](err)
		if refused || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
			testenv.Missing(t, "there are no name spaces: "+err.Error(), "allow users to make them")
		}
		if strings.Contains(string(out), "--- SKIP") {
			t.Skipf("%s", out)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s := newServer(newBench(t))
	noise := make([]byte, 40_000)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	files := content(tool, "1.1.0", here())
	files["ballast"] = string(noise)
	s.Add(tool.Type, "1.1.0", here(), files)
	disk := s.path("disk")
	s.lockOn(disk)
	failures := 0
	for kilobytes := 40; ; kilobytes += 8 {
		if kilobytes > 1000 {
			t.Fatal("it never fits")
		}
		if err := os.MkdirAll(disk, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
			testenv.Missing(t, "nothing can be mounted: "+err.Error(), "allow users to mount in name spaces")
		}
		failed := s.installOn(disk, kilobytes<<10)
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Fatal(err)
		}
		if !failed {
			break
		}
		failures++
	}
	if failures == 0 {
		t.Error("everything fits at once")
	}
}

// lockOn checks that locking returns a clear error if the store is on a full disk.
func (s *server) lockOn(disk string) {
	s.Helper()
	if err := os.MkdirAll(disk, 0o755); err != nil {
		s.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16k"); err != nil {
		s.Skipf("nothing can be mounted: %v", err)
	}
	store, err := pkgstore.Open(filepath.Join(disk, "store"))
	if err != nil {
		s.Fatal(err)
	}
	locker := NewLocker(&Options{Store: store, Source: s.direct()})
	locks, _, err := locker.Lock(s.Context(), s.reqs(tool, ""), nil, []depsfile.Platform{depsfile.CurrentPlatform()})
	if text := fmt.Sprint(err); locks != nil || !strings.Contains(text, "no space left on device") ||
		!strings.Contains(text, "TOFU_CACHE_DIR") {
		s.Errorf("%v %s", locks, text)
	}
	if err := syscall.Unmount(disk, 0); err != nil {
		s.Fatal(err)
	}
}

// installOn installs with the store and the root module on a disk with the given number of free
// bytes. It reports whether the installation failed.
func (s *server) installOn(disk string, left int) bool {
	s.Helper()
	check := func(err error) {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
	}
	store, err := pkgstore.Open(filepath.Join(disk, "store"))
	check(err)
	lockFile := filepath.Join(disk, depsfile.FileName)
	check(os.WriteFile(lockFile, []byte("# the old one\n"), 0o644))
	var stat syscall.Statfs_t
	check(syscall.Statfs(disk, &stat))
	check(os.WriteFile(filepath.Join(disk, "full"), make([]byte, int(stat.Bavail)*int(stat.Bsize)-left), 0o600))

	opts := &Options{Dir: filepath.Join(disk, "providers"), Store: store, Source: s.direct()}
	locks, err := Ensure(s.Context(), s.reqs(tool, ""), nil, opts, tfdiags.Drop)
	failed := err != nil
	if failed {
		if !strings.Contains(err.Error(), "no space left on device") {
			s.Errorf("with %d bytes: %v", left, err)
		}
		if text := err.Error(); strings.Contains(text, "/store/tmp/") && !strings.Contains(text, "TOFU_CACHE_DIR") {
			s.Errorf("with %d bytes, this doesn't say where else packages could be kept: %s", left, text)
		}
	} else {
		s.saveOn(disk, locks)
	}
	text, err := os.ReadFile(lockFile)
	check(err)
	if failed && string(text) != "# the old one\n" {
		s.Errorf("with %d bytes: the lock file has %q", left, text)
	}
	whole := pkgstore.PackageDir(opts.Dir, tool, depsfile.Version{Major: 1, Minor: 1}, depsfile.CurrentPlatform())
	stored, err := filepath.Glob(filepath.Join(disk, "store/packages/*"))
	check(err)
	for _, dir := range append(stored, whole) {
		files, err := os.ReadDir(dir)
		if err == nil && len(files) != 3 {
			s.Errorf("with %d bytes: %s has a part of a package: %v", left, dir, files)
		}
	}
	for _, pattern := range []string{"store/tmp/*", "providers/*/*/*/*/.tmp-*", ".terraform.lock-*"} {
		rest, err := filepath.Glob(filepath.Join(disk, pattern))
		check(err)
		rest = slices.DeleteFunc(rest, func(path string) bool { return path == lockFile })
		if len(rest) > 0 {
			s.Errorf("with %d bytes: left over: %v", left, rest)
		}
	}
	return failed
}

// saveOn checks that saving the lock file on a full disk fails and keeps the old file, and that
// saving succeeds when there is some free space.
func (s *server) saveOn(disk string, locks *depsfile.Locks) {
	s.Helper()
	lockFile, more := filepath.Join(disk, depsfile.FileName), filepath.Join(disk, "more")
	var stat syscall.Statfs_t
	if err := syscall.Statfs(disk, &stat); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(more, make([]byte, int(stat.Bavail)*int(stat.Bsize)), 0o600); err != nil {
		s.Fatal(err)
	}
	before, err := os.ReadFile(lockFile)
	if err != nil {
		s.Fatal(err)
	}
	if err := locks.Save(lockFile); !errors.Is(err, syscall.ENOSPC) {
		s.Errorf("saving on a full disk: %v", err)
	}
	if after, err := os.ReadFile(lockFile); err != nil || string(after) != string(before) {
		s.Errorf("the lock file has %q: %v", after, err)
	}
	if err := os.Remove(more); err != nil {
		s.Fatal(err)
	}
	if err := locks.Save(lockFile); err != nil {
		s.Error(err)
	}
}
