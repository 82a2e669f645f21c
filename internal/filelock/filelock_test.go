package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tofu/internal/filelock"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b, c := open(), open(), open()
	if err := filelock.Lock(a); err != nil {
		t.Fatal(err)
	}
	c.Close() // closing another descriptor of the same file does not release the lock
	if err := filelock.Lock(b); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("locking a locked file: %v", err)
	}
	if err := filelock.LockShared(b); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a shared lock on a locked file: %v", err)
	}
	a.Close()
	if err := filelock.Lock(b); err != nil {
		t.Errorf("after the holder closed: %v", err)
	}
	b.Close()
	d, e := open(), open()
	if err := errors.Join(filelock.LockShared(d), filelock.LockShared(e)); err != nil {
		t.Errorf("two shared locks: %v", err)
	}
	d.Close()
	f := open()
	if err := filelock.Lock(f); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("locking a file with a shared lock: %v", err)
	}
	e.Close()
	if err := filelock.Lock(f); err != nil {
		t.Errorf("after the last holder closed: %v", err)
	}
	f.Close()
}
