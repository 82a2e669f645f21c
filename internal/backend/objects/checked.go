package objects

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"time"

	"tofu/internal/backend"
)

// Checked is a Store that compares each state with its digest in a table.
type Checked struct {
	*Store
	service string // the name of the object store in messages
	table   *Table
}

// WithDigests returns a store that keeps the digests of states in a table. service is the name of
// the object store in messages.
func WithDigests(s *Store, service string, t *Table) *Checked { return &Checked{s, service, t} }

func digest(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// digestWait holds the delays between attempts to read a state that doesn't match its digest. State
// and digest may differ for a moment, while another process has written only one of them.
var digestWait = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// Get implements backend.Store.
func (s *Checked) Get(ctx context.Context, workspace string) ([]byte, error) {
	data, _, err := s.GetVersion(ctx, workspace)
	return data, err
}

// GetVersion implements backend.Swapper.
func (s *Checked) GetVersion(ctx context.Context, workspace string) ([]byte, string, error) {
	for attempt := 0; ; attempt++ {
		data, version, err := s.Store.GetVersion(ctx, workspace)
		if err != nil {
			return data, version, err
		}
		want, err := s.table.digests(ctx, workspace)
		if err != nil {
			return nil, "", fmt.Errorf("reading the digest of the state: %w", err)
		}
		present := ""
		if data != nil {
			present = digest(data)
		}
		switch {
		case want.matches(present):
			if want.current == "" {
				present = ""
			}
			s.table.remember(workspace, known{version, present})
			return data, version, nil
		case attempt == len(digestWait):
			return nil, "", s.mismatch(workspace, present, want)
		}
		select {
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		case <-time.After(digestWait[attempt]):
		}
	}
}

func (s *Checked) mismatch(workspace, present string, want digests) error {
	item := s.table.digestKey(workspace)
	if present == "" {
		return fmt.Errorf("state data in %s does not have the expected content: there is no state, but the "+
			"item %q in %s contains the digest %s of one. Restore the state from an older version of the object, or "+
			"delete the item to start without a state", s.service, item, s.table.What, want.current)
	}
	return fmt.Errorf("state data in %s does not have the expected content: it has the digest %s, but %s has "+
		"the digest %s in the item %q. The state was changed by another program, or an older version of it was "+
		"restored. Make sure "+
		"that it is the right one, and then set the attribute Digest of the item to %[2]s", s.service,
		present, s.table.What, want.current, item)
}

// Put implements backend.Store.
func (s *Checked) Put(ctx context.Context, workspace string, data []byte) error {
	_, _, err := s.GetVersion(ctx, workspace) // remembers the digest of the current state
	if err != nil {
		return err
	}
	present, _ := s.table.remembered(workspace)
	_, err = s.write(ctx, workspace, present.digest, data, func() (string, error) {
		return "", s.Store.Put(ctx, workspace, data)
	})
	return err
}

// Swap implements backend.Swapper.
func (s *Checked) Swap(ctx context.Context, workspace, version string, data []byte) (string, error) {
	present, ok := s.table.remembered(workspace)
	if !ok || present.version != version {
		there, found, err := s.GetVersion(ctx, workspace)
		switch {
		case err != nil:
			return "", err
		case found != version && bytes.Equal(there, data): // an earlier attempt only failed to confirm the digest
			return found, s.confirm(ctx, workspace, digest(data))
		case found != version:
			return "", backend.ErrChanged
		}
		present, _ = s.table.remembered(workspace)
	}
	return s.write(ctx, workspace, present.digest, data, func() (string, error) {
		return s.Store.Swap(ctx, workspace, version, data)
	})
}

// write updates the digest, writes a state, and updates the digest again. present is the digest of
// the state that is replaced.
func (s *Checked) write(
	ctx context.Context, workspace, present string, data []byte, write func() (string, error),
) (string, error) {
	next := digest(data)
	if err := s.table.announce(ctx, workspace, present, next); err != nil {
		return "", fmt.Errorf("writing the digest of the state: %w", err)
	}
	version, err := write()
	if err != nil {
		return "", err
	}
	s.table.remember(workspace, known{version, next})
	return version, s.confirm(ctx, workspace, next)
}

func (s *Checked) confirm(ctx context.Context, workspace, next string) error {
	if err := s.table.confirm(ctx, workspace, next); err != nil {
		return fmt.Errorf("the state was written, but not its digest: %w", err)
	}
	return nil
}

// Delete implements backend.Store.
func (s *Checked) Delete(ctx context.Context, workspace string) error {
	if err := s.Store.Delete(ctx, workspace); err != nil {
		return err
	}
	s.table.remember(workspace, known{})
	if err := s.table.Rows.Delete(ctx, s.table.digestKey(workspace), RowCondition{}); err != nil {
		return fmt.Errorf("deleting the digest of the state: %w", err)
	}
	return nil
}
