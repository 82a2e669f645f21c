package gcs

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"tofu/internal/backend/objects"
	"tofu/internal/gcpauth"
	"tofu/internal/limits"
	"tofu/internal/restapi"
)

// bucket is the client of a bucket. It implements objects.Client; versions are generations.
type bucket struct {
	name   string
	base   *url.URL
	key    []byte // the customer's key, or nil
	kmsKey string
	api    restapi.Client
}

// object returns the URL of an object.
func (b *bucket) object(name string) *url.URL {
	return b.url("b/"+url.PathEscape(b.name)+"/o/"+url.PathEscape(name), b.base.Path)
}

// url returns the URL for the path PREFIX/ESCAPED at the service. The caller has already escaped
// the part after the prefix.
func (b *bucket) url(escaped, prefix string) *url.URL {
	u := *b.base
	u.RawPath = prefix + "/" + escaped
	u.Path, _ = url.PathUnescape(u.RawPath) // the path is properly escaped, so there is no error
	return &u
}

// Get implements objects.Client.
func (b *bucket) Get(ctx context.Context, name string) ([]byte, string, error) {
	u := b.object(name)
	u.RawQuery = "alt=media"
	resp, err := b.call(ctx, http.MethodGet, u, nil, nil)
	switch {
	case err != nil:
		return nil, "", err
	case resp.Status == http.StatusNotFound:
		return nil, "", b.notFound(ctx, resp)
	case resp.Status != http.StatusOK:
		return nil, "", b.failure(resp)
	}
	if err := checkSum(resp); err != nil {
		return nil, "", err
	}
	generation := resp.Header.Get("X-Goog-Generation")
	if generation == "" {
		return nil, "", fmt.Errorf("the response from %s doesn't include the generation of the object", b.base.Host)
	}
	return resp.Body, generation, nil
}

// checkSum compares an object with the checksum that the service sent.
func checkSum(resp *restapi.Response) error {
	for _, value := range resp.Header.Values("X-Goog-Hash") {
		for hash := range strings.SplitSeq(value, ",") {
			sent, ok := strings.CutPrefix(strings.TrimSpace(hash), "crc32c=")
			if ok && sent != checksum(resp.Body) {
				return fmt.Errorf("the object doesn't match the checksum that the service sent")
			}
		}
	}
	return nil
}

// checksum returns the CRC-32C of an object in the service's format.
func checksum(data []byte) string {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// notFound returns objects.ErrNotFound, or an error if there is no such bucket.
func (b *bucket) notFound(ctx context.Context, missing *restapi.Response) error {
	if !strings.Contains(string(missing.Body), "bucket") {
		return objects.ErrNotFound
	}
	u := b.url("b/"+url.PathEscape(b.name)+"/o", b.base.Path)
	u.RawQuery = "maxResults=1&fields=kind"
	resp, err := b.call(ctx, http.MethodGet, u, nil, nil)
	if err == nil && resp.Status == http.StatusNotFound {
		return b.failure(resp)
	}
	return objects.ErrNotFound
}

// Put implements objects.Client.
func (b *bucket) Put(ctx context.Context, name string, data []byte, c objects.Condition) (string, error) {
	query := url.Values{"uploadType": {"media"}, "name": {name}, "fields": {"generation"}}
	switch {
	case c.Absent:
		query.Set("ifGenerationMatch", "0")
	case c.Version != "":
		query.Set("ifGenerationMatch", c.Version)
	}
	if b.kmsKey != "" {
		query.Set("kmsKeyName", b.kmsKey)
	}
	u := b.url("b/"+url.PathEscape(b.name)+"/o", "/upload"+b.base.Path)
	u.RawQuery = query.Encode()
	header := http.Header{"Content-Type": {contentType}, "X-Goog-Hash": {"crc32c=" + checksum(data)}}
	resp, err := b.call(ctx, http.MethodPost, u, header, data)
	switch {
	case err != nil:
		return "", err
	case resp.Status == http.StatusPreconditionFailed:
		return "", objects.ErrPrecondition
	case resp.Status != http.StatusOK:
		return "", b.failure(resp)
	}
	var answer struct{ Generation string }
	if err := json.Unmarshal(resp.Body, &answer); err != nil || answer.Generation == "" {
		return "", fmt.Errorf("the response from %s doesn't include the generation of the object", b.base.Host)
	}
	return answer.Generation, nil
}

// contentType is the type of states and locks.
const contentType = "text/plain; charset=utf-8"

// Delete implements objects.Client.
func (b *bucket) Delete(ctx context.Context, name, version string) error {
	u := b.object(name)
	if version != "" {
		u.RawQuery = "ifGenerationMatch=" + url.QueryEscape(version)
	}
	resp, err := b.call(ctx, http.MethodDelete, u, nil, nil)
	switch {
	case err != nil:
		return err
	case resp.Status == http.StatusPreconditionFailed:
		return objects.ErrPrecondition
	case resp.Status/100 != 2 && resp.Status != http.StatusNotFound:
		return b.failure(resp)
	}
	return nil
}

// List implements objects.Client. It lists only one level of the directory.
func (b *bucket) List(ctx context.Context, prefix string, found func(string)) error {
	query := url.Values{"prefix": {prefix}, "delimiter": {"/"}, "fields": {"items(name),nextPageToken"}}
	for {
		u := b.url("b/"+url.PathEscape(b.name)+"/o", b.base.Path)
		u.RawQuery = query.Encode()
		resp, err := b.call(ctx, http.MethodGet, u, nil, nil)
		if err != nil {
			return err
		}
		if resp.Status != http.StatusOK {
			return b.failure(resp)
		}
		var page struct {
			Items         []struct{ Name string }
			NextPageToken string
		}
		if err := json.Unmarshal(resp.Body, &page); err != nil {
			return fmt.Errorf("the service's response can't be read: %w", err)
		}
		for _, item := range page.Items {
			found(item.Name)
		}
		if page.NextPageToken == "" {
			return nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
}

// call sends a request and returns the response, regardless of its status.
func (b *bucket) call(
	ctx context.Context, method string, u *url.URL, header http.Header, body []byte,
) (*restapi.Response, error) {
	header = maps.Clone(header)
	if header == nil {
		header = make(http.Header)
	}
	if b.key != nil && (strings.Contains(u.RawQuery, "alt=media") || method == http.MethodPost) {
		sum := sha256.Sum256(b.key)
		header.Set("X-Goog-Encryption-Algorithm", "AES256")
		header.Set("X-Goog-Encryption-Key", base64.StdEncoding.EncodeToString(b.key))
		header.Set("X-Goog-Encryption-Key-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
	}
	return b.api.Do(ctx, &restapi.Request{Method: method, URL: u, Header: header, Body: body, Limit: limits.State})
}

// failure returns an error that explains a response.
func (b *bucket) failure(resp *restapi.Response) error {
	err := gcpauth.Failure(resp)
	text := string(resp.Body)
	switch {
	case resp.Status == http.StatusNotFound:
		return fmt.Errorf("there is no bucket %q. Create it, or correct \"bucket\": %w", b.name, err)
	case resp.Status == http.StatusUnauthorized:
		return fmt.Errorf("the credentials are not valid, or have expired: %w", err)
	case resp.Status == http.StatusForbidden && strings.Contains(text, "does not have storage"):
		return fmt.Errorf("the credentials don't permit this request. They need the role \"Storage Object Admin\" "+
			"for the bucket %q; for plans with -lock=false, \"Storage Object Viewer\" is enough: %w", b.name, err)
	case strings.Contains(text, "customer-supplied encryption key") ||
		strings.Contains(text, "ResourceIsEncryptedWithCustomerEncryptionKey"):
		return fmt.Errorf("the object was not encrypted with the key in \"encryption_key\": %w", err)
	}
	return err
}
