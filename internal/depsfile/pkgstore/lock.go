package pkgstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tofu/internal/filelock"
)

// LockFile takes an operating system's lock on a file, which is made if necessary, and gives the function that lets
// go of it. While another process holds it, waiting is called once after some seconds. A file system without locks
// is no error: then nobody waits.
func LockFile(ctx context.Context, path string, waiting func()) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening a lock file: %w", err)
	}
	start, told := time.Now(), waiting == nil
	for wait := 5 * time.Millisecond; ; wait = min(wait*2, 250*time.Millisecond) {
		// Any other error means that locks don't work here; they only save work.
		if err := filelock.Lock(f); !errors.Is(err, filelock.ErrHeld) {
			return func() { f.Close() }, nil
		}
		if !told && time.Since(start) > 5*time.Second {
			told = true
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
