package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tofu/internal/addrs"
	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv"
	"tofu/internal/testenv/pgtest"
)

// large returns an object that is so large that the database must allocate new pages for it.
func large(id string) *states.Object {
	const size = 2 << 20
	text := make([]byte, size)
	random := rand.New(rand.NewPCG(1, 1)) // can't be compressed
	for i := range text {
		text[i] = 'a' + byte(random.IntN(26))
	}
	obj := object(id)
	obj.Attrs = fmt.Appendf(nil, `{"id":%q,"text":%q}`, id, text)
	return obj
}

// smallDisk mounts a small file system at a new directory below parent. The directory belongs to
// the owner of parent.
func smallDisk(t *testing.T, parent string) (string, error) {
	dir := filepath.Join(parent, "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	var owner unix.Stat_t
	if err := unix.Stat(parent, &owner); err != nil {
		return "", err
	}
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=24m,mode=700,uid=%d,gid=%d", owner.Uid, owner.Gid))
	if err == nil {
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	}
	return dir, err
}

// inNamespace is the environment variable that tells a test that withMounts has started its
// process.
const inNamespace = "TEST_IN_NAMESPACE"

// withMounts runs the test in a separate process that may mount file systems. The process is in a
// new namespace, in which it keeps its user ID, because PostgreSQL does not run as root.
func withMounts(t *testing.T) {
	uid, gid := os.Getuid(), os.Getgid()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC): // the process may not create namespaces
		testenv.Missing(t, "file systems can't be mounted", "run it as root or allow user namespaces")
	case err != nil:
		t.Fatalf("%v:\n%s", err, out)
	}
}

// TestFullDisk checks that a run on a full disk leaves no partial changes, and that changes that it
// could not store can be pushed later. The database is in a tablespace on a small disk.
func TestFullDisk(t *testing.T) {
	if server == nil {
		testenv.Missing(t, noServer, "install PostgreSQL")
	}
	own, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	dir, err := smallDisk(t, own.Dir())
	if errors.Is(err, unix.EPERM) && os.Getenv(inNamespace) == "" {
		withMounts(t)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	administrate(t, own.Conn(), "CREATE TABLESPACE small LOCATION '"+dir+"'")
	administrate(t, own.Conn(), "CREATE DATABASE small TABLESPACE small")
	c := &postgres.Config{ConnStr: strings.Replace(own.Conn(), "dbname=postgres", "dbname=small", 1), Schema: "tofu"}

	administrate(t, c.ConnStr, "SELECT") // the first session in a database also writes to the disk
	full := filepath.Join(dir, "full")
	fillDisk(t, full)
	_, err = postgres.Driver.Open(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "The disk of the database server is full") {
		t.Errorf("creating the tables on a full disk: %v", err)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	m := statemgr.Open(open(t, c), ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: work})
	fill(t, m, 3)
	if err := m.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
		t.Fatal(err)
	}
	snap := read(t, m)
	first, second := addr("a", 0), addr("a", 1)
	if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, first, second)}); err != nil {
		t.Fatal(err)
	}
	fillDisk(t, full)
	final := snap.State.Clone()
	for _, at := range []addrs.AbsInstance{first, second} {
		obj := large(at.String())
		m.Started(statemgr.Operation{Addr: at, Action: plans.Update, Provider: provider})
		m.Stored(at, addrs.NotDeposed, obj, provider)
		final.SetCurrent(at, obj, provider)
	}
	if err := m.Save(t.Context(), final); err == nil || !strings.Contains(err.Error(), "The disk of the database server is full") ||
		!strings.Contains(err.Error(), "errored.tfstate") {
		t.Errorf("saving on a full disk: %v", err)
	}
	if now := read(t, manager(t, open(t, c))); !statefile.Equal(now.State, snap.State) || now.Serial != snap.Serial {
		t.Error("a part of the change was written")
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if err := pushErrored(t, c, work); err != nil {
		t.Fatal(err)
	}
	if now := read(t, manager(t, open(t, c))); !statefile.Equal(now.State, final) {
		t.Error("the pushed state is different")
	}
}

// fillDisk writes a file until the disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(page)
	}
}
