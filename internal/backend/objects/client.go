package objects

import (
	"context"
	"errors"
	"strings"

	"tofu/internal/backend"
)

var (
	// ErrNotFound is returned by Client.Get if there is no such object.
	ErrNotFound = errors.New("there is no such object")
	// ErrPrecondition is returned by Client.Put and Client.Delete if the object doesn't have the
	// version that the condition requires.
	ErrPrecondition = errors.New("the object has a different version")
	// ErrUnlocked is returned by Unlock if there is no lock.
	ErrUnlocked = errors.New("the state isn't locked")
)

// A Client calls an object store. It repeats requests after failures that may be temporary. It is
// safe for concurrent use.
type Client interface {
	// Get returns the content of an object and its version: an ETag, a generation, or whatever the
	// service compares in conditional writes. The error is ErrNotFound if there is no such object.
	Get(ctx context.Context, key string) (data []byte, version string, err error)
	// Put writes an object, completely or not at all, and returns its new version. The error is
	// ErrPrecondition if the condition doesn't hold. If a response was lost, Put may return this
	// error or another one even though the object was written.
	Put(ctx context.Context, key string, data []byte, c Condition) (version string, err error)
	// Delete removes an object. It succeeds if none exists. If version isn't "" and the service can
	// compare versions on deletion, the error is ErrPrecondition if the object has another version.
	Delete(ctx context.Context, key, version string) error
	// List calls found with the key of each object with the given prefix, in any order.
	List(ctx context.Context, prefix string, found func(key string)) error
}

// A Condition says which object a write may replace. The zero value allows any object.
type Condition struct {
	Absent  bool   // the write fails if there is an object
	Version string // the write replaces only an object with this version; "" for any
}

// A Layout names the objects of workspaces.
type Layout struct {
	// State returns the key of a workspace's state.
	State func(workspace string) string
	// Lock returns the key of a workspace's lock.
	Lock func(workspace string) string
	// Prefix is the common prefix of the keys of states. The key of the default workspace may be
	// outside of the prefix.
	Prefix string
	// Workspace returns the workspace whose state has the given key. It reports false for other
	// objects.
	Workspace func(key string) (string, bool)
	// Path returns the description of a workspace's state in the information about a lock, such as
	// BUCKET/KEY. If it is nil, the description is the key of the state.
	Path func(workspace string) string
}

// InFolder returns a layout with the state PREFIX/KEY for the default workspace and
// PREFIX/WORKSPACE/KEY for others. It has no locks.
func InFolder(prefix, key string) Layout {
	return Layout{Prefix: prefix + "/",
		State: func(workspace string) string {
			if workspace == backend.DefaultWorkspace {
				return prefix + "/" + key
			}
			return prefix + "/" + workspace + "/" + key
		},
		Workspace: func(found string) (string, bool) {
			rest, _ := strings.CutPrefix(found, prefix+"/")
			if rest == key {
				return backend.DefaultWorkspace, true
			}
			name, ok := strings.CutSuffix(rest, "/"+key)
			return name, ok && name != "" && !strings.Contains(name, "/")
		}}
}
