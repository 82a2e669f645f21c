package azurerm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
)

// Lock implements backend.Locker. The ID of a lock is the ID of its lease, a UUID.
func (s *Store) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	ctx, cancel := s.blobs.timeout(ctx)
	defer cancel()
	name := s.blobs.config.blobName(workspace)
	if _, err := uuid.Parse(info.ID); err != nil {
		info.ID = uuid.NewString()
	}
	if err := s.blobs.acquire(ctx, name, info.ID); err != nil {
		if errors.As(err, new(*backend.LockedError)) {
			return "", err
		}
		return "", fmt.Errorf("locking the state: %w", err)
	}
	if err := s.blobs.describeHolder(ctx, name, &info); err != nil {
		_ = s.blobs.lease(context.WithoutCancel(ctx), name, "release", http.Header{"X-Ms-Lease-Id": {info.ID}})
		return "", fmt.Errorf("locking the state: %w", err)
	}
	s.blobs.update(name, func(b *blob) { b.leaseID = info.ID })
	return info.ID, nil
}

// acquire takes the lease of a blob, after creating the blob if none exists. Acquiring a lease
// again with the same ID succeeds, so a lost response does no harm.
func (b *blobs) acquire(ctx context.Context, name, id string) error {
	for attempt := 0; ; attempt++ {
		err := b.lease(ctx, name, "acquire", http.Header{"X-Ms-Lease-Duration": {"-1"}, "X-Ms-Proposed-Lease-Id": {id}})
		switch {
		case err == nil:
			return nil
		case isCode(err, "BlobNotFound") && attempt == 0:
			if err := b.create(ctx, name); err != nil {
				return err
			}
		case isCode(err, "LeaseAlreadyPresent"):
			present, err := b.head(ctx, name)
			if err != nil {
				return &backend.LockedError{Err: err}
			}
			return &backend.LockedError{Info: present.holder()}
		default:
			return err
		}
	}
}

// create creates an empty blob, unless another process has created it in the meantime.
func (b *blobs) create(ctx context.Context, name string) error {
	_, err := b.write(ctx, name, []byte{}, new(blob), objects.Condition{Absent: true})
	if errors.Is(err, objects.ErrPrecondition) {
		return nil
	}
	return err
}

// describeHolder adds the lock information to the metadata of a blob.
func (b *blobs) describeHolder(ctx context.Context, name string, info *backend.LockInfo) error {
	present, err := b.head(ctx, name)
	if err != nil {
		return err
	}
	to, err := b.login.containerURL(ctx)
	if err != nil {
		return err
	}
	info.Path = to.String() + "/" + url.PathEscape(name)
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return b.setMetadata(ctx, name, &present, base64.StdEncoding.EncodeToString(text), info.ID)
}

// setMetadata replaces the metadata of a blob with the known entries and the lock information.
func (b *blobs) setMetadata(ctx context.Context, name string, known *blob, lock, leaseID string) error {
	header := http.Header{"X-Ms-Lease-Id": {leaseID}}
	known.addMetadata(header, lock)
	resp, err := b.call(ctx, request{method: http.MethodPut, blob: name, query: url.Values{"comp": {"metadata"}},
		header: header, encrypted: true})
	if err != nil {
		return err
	}
	if resp.Status != http.StatusOK {
		return &refusal{code(resp), b.failure(resp)}
	}
	b.update(name, func(k *blob) { k.etag, k.lock = resp.Header.Get("Etag"), lock })
	return nil
}

// lease performs an action on the lease of a blob.
func (b *blobs) lease(ctx context.Context, name, action string, header http.Header) error {
	header.Set("X-Ms-Lease-Action", action)
	resp, err := b.call(ctx, request{method: http.MethodPut, blob: name, query: url.Values{"comp": {"lease"}},
		header: header})
	switch {
	case err != nil:
		return err
	case resp.Status/100 != 2:
		return &refusal{code(resp), b.failure(resp)}
	}
	return nil
}

// refusal is an error response, with the code that the service returned.
type refusal struct {
	code string
	error
}

func (r *refusal) Unwrap() error { return r.error }

// isCode reports whether an error is a response with the given code.
func isCode(err error, code string) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.code == code
}

// holder returns the information about the holder of the lease. If the holder was killed before it
// wrote that information, the ID is derived from the ETag. Unlock then breaks the lease only if the
// blob hasn't changed.
func (b *blob) holder() *backend.LockInfo {
	info := new(backend.LockInfo)
	text, err := base64.StdEncoding.DecodeString(b.lock)
	if err == nil && json.Unmarshal(text, info) == nil && info.ID != "" {
		return info
	}
	return &backend.LockInfo{ID: "etag-" + strings.Trim(b.etag, `"`), Who: "unknown",
		Info: "a process that didn't describe itself, or another tool that took a lease"}
}

// Unlock implements backend.Locker.
func (s *Store) Unlock(ctx context.Context, workspace, id string) error {
	ctx, cancel := s.blobs.timeout(ctx)
	defer cancel()
	name := s.blobs.config.blobName(workspace)
	known := s.blobs.blob(name)
	if known.leaseID != id { // the lock belongs to another process
		var err error
		known, err = s.blobs.head(ctx, name)
		if err != nil {
			return fmt.Errorf("unlocking the state: %w", err)
		}
		if !known.leased {
			return errors.New("the state isn't locked")
		}
		if holder := known.holder(); holder.ID != id {
			return fmt.Errorf("unlocking the state: %w", &backend.LockedError{Info: holder,
				Err: fmt.Errorf("the lock has the ID %q, not %q", holder.ID, id)})
		}
	}
	if err := s.blobs.release(ctx, name, &known, id); err != nil {
		return fmt.Errorf("unlocking the state: %w", err)
	}
	s.blobs.update(name, func(b *blob) {
		if b.leaseID == id {
			b.leaseID = ""
		}
	})
	return nil
}

// release removes the lock information and then the lease.
func (b *blobs) release(ctx context.Context, name string, known *blob, id string) error {
	if strings.HasPrefix(id, "etag-") {
		return b.lease(ctx, name, "break", http.Header{"X-Ms-Lease-Break-Period": {"0"}, "If-Match": {known.etag}})
	}
	err := b.setMetadata(ctx, name, known, "", id)
	if err == nil {
		err = b.lease(ctx, name, "release", http.Header{"X-Ms-Lease-Id": {id}})
	}
	if err == nil || isCode(err, "BlobNotFound") {
		return nil
	}
	// The lease may be gone, because a response was lost or another process has removed it.
	present, headErr := b.head(ctx, name)
	switch {
	case headErr != nil:
		return err
	case !present.leased:
		return nil
	case present.holder().ID != id:
		return fmt.Errorf("the lock was lost, and another process has since locked the state:\n%s", present.holder())
	}
	return err
}
