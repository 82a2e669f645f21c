package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tofu/internal/atomicfile"
	"tofu/internal/backend"
	"tofu/internal/filelock"
)

// held is a lock that this store has taken.
type held struct {
	id      string
	own     *os.File // the lock file
	state   *os.File // the snapshot; nil if it can't be locked
	empty   bool     // state was created, without content, only to be locked
	folders folders  // folders that were created for the lock file
}

// lockPath and infoPath return the paths of the lock files of a snapshot, which are in its
// directory.
func lockPath(state string) string { return beside(state, ".lock") }
func infoPath(state string) string { return beside(state, ".lock.info") }

func beside(state, suffix string) string {
	dir, base := filepath.Split(state)
	return dir + "." + base + suffix
}

// Lock implements backend.Locker.
func (s *Store) Lock(_ context.Context, workspace string, info backend.LockInfo) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.File(workspace)
	if s.locks[workspace] != nil {
		return "", lockedBy(path, errors.New("this process already holds the lock"))
	}
	h := &held{id: info.ID}
	_, err := resolve(path)
	if err != nil {
		return "", fmt.Errorf("locking the state: %w", err)
	}
	h.folders, err = createIn(filepath.Dir(path), func() (err error) {
		h.own, err = openLocked(lockPath(path))
		return err
	})
	if err == nil {
		h.state, h.empty, err = lockSnapshot(path, true)
	}
	if err != nil {
		h.release(path)
		if errors.Is(err, filelock.ErrHeld) {
			return "", lockedBy(path, nil)
		}
		return "", fmt.Errorf("locking the state: %w", err)
	}
	info.Path = path
	if err := writeInfo(path, &info); err != nil {
		h.release(path)
		return "", fmt.Errorf("locking the state: %w", err)
	}
	removeLeftovers(path)
	s.locks[workspace] = h
	return h.id, nil
}

// openLocked creates and locks the lock file. Between the two steps, the last holder may remove the
// file, and another process may create and lock a new one. So the lock is valid only if the path
// still refers to the locked file.
func openLocked(path string) (*os.File, error) {
	for {
		if err := errors.Join(atomicfile.RemoveLink(path), atomicfile.CheckRegular(path)); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if err := filelock.Lock(f); err != nil {
			f.Close()
			return nil, err
		}
		locked, err := f.Stat()
		if err == nil {
			var present fs.FileInfo
			present, err = os.Stat(path)
			if err == nil && os.SameFile(locked, present) {
				return f, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// lockSnapshot locks the snapshot itself, where OpenTofu takes its lock, and returns the open file.
// Like OpenTofu, it creates an empty file if create is set and there is none, because another
// program could begin its first run at the same time. It returns nil if there is no regular file
// that can be opened for writing, or if the system can't rename locked files.
func lockSnapshot(path string, create bool) (f *os.File, empty bool, err error) {
	if !renamesLockedFiles {
		return nil, false, nil
	}
	path, err = resolve(path) // the target of a link can be created, too
	if err != nil {
		return nil, false, err
	}
	for {
		info, err := os.Stat(path)
		missing := errors.Is(err, fs.ErrNotExist)
		flag := os.O_RDWR
		switch {
		case missing && create:
			flag |= os.O_CREATE | os.O_EXCL
		case err != nil || !info.Mode().IsRegular():
			return nil, false, nil
		}
		f, err := os.OpenFile(path, flag, 0o666)
		if errors.Is(err, fs.ErrExist) && exists(path) {
			continue // another process has created it
		}
		if err != nil {
			return nil, false, nil // a read-only state can be used for planning
		}
		if err := lockState(f); err != nil {
			f.Close()
			return nil, false, err
		}
		locked, err := f.Stat()
		if err == nil && samePath(locked, path) {
			return f, missing, nil
		}
		f.Close() // the last holder has replaced or removed it
	}
}

// infoDelay is the longest time between a lock and the information about its holder.
const infoDelay = 50 * time.Millisecond

// lockedBy returns an error that names the holder of the lock.
func lockedBy(path string, reason error) *backend.LockedError {
	// The holder writes the information just after it has got the lock. Some other programs write none.
	for until := time.Now().Add(infoDelay); ; time.Sleep(5 * time.Millisecond) {
		data, err := atomicfile.Read(infoPath(path))
		info := &backend.LockInfo{}
		if err == nil && json.Unmarshal(data, info) == nil {
			return &backend.LockedError{Info: info, Err: reason}
		}
		if time.Now().After(until) {
			return &backend.LockedError{Info: &backend.LockInfo{Path: path, Who: "unknown"}, Err: reason}
		}
	}
}

// removeLeftovers removes temporary files of killed writers. It keeps recent files, which may
// belong to a process that writes without a lock.
func removeLeftovers(path string) {
	dir, base := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Clean(dir))
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "."+base+".") || !strings.HasSuffix(e.Name(), temporarySuffix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 10*time.Minute {
			os.Remove(dir + e.Name())
		}
	}
}

func writeInfo(path string, info *backend.LockInfo) error {
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	if err := errors.Join(atomicfile.RemoveLink(infoPath(path)), atomicfile.CheckRegular(infoPath(path))); err != nil {
		return err
	}
	return os.WriteFile(infoPath(path), data, 0o600)
}

// Unlock implements backend.Locker. If the lock belongs to another process, that process must have
// ended, and Unlock removes the files that it left.
func (s *Store) Unlock(_ context.Context, workspace, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.File(workspace)
	h := s.locks[workspace]
	if h == nil {
		return clearStale(path, id)
	}
	if h.id != id {
		return fmt.Errorf("the lock has the ID %q, not %q", h.id, id)
	}
	delete(s.locks, workspace)
	if err := os.Remove(infoPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.release(path)
		return fmt.Errorf("unlocking the state: %w", err)
	}
	h.release(path)
	return nil
}

// release unlocks everything. The lock file is removed while it is still locked; see openLocked.
func (h *held) release(path string) {
	if h.empty {
		if info, err := h.state.Stat(); err == nil && info.Size() == 0 && samePath(info, h.state.Name()) {
			os.Remove(h.state.Name())
		}
	}
	if h.own != nil {
		os.Remove(lockPath(path))
		h.own.Close()
		if !renamesLockedFiles {
			// Some systems can't remove open files: the first call failed, and this one fails if
			// the next holder has opened the file already.
			os.Remove(lockPath(path))
		}
	}
	if h.state != nil {
		h.state.Close()
	}
	h.folders.remove()
}

func samePath(info fs.FileInfo, path string) bool {
	present, err := os.Stat(path)
	return err == nil && os.SameFile(info, present)
}

// CheckUnlock implements backend.UnlockChecker.
func (s *Store) CheckUnlock(workspace, id string) error {
	stale, err := openStale(s.File(workspace), id)
	if err == nil {
		stale.close()
	}
	return err
}

// clearStale removes the lock files of a process that no longer exists. It fails if the lock has
// another ID or a process still holds it.
func clearStale(path, id string) error {
	stale, err := openStale(path, id)
	if err != nil {
		return err
	}
	defer stale.release(path)
	if err := os.Remove(infoPath(path)); err != nil {
		return fmt.Errorf("unlocking the state: %w", err)
	}
	return nil
}

// openStale takes over the lock of a process that no longer exists. It fails if the lock has another
// ID or a process still holds it.
func openStale(path, id string) (*held, error) {
	data, err := atomicfile.Read(infoPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the state isn't locked")
	}
	var info backend.LockInfo
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the holder of the lock: %w", err)
	}
	if info.ID != id {
		return nil, fmt.Errorf("the lock has the ID %q, not %q", info.ID, id)
	}
	h := &held{}
	h.own, err = openLocked(lockPath(path))
	if err == nil {
		h.state, _, err = lockSnapshot(path, false)
	}
	if err == nil {
		return h, nil
	}
	h.close()
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("the lock is held by a running process, and is released when that process ends:\n%s",
			strings.TrimRight(info.String(), "\n"))
	}
	return nil, fmt.Errorf("unlocking the state: %w", err)
}

// close unlocks the files, and leaves them in place.
func (h *held) close() {
	for _, f := range []*os.File{h.own, h.state} {
		if f != nil {
			f.Close()
		}
	}
}
