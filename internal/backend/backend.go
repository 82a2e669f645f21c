package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"tofu/internal/version"
)

// DefaultWorkspace is the workspace that always exists, except in a store that is an Undefaulted.
const DefaultWorkspace = "default"

// A Store keeps one state snapshot per workspace. Stores that hold resources such as connections
// also implement io.Closer.
type Store interface {
	// List returns the names of the workspaces that have a snapshot, sorted. It may leave out the
	// default workspace. The error is ErrNoWorkspaces if the backend has only the default
	// workspace.
	List(ctx context.Context) ([]string, error)
	// Get returns a workspace's snapshot: nil if none exists, not nil if it is empty.
	Get(ctx context.Context, workspace string) ([]byte, error)
	// Put replaces a workspace's snapshot, completely or not at all.
	Put(ctx context.Context, workspace string, data []byte) error
	// Delete removes a workspace's snapshot. It succeeds if none exists.
	Delete(ctx context.Context, workspace string) error
}

// A Locker is a Store that can lock workspaces.
type Locker interface {
	// Lock takes the lock without waiting, or returns a *LockedError. The returned ID is needed to
	// unlock; it may differ from info's.
	Lock(ctx context.Context, workspace string, info LockInfo) (id string, err error)
	// Unlock releases the lock with the given ID, even if another process holds it, as far as the
	// store supports that.
	Unlock(ctx context.Context, workspace, id string) error
}

// An UnlockChecker is a Locker that can't remove every lock of another process. CheckUnlock returns the
// error that Unlock would return for such a process, without removing the lock.
type UnlockChecker interface {
	CheckUnlock(workspace, id string) error
}

// A Swapper is a Store that can refuse to overwrite concurrent changes. A version identifies either
// the content of a snapshot or its last write; its form depends on the store.
type Swapper interface {
	// GetVersion is like Get, but also returns the version of the snapshot: "" if none exists.
	GetVersion(ctx context.Context, workspace string) (data []byte, version string, err error)
	// Swap stores data if the current snapshot has the given version, and returns the new version.
	// Otherwise it returns ErrChanged.
	Swap(ctx context.Context, workspace, version string, data []byte) (string, error)
}

// A Prober is a Store that can check in advance whether Put will work.
type Prober interface {
	Probe(ctx context.Context, workspace string) error
}

// A Pinger is a Store that can check whether workspaces can be listed without doing that.
type Pinger interface {
	Ping(ctx context.Context) error
}

// A Maker is a Store in which a workspace can exist without a snapshot. Make creates such a
// workspace. In other stores, a workspace is created by storing an empty state.
type Maker interface {
	Make(ctx context.Context, workspace string) error
}

// An Undefaulted is a Store without the default workspace. Its method Only returns the name of the
// only workspace that the store can have, or "" if the store can have several.
type Undefaulted interface{ Only() string }

// A Runner is a Store in a service that can run operations. LocalOperations returns an error with
// advice if operations on a workspace must not run on this machine.
type Runner interface {
	LocalOperations(ctx context.Context, workspace string) error
}

// An OutputStore is a Store in a service that may let a user read the outputs of a state, but not
// the rest of it.
type OutputStore interface {
	// GetOutputs is like Get, but the snapshot may contain only the outputs.
	GetOutputs(ctx context.Context, workspace string) ([]byte, error)
}

// A Querier is a Store that answers queries in the language of its database. Queries are read-only.
type Querier interface {
	// Query runs a single query. It calls the function columns once, and then the function row for
	// each row of the result. A nil value is NULL. The values are valid until the function row
	// returns. If the query itself is wrong, the error is a *QueryError.
	Query(ctx context.Context, query string, columns func([]Column), row func(values [][]byte) error) error
}

// Column is a column of a query's result.
type Column struct {
	Name string
	JSON bool // values are encoded as JSON, except special ones such as the number NaN
}

// A QueryError reports an error in a query.
type QueryError struct {
	Position int // position in the query, in characters from 1; 0 if unknown
	Message  string
	Hint     string // what to do; may be ""
}

func (e *QueryError) Error() string { return e.Message }

// Services finds the services that hosts offer, and returns the tokens that the CLI configuration
// contains for hosts.
type Services interface {
	Service(ctx context.Context, host, name string) (*url.URL, error)
	Token(ctx context.Context, host string) (string, error)
}

// A ServiceUser is a configuration whose driver needs services of hosts. UseServices is called
// before the store is opened.
type ServiceUser interface{ UseServices(Services) }

// A Filer is a Store whose snapshots are local files.
type Filer interface {
	File(workspace string) string // the path that Put writes
}

var (
	// ErrNoWorkspaces is returned by stores that have only the default workspace.
	ErrNoWorkspaces = errors.New("this backend has no workspaces other than \"default\"")
	// ErrWorkspaceName is returned by stores that can't have a workspace with a certain name.
	// Errors that wrap it add the reason.
	ErrWorkspaceName = errors.New("the backend can't have a workspace of this name")
	// ErrChanged is returned by Swap if the snapshot isn't the expected one.
	ErrChanged = errors.New("the state was changed by another process in the meantime")
)

// LockInfo describes the holder of a lock. Its JSON form is used in lock files and lock requests.
type LockInfo struct {
	ID        string
	Operation string
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
	// Engine is the program that holds the lock; zero for other programs than this one.
	Engine version.Info `json:"engine,omitzero"`
}

// String returns the fields, one per line, for error messages.
func (i *LockInfo) String() string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"ID", i.ID}, {"Path", i.Path}, {"Operation", i.Operation}, {"Who", i.Who}, {"Version", i.Version},
		{"Created", i.Created.String()}, {"Info", i.Info},
	} {
		fmt.Fprintf(&b, "  %-10s %s\n", line[0]+":", line[1])
	}
	if i.Engine.Name != "" {
		fmt.Fprintf(&b, "  %-10s %s\n", "Engine:", i.Engine)
	}
	return b.String()
}

// A LockedError reports that the lock is held by another process.
type LockedError struct {
	Info *LockInfo // nil if the holder is unknown
	Err  error     // details, such as why the holder is unknown; may be nil
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

// A Driver is a kind of backend.
type Driver struct {
	Name string
	// Config returns a pointer to a new configuration struct with the tags for Schema and Decode.
	Config func() Identifier
	// Open connects to the store. config is the decoded result of Config.
	Open func(ctx context.Context, config Identifier) (Store, error)
}

// An Identifier is the configuration of a backend. Every driver has one.
type Identifier interface {
	// Identity returns the kind of the store, and values that distinguish the state of a workspace
	// from all other states in such stores. It doesn't depend on settings that only say how to
	// reach or protect the state, or on how an address is written. It contains no secrets. It reads
	// nothing from the store. Relative paths are relative to dir.
	Identity(workspace, dir string) ([]string, error)
}

// New returns a driver that opens stores with the function open. C is the configuration struct.
func New[C any, P interface {
	*C
	Identifier
}](name string, open func(ctx context.Context, config P) (Store, error)) *Driver {
	return &Driver{
		Name:   name,
		Config: func() Identifier { return P(new(C)) },
		Open:   func(ctx context.Context, config Identifier) (Store, error) { return open(ctx, config.(P)) },
	}
}
