package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"tofu/internal/backend"
)

// Row holds the columns of a row other than its key, by name.
type Row map[string]string

// Rows is a database table whose key is the column LockID. Its errors name the table.
type Rows interface {
	// Get returns a row, or nil if it doesn't exist. It sees all earlier writes.
	Get(ctx context.Context, key string) (Row, error)
	// Put replaces a row. The error is ErrPrecondition if the row doesn't meet the condition. If a
	// response was lost, Put may return this error or another one even though the row was written.
	Put(ctx context.Context, key string, r Row, c RowCondition) error
	// Delete removes a row. Removing a missing row succeeds. Delete returns the same errors as Put.
	Delete(ctx context.Context, key string, c RowCondition) error
}

// A RowCondition says which row may be replaced or deleted. The zero value allows any row.
type RowCondition struct {
	Absent  bool   // there must be no row
	Without string // a column that the row must not have; a missing row is fine; "" for no requirement
	// Any holds values by column, at least one of which must be in the row; nil allows any row.
	Any Row
}

// The columns of rows. columnNext exists only while a state is written.
const (
	columnInfo   = "Info"
	columnDigest = "Digest"
	columnNext   = "NextDigest"
)

const digestSuffix = "-md5"

// Table keeps locks and the digests of states in rows. For the state PATH, the row PATH is the
// lock, and the row PATH-md5 has the digest. Table implements backend.Locker.
type Table struct {
	// What describes the table in messages, such as: the DynamoDB table "x".
	What string
	Rows Rows
	// Path returns the key of the row of a workspace's lock.
	Path func(workspace string) string

	mu    sync.Mutex
	known map[string]known // the states as last read or written, by workspace
}

// known is a version of a state and its digest, which is "" if the table has none.
type known struct{ version, digest string }

// Lock implements backend.Locker.
func (t *Table) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	info.Path = t.Path(workspace)
	data, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	err = t.Rows.Put(ctx, info.Path, Row{columnInfo: string(data)}, RowCondition{Absent: true})
	if err == nil || ctx.Err() != nil {
		return info.ID, err
	}
	text, holder, readErr := t.holder(ctx, workspace)
	switch {
	case readErr == nil && text == string(data):
		return info.ID, nil // the response of an earlier attempt was lost
	case !errors.Is(err, ErrPrecondition):
		return "", fmt.Errorf("locking the state in %s: %w", t.What, err)
	case errors.Is(readErr, ErrUnlocked):
		return "", &backend.LockedError{Err: errors.New("another process took the lock and released it just now")}
	}
	return "", &backend.LockedError{Info: holder, Err: readErr}
}

// holder reads the lock of a workspace. The error is ErrUnlocked if the workspace is not locked.
func (t *Table) holder(ctx context.Context, workspace string) (text string, info *backend.LockInfo, err error) {
	found, err := t.Rows.Get(ctx, t.Path(workspace))
	if err != nil {
		return "", nil, fmt.Errorf("reading the lock in %s: %w", t.What, err)
	}
	if found == nil {
		return "", nil, ErrUnlocked
	}
	text, info = found[columnInfo], new(backend.LockInfo)
	if err := json.Unmarshal([]byte(text), info); err != nil {
		return text, nil, fmt.Errorf("the item %q in %s has no valid information about the lock: %w; if no command "+
			"is using the state, delete the item", t.Path(workspace), t.What, err)
	}
	return text, info, nil
}

// Unlock implements backend.Locker.
func (t *Table) Unlock(ctx context.Context, workspace, id string) error {
	text, info, err := t.holder(ctx, workspace)
	if err != nil {
		return fmt.Errorf("unlocking the state: %w", err)
	}
	if info.ID != id {
		return fmt.Errorf("unlocking the state: %w", &backend.LockedError{Info: info,
			Err: fmt.Errorf("the lock has the ID %q, not %q", info.ID, id)})
	}
	err = t.Rows.Delete(ctx, t.Path(workspace), RowCondition{Any: Row{columnInfo: text}})
	if err == nil {
		return nil
	}
	if _, _, again := t.holder(ctx, workspace); errors.Is(again, ErrUnlocked) {
		return nil // the response of an earlier attempt was lost
	}
	return fmt.Errorf("unlocking the state in %s: %w", t.What, err)
}

// digests are the digests of a state: the current one, and the next one while the state is being
// replaced. The current digest is "" for a state that was never written with the table.
type digests struct{ current, next string }

func (d digests) matches(digest string) bool {
	return d.current == "" || digest == d.current || d.next != "" && digest == d.next
}

func (t *Table) digestKey(workspace string) string { return t.Path(workspace) + digestSuffix }

// digests reads the digests of a workspace's state.
func (t *Table) digests(ctx context.Context, workspace string) (digests, error) {
	found, err := t.Rows.Get(ctx, t.digestKey(workspace))
	return digests{found[columnDigest], found[columnNext]}, err
}

// announce adds the digest that the state is about to have. present is the digest of the state that
// was read, or "" if the table has none. If the table now has another digest, the error is
// backend.ErrChanged.
func (t *Table) announce(ctx context.Context, workspace, present, next string) error {
	r, c := Row{columnNext: next}, RowCondition{Without: columnDigest}
	if present != "" {
		maps.Copy(r, Row{columnDigest: present})
		c = RowCondition{Any: Row{columnDigest: present, columnNext: present}}
	}
	err := t.Rows.Put(ctx, t.digestKey(workspace), r, c)
	if errors.Is(err, ErrPrecondition) {
		return backend.ErrChanged
	}
	return err
}

// confirm makes the announced digest the only one. It does nothing if another process has announced
// or confirmed a digest in the meantime.
func (t *Table) confirm(ctx context.Context, workspace, next string) error {
	err := t.Rows.Put(ctx, t.digestKey(workspace), Row{columnDigest: next}, RowCondition{Any: Row{columnNext: next}})
	if errors.Is(err, ErrPrecondition) {
		return nil
	}
	return err
}

// remember records the last known state of a workspace.
func (t *Table) remember(workspace string, k known) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = make(map[string]known)
	}
	t.known[workspace] = k
}

// remembered returns the state that was last read or written, if there is one.
func (t *Table) remembered(workspace string) (known, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.known[workspace]
	return k, ok
}
