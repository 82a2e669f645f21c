package statemgr

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"tofu/internal/backend"
	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

const (
	firstWait     = time.Second
	longestWait   = 16 * time.Second
	unlockTimeout = 30 * time.Second
)

// Waiting describes the wait for a lock.
type Waiting struct {
	Holder  *backend.LockInfo // nil if unknown
	Elapsed time.Duration
}

// Lock locks the state for an operation such as "OperationTypeApply". It waits up to timeout and
// calls progress, unless that is nil, before each wait. It does nothing if the store has no locks.
// If another process holds the lock, the error is a diagnostic whose Extra field is the
// *backend.LockInfo of that process, which may be nil.
func (m *Manager) Lock(
	ctx context.Context, operation string, timeout time.Duration, progress func(Waiting),
) error {
	info, wait := NewLockInfo(operation), lockWait{timeout, progress}
	if m.Shared() { // runs of a ledger claim parts in Begin instead
		m.lock.setRun(info, wait)
		return nil
	}
	locker, ok := m.store.(backend.Locker)
	if !ok {
		return nil
	}
	err := wait.retry(ctx, func() error {
		id, err := locker.Lock(ctx, m.name, info)
		if err == nil {
			m.lock.acquired(id)
		}
		return err
	})
	switch {
	case errors.Is(err, backend.ErrNoWorkspaces):
		return m.noWorkspaces()
	case err != nil:
		return lockFailed(err)
	}
	return nil
}

// NewLockInfo describes this process as the holder of a lock.
func NewLockInfo(operation string) backend.LockInfo {
	return backend.LockInfo{
		ID: uuid.NewString(), Operation: operation, Info: processInfo(os.Getpid()), Who: userAtHost(),
		Version: version.String, Created: time.Now().UTC(), Engine: version.Engine(),
	}
}

// lock is the lock that a manager holds. A run of a ledger holds no lock; its ID serves as the lock
// ID.
type lock struct {
	mu   sync.Mutex       // guards the following fields
	id   string           // "" if there is no lock
	held bool             // the store has the lock and must release it
	info backend.LockInfo // describes the run, if the store is a ledger
	wait lockWait         // how the run waits for the claims of other runs
}

// acquired records that the store has locked the state.
func (l *lock) acquired(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id, l.held = id, true
}

// setRun sets the info that identifies the run of a ledger, and how it waits for the claims of
// other runs.
func (l *lock) setRun(info backend.LockInfo, wait lockWait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id, l.info, l.wait = info.ID, info, wait
}

// run returns the info that identifies the run of a ledger.
func (l *lock) run() backend.LockInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.info.ID == "" {
		l.info = NewLockInfo("")
	}
	return l.info
}

// waiting returns how the run of a ledger waits for the claims of other runs.
func (l *lock) waiting() lockWait {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait
}

// release forgets the lock. It returns the ID of the lock, and reports whether the store must
// release it.
func (l *lock) release() (id string, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, held = l.id, l.held
	l.id, l.held = "", false
	return id, held
}

// lockWait holds the timeout of a wait for locks, and the function that reports the wait.
type lockWait struct {
	timeout  time.Duration
	progress func(Waiting) // called before each wait, unless it is nil
}

// retry calls try until it returns anything other than a *backend.LockedError, until w.timeout has
// passed, or until ctx ends.
func (w lockWait) retry(ctx context.Context, try func() error) error {
	start, wait := time.Now(), firstWait
	for {
		err := try()
		var held *backend.LockedError
		left := w.timeout - time.Since(start)
		if !errors.As(err, &held) || left <= 0 {
			return err
		}
		if w.progress != nil {
			w.progress(Waiting{Holder: held.Info, Elapsed: time.Since(start)})
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-time.After(min(wait, left)):
		}
		wait = min(2*wait, longestWait)
	}
}

func lockFailed(err error) error {
	advice := "The lock prevents two commands from writing the state at the same time. Solve the problem and run the " +
		"command again. Use -lock=false only if no other command is using the state."
	var held *backend.LockedError
	isHeld := errors.As(err, &held)
	switch {
	case isHeld && isStale(held.Info):
		advice = fmt.Sprintf("The process on this machine that acquired the lock is no longer running. It was "+
			"probably killed before it could release the lock. To remove the lock, run \"tofu force-unlock %s\".",
			held.Info.ID)
	case isHeld:
		advice = "Another command is using the state. Wait until it ends, for example with -lock-timeout=10m."
		if held.Info != nil && held.Info.ID != "" {
			advice += fmt.Sprintf(" If it was killed before it could release the lock, run \"tofu force-unlock %s\".",
				held.Info.ID)
		}
	}
	d := tfdiags.Errorf("Error acquiring the state lock", "%s\n\n%s", tfdiags.Capitalize(err.Error()), advice)
	if isHeld {
		d.Extra = held.Info
	}
	return d
}

// isStale reports whether the process that acquired the lock is known to have exited.
func isStale(lock *backend.LockInfo) bool {
	return lock != nil && ProcessGone(lock.Info)
}

// processHere parses the result of processInfo. It reports false if the process ID belongs to
// another machine or PID namespace, or if info is anything else.
func processHere(info string) (pid int, here bool) {
	_, err := fmt.Sscanf(info, "process %d", &pid)
	return pid, err == nil && info == processInfo(pid)
}

// ProcessGone reports whether the process named by LockInfo.Info ran on this machine and has
// exited.
func ProcessGone(info string) bool {
	pid, here := processHere(info)
	return here && exited(pid)
}

// exited reports whether no process has this ID.
func exited(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil { // only on Windows: elsewhere FindProcess always succeeds
		return !errors.Is(err, fs.ErrPermission)
	}
	return errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// processInfo describes a process in the information of a lock.
func processInfo(pid int) string { return fmt.Sprintf("process %d of %s", pid, processSpace()) }

// processSpace identifies the set of processes in which a process ID is unique: on Linux a PID
// namespace since the last boot, elsewhere the host. Host names don't distinguish containers and
// may be shared by several machines.
func processSpace() string {
	boot, err1 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, err2 := os.Readlink("/proc/self/ns/pid")
	if err1 != nil || err2 != nil {
		host, _ := os.Hostname()
		return host
	}
	sum := sha256.Sum256(append(boot, namespace...))
	return hex.EncodeToString(sum[:6])
}

// userAtHost names the user and machine, as in the information of a lock.
func userAtHost() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return name + "@" + host
}

// LockID returns the ID of the lock that the manager holds, or "" if it holds none.
func (m *Manager) LockID() string {
	m.lock.mu.Lock()
	defer m.lock.mu.Unlock()
	return m.lock.id
}

// Unlock stops recording without saving and releases the lock, if there is one. It takes no
// context: a canceled operation must be able to unlock.
func (m *Manager) Unlock() error {
	failed := m.stopRecording()
	id, held := m.lock.release()
	if failed != nil {
		return tfdiags.Errorf("Error releasing the state lock", "%s\n\n"+
			"The run may still be in progress for other runs. They can't change the objects that it claims until its "+
			"lease has expired, or until you run \"tofu force-unlock %s\".", tfdiags.Sentence(failed), id)
	}
	if !held {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	if err := m.store.(backend.Locker).Unlock(ctx, m.name, id); err != nil {
		return tfdiags.Errorf("Error releasing the state lock", "%s\n\n"+
			"The lock may still be held, which makes other operations on this state fail. If no operation is running, "+
			"run \"tofu force-unlock %s\".", tfdiags.Sentence(err), id)
	}
	return nil
}

// CheckForceUnlock returns an error if it is already known that ForceUnlock can't remove the lock.
func (m *Manager) CheckForceUnlock(id string) error {
	if m.Shared() {
		return nil
	}
	if _, ok := m.store.(backend.Locker); !ok {
		return errNoLocks
	}
	if checker, ok := m.store.(backend.UnlockChecker); ok {
		return checker.CheckUnlock(m.name, id)
	}
	return nil
}

var errNoLocks = errors.New("this backend has no locks")

// ForceUnlock removes the lock of another process.
func (m *Manager) ForceUnlock(ctx context.Context, id string) error {
	if ledger, ok := m.store.(Ledger); ok {
		return ledger.EndRun(ctx, m.name, id)
	}
	locker, ok := m.store.(backend.Locker)
	if !ok {
		return errNoLocks
	}
	return locker.Unlock(ctx, m.name, id)
}
