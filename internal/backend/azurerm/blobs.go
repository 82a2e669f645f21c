package azurerm

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
	"tofu/internal/limits"
	"tofu/internal/restapi"
)

// blobs is the client of a container. It implements objects.Client; versions are checksums of
// contents.
type blobs struct {
	config Config
	login  *login
	api    restapi.Client

	mu    sync.Mutex
	known map[string]*blob // what is known about blobs, by name
}

// blob holds what is known about a blob.
type blob struct {
	etag     string // "" if there is no blob
	sum      string // checksum of the content; "" if it is empty
	leased   bool
	metadata map[string]string // metadata without the lock information
	lock     string            // the lock information as it is stored in the metadata
	leaseID  string            // ID of the lease that this process holds; "" if it holds none
	snapshot bool              // this process has taken a snapshot
}

// checksum returns the MD5 sum of a blob's content in Base64, or "" if the content is empty.
func checksum(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	sum := md5.Sum(data)
	return base64.StdEncoding.EncodeToString(sum[:])
}

const metadataPrefix = "X-Ms-Meta-"

// lockMetadata is the name of the header with the lock information.
const lockMetadata = metadataPrefix + "Terraformlockid"

// describe updates b from the headers of a response.
func (b *blob) describe(header http.Header) {
	b.etag, b.leased = header.Get("Etag"), header.Get("X-Ms-Lease-Status") == "locked"
	b.metadata, b.lock = make(map[string]string), header.Get(lockMetadata)
	for name := range header {
		if strings.HasPrefix(name, metadataPrefix) && name != lockMetadata {
			b.metadata[name] = header.Get(name)
		}
	}
}

// blob returns a copy of what is known about a blob.
func (b *blobs) blob(name string) blob {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.known[name]; known != nil {
		return *known
	}
	return blob{}
}

// update changes what is known about a blob.
func (b *blobs) update(name string, change func(*blob)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[name] == nil {
		b.known[name] = new(blob)
	}
	change(b.known[name])
}

// Get implements objects.Client.
func (b *blobs) Get(ctx context.Context, name string) ([]byte, string, error) {
	ctx, cancel := b.timeout(ctx)
	defer cancel()
	resp, err := b.call(ctx, request{method: http.MethodGet, blob: name, encrypted: true, limit: limits.State})
	if err != nil {
		return nil, "", err
	}
	switch {
	case resp.Status == http.StatusNotFound && code(resp) == "BlobNotFound":
		b.forget(name)
		return nil, "", objects.ErrNotFound
	case resp.Status != http.StatusOK:
		return nil, "", b.failure(resp)
	}
	sum := checksum(resp.Body)
	if sent := resp.Header.Get("Content-Md5"); sent != "" && sum != "" && sent != sum {
		return nil, "", errors.New("the response doesn't match the checksum that the service sent")
	}
	b.update(name, func(known *blob) {
		known.describe(resp.Header)
		known.sum = sum
	})
	if sum == "" { // an empty blob that was created for a lock
		return nil, "", objects.ErrNotFound
	}
	return resp.Body, sum, nil
}

// head reads the properties of a blob. It returns a zero value if the blob doesn't exist. It reads
// the content only if the service has no checksum of it.
func (b *blobs) head(ctx context.Context, name string) (blob, error) {
	resp, err := b.call(ctx, request{method: http.MethodHead, blob: name, encrypted: true})
	switch {
	case err != nil:
		return blob{}, err
	case resp.Status == http.StatusNotFound:
		b.forget(name)
		return blob{}, nil
	case resp.Status != http.StatusOK:
		return blob{}, b.failure(resp)
	}
	sum := resp.Header.Get("Content-Md5")
	if resp.Header.Get("Content-Length") == "0" {
		sum = ""
	} else if sum == "" { // a blob written in blocks has no checksum in its headers
		_, sum, err = b.Get(ctx, name)
		if err != nil {
			return blob{}, err
		}
	}
	b.update(name, func(known *blob) {
		known.describe(resp.Header)
		known.sum = sum
	})
	return b.blob(name), nil
}

// forget records that a blob does not exist.
func (b *blobs) forget(name string) {
	b.update(name, func(known *blob) { *known = blob{leaseID: known.leaseID} })
}

// Put implements objects.Client.
func (b *blobs) Put(ctx context.Context, name string, data []byte, c objects.Condition) (string, error) {
	ctx, cancel := b.timeout(ctx)
	defer cancel()
	known := b.blob(name)
	for attempt := 0; ; attempt++ {
		if (c.Absent || c.Version != "") && known.sum != c.Version {
			if attempt > 0 {
				return "", objects.ErrPrecondition
			}
		} else if err := b.snapshot(ctx, name, &known); err != nil {
			return "", err
		} else {
			version, err := b.write(ctx, name, data, &known, c)
			if !errors.Is(err, objects.ErrPrecondition) || attempt > 0 {
				return version, err
			}
		}
		// Either the blob was changed by another program, or the information about it is outdated.
		// Its content may still be the expected one, so read the blob's properties and try once
		// more.
		var err error
		known, err = b.head(ctx, name)
		if err != nil {
			return "", err
		}
	}
}

// write writes a blob and returns its new version. It fails with objects.ErrPrecondition unless the
// blob still has the known ETag or, if none is known, still doesn't exist. If c is empty, write
// checks neither.
func (b *blobs) write(
	ctx context.Context, name string, data []byte, known *blob, c objects.Condition,
) (string, error) {
	header := http.Header{
		"X-Ms-Blob-Type": {"BlockBlob"}, "X-Ms-Blob-Content-Type": {"application/json"},
		"Content-Type": {"application/octet-stream"},
	}
	known.addMetadata(header, known.lock)
	switch {
	case !c.Absent && c.Version == "":
	case known.etag == "":
		header.Set("If-None-Match", "*")
	default:
		header.Set("If-Match", known.etag)
	}
	resp, err := b.call(ctx, request{method: http.MethodPut, blob: name, header: header, body: data, encrypted: true,
		leased: true})
	if err != nil {
		return "", err
	}
	if resp.Status == http.StatusCreated {
		sum := checksum(data)
		b.update(name, func(k *blob) { k.etag, k.sum = resp.Header.Get("Etag"), sum })
		return sum, nil
	}
	switch code(resp) {
	case "ConditionNotMet", "BlobAlreadyExists":
		return "", objects.ErrPrecondition
	case "LeaseIdMissing":
		return "", fmt.Errorf("another process has locked the state, which can't be written before that process "+
			"unlocks it: %w", b.failure(resp))
	}
	if leaseLost[code(resp)] {
		return "", fmt.Errorf("the lock was lost: another process has removed it, so others may have changed the "+
			"state: %w", backend.ErrChanged)
	}
	return "", b.failure(resp)
}

// leaseLost holds the error codes that mean that this process no longer holds the lease.
var leaseLost = map[string]bool{
	"LeaseLost": true, "LeaseIdMismatchWithBlobOperation": true, "LeaseNotPresentWithBlobOperation": true,
	"LeaseIdMismatchWithLeaseOperation": true, "LeaseNotPresentWithLeaseOperation": true,
}

// addMetadata adds the known metadata of the blob and the given lock information to a request that
// replaces all metadata.
func (b *blob) addMetadata(header http.Header, lock string) {
	for name, value := range b.metadata {
		header[name] = []string{value}
	}
	if lock != "" {
		header[lockMetadata] = []string{lock}
	}
}

// snapshot takes a snapshot of a blob before this process replaces it for the first time, if the
// configuration asks for snapshots.
func (b *blobs) snapshot(ctx context.Context, name string, known *blob) error {
	if !b.config.Snapshot || known.snapshot || known.sum == "" {
		return nil
	}
	resp, err := b.call(ctx, request{method: http.MethodPut, blob: name, query: url.Values{"comp": {"snapshot"}},
		encrypted: true, leased: true})
	if err != nil {
		return fmt.Errorf("taking a snapshot: %w", err)
	}
	if resp.Status != http.StatusCreated {
		return fmt.Errorf("taking a snapshot: %w", b.failure(resp))
	}
	b.update(name, func(k *blob) { k.snapshot = true })
	return nil
}

// Delete implements objects.Client. It also removes the snapshots of the blob.
func (b *blobs) Delete(ctx context.Context, name, _ string) error {
	ctx, cancel := b.timeout(ctx)
	defer cancel()
	resp, err := b.call(ctx, request{method: http.MethodDelete, blob: name,
		header: http.Header{"X-Ms-Delete-Snapshots": {"include"}}, leased: true})
	switch {
	case err != nil:
		return err
	case resp.Status == http.StatusAccepted, resp.Status == http.StatusNotFound && code(resp) == "BlobNotFound":
		b.forget(name)
		return nil
	}
	return b.failure(resp)
}

// List implements objects.Client.
func (b *blobs) List(ctx context.Context, prefix string, found func(string)) error {
	ctx, cancel := b.timeout(ctx)
	defer cancel()
	query := url.Values{"restype": {"container"}, "comp": {"list"}, "prefix": {prefix}}
	for {
		resp, err := b.call(ctx, request{method: http.MethodGet, query: query, limit: 64 << 20})
		if err != nil {
			return err
		}
		if resp.Status != http.StatusOK {
			return b.failure(resp)
		}
		var page struct {
			Names      []string `xml:"Blobs>Blob>Name"`
			NextMarker string
		}
		if err := xml.Unmarshal(resp.Body, &page); err != nil {
			return fmt.Errorf("the service's response can't be read: %w", err)
		}
		for _, name := range page.Names {
			found(name)
		}
		if page.NextMarker == "" {
			return nil
		}
		query.Set("marker", page.NextMarker)
	}
}

// timeout returns a context that ends after the configured timeout, if there is one.
func (b *blobs) timeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.config.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	limit := time.Duration(b.config.Timeout) * time.Second
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("the service took longer than %s, the limit of "+
		"\"timeout_seconds\"", limit))
}

// request describes an HTTP request for a blob or for the container.
type request struct {
	method    string
	blob      string // "" for a request about the container
	query     url.Values
	header    http.Header
	body      []byte
	encrypted bool // whether to send the customer's key or the encryption scope of the blob
	leased    bool // whether to send the ID of the lease that this process holds
	limit     int64
}

// call sends a request and returns the response, regardless of its status.
func (b *blobs) call(ctx context.Context, r request) (*restapi.Response, error) {
	u, err := b.login.containerURL(ctx)
	if err != nil {
		return nil, err
	}
	header := maps.Clone(r.header)
	if header == nil {
		header = make(http.Header)
	}
	header.Set("X-Ms-Version", apiVersion)
	if r.blob != "" {
		u.Path += "/" + r.blob // not JoinPath, which would change names with dots and empty parts
	}
	if r.encrypted {
		b.config.encrypt(header, r.method == http.MethodPut)
	}
	if id := b.blob(r.blob).leaseID; id != "" && r.leased {
		header.Set("X-Ms-Lease-Id", id)
	}
	u.RawQuery = r.query.Encode()
	resp, err := b.api.Do(ctx, &restapi.Request{Method: r.method, URL: u, Header: header, Body: r.body, Limit: r.limit})
	if err != nil {
		return nil, b.unreachable(ctx, err)
	}
	return resp, nil
}

// apiVersion is the version of the Blob Storage API that requests ask for.
const apiVersion = "2021-12-02"
