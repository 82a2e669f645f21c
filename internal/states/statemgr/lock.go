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

// Waiting tells how the wait for a lock goes.
type Waiting struct {
	Holder  *backend.LockInfo // nil when not known
	Elapsed time.Duration
}

// Lock locks the state for an operation ("OperationTypeApply"), waiting for as long as timeout says; progress, if not nil, is told
// before each wait. Stores without locks are not locked. A lock that somebody holds gives a diagnostic with the holder's
// *backend.LockInfo as its Extra, which may be nil.
func (m *Manager) Lock(ctx context.Context, operation string, timeout time.Duration, progress func(Waiting)) tfdiags.Diagnostics {
	locker, ok := m.store.(backend.Locker)
	if !ok {
		return nil
	}
	info := backend.LockInfo{
		ID: uuid.NewString(), Operation: operation, Info: processInfo(os.Getpid()), Who: who(),
		Version: version.String, Created: time.Now().UTC(),
	}
	start, wait := time.Now(), firstWait
	for {
		id, err := locker.Lock(ctx, m.workspace, info)
		if err == nil {
			m.mu.Lock()
			m.lockID, m.locked = id, true
			m.mu.Unlock()
			return nil
		}
		if errors.Is(err, backend.ErrNoWorkspaces) {
			return m.noWorkspaces()
		}
		var held *backend.LockedError
		left := timeout - time.Since(start)
		if !errors.As(err, &held) || left <= 0 {
			return lockFailed(err)
		}
		if progress != nil {
			progress(Waiting{Holder: held.Info, Elapsed: time.Since(start)})
		}
		select {
		case <-ctx.Done():
			return lockFailed(fmt.Errorf("%w (%w)", err, context.Cause(ctx)))
		case <-time.After(min(wait, left)):
		}
		wait = min(2*wait, longestWait)
	}
}

func lockFailed(err error) tfdiags.Diagnostics {
	advice := "Without the lock, two commands could write the state at the same time. Solve the problem and run the command again. " +
		"-lock=false goes without a lock, which is safe only while nobody else uses the state."
	var held *backend.LockedError
	isHeld := errors.As(err, &held)
	if isHeld && leftBehind(held.Info) {
		advice = fmt.Sprintf("The lock is that of a process on this machine that does not run any more. It must have been killed before it "+
			"could give the lock back. \"tofu force-unlock %s\" removes the lock.", held.Info.ID)
	}
	d := tfdiags.Errorf("Error acquiring the state lock", "%s\n\n%s", tfdiags.Capital(err.Error()), advice)
	if isHeld {
		d.Extra = held.Info
	}
	return tfdiags.Diagnostics{d}
}

// leftBehind tells whether a lock is known to be that of a process that doesn't run any more.
func leftBehind(lock *backend.LockInfo) bool {
	if lock == nil {
		return false
	}
	pid, here := processHere(lock.Info)
	return here && ended(pid)
}

// processHere reads what processInfo said, if the process's number means the same here.
func processHere(info string) (pid int, here bool) {
	_, err := fmt.Sscanf(info, "process %d", &pid)
	return pid, err == nil && info == processInfo(pid)
}

// ended tells whether there is no process of that number.
func ended(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil { // on Windows: elsewhere every number gives a process
		return !errors.Is(err, fs.ErrPermission)
	}
	return errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// processInfo is what a lock says of the process that took it.
func processInfo(pid int) string { return fmt.Sprintf("process %d of %s", pid, numbering()) }

// numbering names the processes among which a number means one: on Linux those of a PID namespace since the machine was started. Names
// of machines don't tell containers apart, and there may be several of one name on several machines.
func numbering() string {
	boot, err1 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, err2 := os.Readlink("/proc/self/ns/pid")
	if err1 != nil || err2 != nil {
		host, _ := os.Hostname()
		return host
	}
	sum := sha256.Sum256(append(boot, namespace...))
	return hex.EncodeToString(sum[:6])
}

// who names this user and machine, as locks do.
func who() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return name + "@" + host
}

// LockID gives the ID of the lock that this manager holds, "" for none.
func (m *Manager) LockID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lockID
}

// Unlock ends what runs, without saving, and gives the lock back. It takes its own time: a cancelled operation must be able to
// unlock. Without a lock it only ends what runs.
func (m *Manager) Unlock() tfdiags.Diagnostics {
	m.close()
	m.mu.Lock()
	id, locked := m.lockID, m.locked
	m.lockID, m.locked = "", false
	m.mu.Unlock()
	if !locked {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	if err := m.store.(backend.Locker).Unlock(ctx, m.workspace, id); err != nil {
		return tfdiags.Diagnostics{tfdiags.Errorf("Error releasing the state lock", "%s\n\n"+
			"The lock may still be held, and then other operations on this state fail. Once you are sure that none is running, "+
			"run \"tofu force-unlock %s\".", err, id)}
	}
	return nil
}

// ForceUnlock removes somebody else's lock.
func (m *Manager) ForceUnlock(ctx context.Context, id string) error {
	locker, ok := m.store.(backend.Locker)
	if !ok {
		return errors.New("this backend has no locks")
	}
	return locker.Unlock(ctx, m.workspace, id)
}
