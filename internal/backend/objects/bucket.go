package objects

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"tofu/internal/limits"
	"tofu/internal/restapi"
)

// Bucket is the client of an object store that uses the protocol of S3 with other names and
// signatures. It implements Client. Such a store can't compare versions on writes. So Put compares
// the version before it writes, and only a lock prevents another write between these two steps.
// Creating an object has no such gap.
type Bucket struct {
	URL  *url.URL // URL of the bucket
	HTTP *restapi.Client
	// Header has the headers of writes, such as those for encryption.
	Header http.Header
	// OnlyNew is the header that makes a write fail if the object exists.
	OnlyNew string
	// ChecksumHeader is the header with the checksum of an object's content, in requests and in
	// responses.
	ChecksumHeader string
	Checksum       func(data []byte) string
	// Explain adds advice to a refusal.
	Explain func(err *Refusal) error
}

// Refusal is an error response of the storage.
type Refusal struct {
	Status  int `xml:"-"`
	Code    string
	Message string
}

func (e *Refusal) Error() string {
	return fmt.Sprintf("%s: %s (status %d)", e.Code, e.Message, e.Status)
}

const noSuchBucket = "NoSuchBucket"

// absent reports whether an error says that there is no such object.
func absent(err error) bool {
	refused, ok := errors.AsType[*Refusal](err)
	return ok && refused.Status == http.StatusNotFound && refused.Code != noSuchBucket
}

func (b *Bucket) do(
	ctx context.Context, method, key string, query url.Values, header http.Header, body []byte,
) (*restapi.Response, error) {
	to := *b.URL
	to.Path, to.RawQuery = strings.TrimSuffix(to.Path, "/")+"/"+key, query.Encode()
	resp, err := b.HTTP.Do(ctx,
		&restapi.Request{Method: method, URL: &to, Header: header, Body: body, Limit: limits.State})
	if err != nil || resp.Status < http.StatusMultipleChoices {
		return resp, err
	}
	refused := new(Refusal)
	if xml.Unmarshal(resp.Body, refused) != nil || refused.Code == "" {
		refused.Code, refused.Message = http.StatusText(resp.Status), resp.Failure().Error()
	}
	refused.Status = resp.Status
	return nil, b.Explain(refused)
}

// Get implements Client.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, string, error) {
	resp, err := b.do(ctx, http.MethodGet, key, nil, nil, nil)
	if absent(err) {
		return nil, "", ErrNotFound
	}
	if err != nil {
		return nil, "", err
	}
	if want := resp.Header.Get(b.ChecksumHeader); want != "" && want != b.Checksum(resp.Body) {
		return nil, "",
			fmt.Errorf("the content of the object %s doesn't have the checksum that was stored with it", key)
	}
	return resp.Body, resp.Header.Get("ETag"), nil
}

// Put implements Client.
func (b *Bucket) Put(ctx context.Context, key string, data []byte, cond Condition) (string, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	maps.Copy(header, b.Header)
	header.Set(b.ChecksumHeader, b.Checksum(data))
	if cond.Absent {
		header.Set(b.OnlyNew, "true")
	}
	if cond != (Condition{}) {
		if err := b.compare(ctx, key, cond); err != nil {
			return "", err
		}
	}
	resp, err := b.do(ctx, http.MethodPut, key, nil, header, data)
	if refused, ok := errors.AsType[*Refusal](err); ok && refused.Status == http.StatusConflict {
		return "", ErrPrecondition
	}
	if err != nil {
		return "", err
	}
	return resp.Header.Get("ETag"), nil
}

// compare returns ErrPrecondition if an object doesn't meet a condition.
func (b *Bucket) compare(ctx context.Context, key string, cond Condition) error {
	resp, err := b.do(ctx, http.MethodHead, key, nil, nil, nil)
	switch {
	case absent(err) && cond.Absent:
		return nil
	case absent(err):
		return ErrPrecondition
	case err != nil:
		return err
	case cond.Absent || resp.Header.Get("ETag") != cond.Version:
		return ErrPrecondition
	}
	return nil
}

// Delete implements Client.
func (b *Bucket) Delete(ctx context.Context, key, version string) error {
	if version != "" {
		if err := b.compare(ctx, key, Condition{Version: version}); err != nil {
			return err
		}
	}
	_, err := b.do(ctx, http.MethodDelete, key, nil, nil, nil)
	return err
}

// List implements Client.
func (b *Bucket) List(ctx context.Context, prefix string, found func(key string)) error {
	for marker := ""; ; {
		resp, err := b.do(ctx, http.MethodGet, "", url.Values{"prefix": {prefix}, "marker": {marker}}, nil, nil)
		if err != nil {
			return err
		}
		var page struct {
			IsTruncated bool
			NextMarker  string
			Contents    []struct{ Key string }
		}
		if err := xml.Unmarshal(resp.Body, &page); err != nil {
			return fmt.Errorf("the list of objects is invalid: %w", err)
		}
		for _, o := range page.Contents {
			found(o.Key)
		}
		if !page.IsTruncated {
			return nil
		}
		if page.NextMarker <= marker {
			return errors.New("the server keeps returning the same page of the list of objects")
		}
		marker = page.NextMarker
	}
}
