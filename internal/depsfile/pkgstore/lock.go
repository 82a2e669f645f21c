package pkgstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"tofu/internal/filelock"
)

// LockFile locks a file, creating it if necessary, and returns the function that unlocks it. If
// another process holds the lock, LockFile waits. It calls the function waiting, unless that is
// nil, once after a few seconds. On file systems without locks, LockFile succeeds without waiting; so
// it does for a file that the user may not write, because then nothing but reading is possible.
func LockFile(ctx context.Context, path string, waiting func()) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if isReadOnly(err) {
		f, err = os.Open(path)
		if err != nil {
			return func() {}, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening a lock file: %w", err)
	}
	start, notified := time.Now(), waiting == nil
	for wait := 5 * time.Millisecond; ; wait = min(wait*2, 250*time.Millisecond) {
		// Any other error means that locks don't work here. They are optional, because they only
		// avoid duplicate work.
		if err := filelock.Lock(f); !errors.Is(err, filelock.ErrHeld) {
			return func() { f.Close() }, nil
		}
		if !notified && time.Since(start) > 5*time.Second {
			notified = true
			waiting()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// isReadOnly reports whether a file can't be written because of its permissions or because its file
// system is only for reading.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
