package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DefaultWorkspace is the workspace that always exists.
const DefaultWorkspace = "default"

// A Store keeps one state snapshot per workspace. One that keeps something open meanwhile, such as a connection, is an io.Closer too.
type Store interface {
	// List names the workspaces that have a snapshot, sorted. ErrNoWorkspaces says that there is only the default one.
	List(ctx context.Context) ([]string, error)
	// Get gives a workspace's snapshot: nil when there is none, and not nil when it is empty.
	Get(ctx context.Context, workspace string) ([]byte, error)
	// Put replaces a workspace's snapshot, whole or not at all.
	Put(ctx context.Context, workspace string, data []byte) error
	// Delete removes a workspace's snapshot; one that isn't there is no error.
	Delete(ctx context.Context, workspace string) error
}

// A Locker is a Store whose workspaces can be locked; others are not locked at all.
type Locker interface {
	// Lock takes the lock at once or gives a *LockedError. The returned ID is the one to unlock with; it may differ from info's.
	Lock(ctx context.Context, workspace string, info LockInfo) (id string, err error)
	// Unlock gives back the lock with that ID, one of another process too where the store can do that.
	Unlock(ctx context.Context, workspace, id string) error
}

// A Swapper is a Store that can refuse to overwrite what somebody else wrote in the meantime.
type Swapper interface {
	// Swap puts data where the present snapshot is old (nil: there is none); otherwise it gives ErrChanged and does nothing.
	Swap(ctx context.Context, workspace string, old, data []byte) error
}

// A Prober is a Store that can find out whether Put will work without putting anything.
type Prober interface {
	Probe(ctx context.Context, workspace string) error
}

// A Maker is a Store whose workspaces can be listed before they have a snapshot. In others, a workspace begins with an empty state.
type Maker interface {
	Make(ctx context.Context, workspace string) error
}

// A Filer is a Store whose snapshots are files on this machine, for people to look at.
type Filer interface {
	File(workspace string) string // the path that Put writes
}

var (
	// ErrNoWorkspaces is what stores give that have the default workspace only.
	ErrNoWorkspaces = errors.New("this backend has no workspaces other than \"default\"")
	// ErrChanged is what Swap gives when the snapshot isn't the expected one.
	ErrChanged = errors.New("the state was changed by somebody else in the meantime")
)

// LockInfo says who holds a lock. Its JSON form is the one of lock files and lock requests.
type LockInfo struct {
	ID        string
	Operation string
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
}

// String lists the fields, one per line, as error messages show them.
func (i *LockInfo) String() string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"ID", i.ID}, {"Path", i.Path}, {"Operation", i.Operation}, {"Who", i.Who}, {"Version", i.Version},
		{"Created", i.Created.String()}, {"Info", i.Info},
	} {
		fmt.Fprintf(&b, "  %-10s %s\n", line[0]+":", line[1])
	}
	return b.String()
}

// A LockedError says that somebody else holds the lock.
type LockedError struct {
	Info *LockInfo // nil when the holder isn't known
	Err  error     // what went wrong when finding out about the holder, or why the lock can't be had
}

func (e *LockedError) Error() string {
	text := "the state is locked"
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Info != nil {
		text += "\nLock Info:\n" + e.Info.String()
	}
	return text
}

func (e *LockedError) Unwrap() error { return e.Err }

// A Driver is one kind of backend.
type Driver struct {
	Name string
	// Config gives a new configuration: a pointer to a struct whose fields have the tags that Schema and Decode read.
	Config func() any
	// Open connects to the store; config is what Config gave, filled.
	Open func(ctx context.Context, config any) (Store, error)
	// Unsupported is set for backends that are known by name alone: what to tell the user.
	Unsupported string
}

// New makes a driver from a function that opens its store.
func New[C any](name string, open func(ctx context.Context, config *C) (Store, error)) *Driver {
	return &Driver{
		Name:   name,
		Config: func() any { return new(C) },
		Open:   func(ctx context.Context, config any) (Store, error) { return open(ctx, config.(*C)) },
	}
}
