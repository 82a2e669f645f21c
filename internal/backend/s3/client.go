package s3

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"tofu/internal/awsapi"
	"tofu/internal/backend/objects"
	"tofu/internal/limits"
	"tofu/internal/restapi"
)

// client implements objects.Client.
type client struct {
	service *awsapi.Service
	config  *Config
	base    *url.URL // URL of the bucket, without trailing slash
	tags    map[string]string
	locks   bool // the store needs lock objects, which need conditional writes
	// unconditional is set once the store has rejected a conditional request as unsupported.
	unconditional atomic.Bool
}

// conflict reports whether a refusal is due to a simultaneous request.
func conflict(e *awsapi.Error) bool {
	return e.Code == "ConditionalRequestConflict" || e.Code == "OperationAborted"
}

// object returns the URL of an object.
func (c *client) object(key string) *url.URL {
	u := *c.base
	u.Path += "/" + key
	u.RawPath = awsapi.EscapePath(u.Path)
	return &u
}

// customerKey adds the headers for encryption with the customer's key.
func (c *client) customerKey(h http.Header) {
	if !c.config.Encrypt || c.config.CustomerKey == "" {
		return
	}
	key, _ := base64.StdEncoding.DecodeString(c.config.CustomerKey) // Check has already decoded it
	sum := md5.Sum(key)
	h.Set("X-Amz-Server-Side-Encryption-Customer-Algorithm", "AES256")
	h.Set("X-Amz-Server-Side-Encryption-Customer-Key", c.config.CustomerKey)
	h.Set("X-Amz-Server-Side-Encryption-Customer-Key-Md5", base64.StdEncoding.EncodeToString(sum[:]))
}

// Get implements objects.Client.
func (c *client) Get(ctx context.Context, key string) ([]byte, string, error) {
	h := http.Header{}
	c.customerKey(h)
	if !c.config.SkipChecksum {
		h.Set("X-Amz-Checksum-Mode", "ENABLED")
	}
	resp, err := c.service.Do(ctx, "GetObject", &restapi.Request{Method: http.MethodGet, URL: c.object(key), Header: h,
		Limit: limits.State})
	if err != nil {
		return nil, "", c.explain(err)
	}
	if want := resp.Header.Get("X-Amz-Checksum-Sha256"); want != "" && !strings.Contains(want, "-") {
		if sum := sha256.Sum256(resp.Body); base64.StdEncoding.EncodeToString(sum[:]) != want {
			return nil, "", fmt.Errorf("the object %s doesn't match its checksum", key)
		}
	}
	return resp.Body, resp.Header.Get("ETag"), nil
}

// Put implements objects.Client.
func (c *client) Put(ctx context.Context, key string, data []byte, cond objects.Condition) (string, error) {
	if c.unconditional.Load() {
		if err := c.compare(ctx, key, cond); err != nil {
			return "", err
		}
		cond = objects.Condition{}
	}
	h := c.putHeader(data)
	switch {
	case cond.Absent:
		h.Set("If-None-Match", "*")
	case cond.Version != "":
		h.Set("If-Match", cond.Version)
	}
	resp, err := c.service.Do(ctx, "PutObject",
		&restapi.Request{Method: http.MethodPut, URL: c.object(key), Header: h, Body: data})
	if err == nil {
		return resp.Header.Get("ETag"), nil
	}
	var refused *awsapi.Error
	switch errors.As(err, &refused); {
	case refused == nil:
	case refused.Status == http.StatusPreconditionFailed, refused.Code == "NoSuchKey":
		return "", objects.ErrPrecondition
	case refused.Status == http.StatusNotImplemented && cond != (objects.Condition{}) && !c.locks:
		c.unconditional.Store(true)
		return c.Put(ctx, key, data, cond)
	case refused.Status == http.StatusNotImplemented && c.locks:
		return "", fmt.Errorf("the store has no conditional writes, which use_lockfile needs: %w", err)
	}
	return "", c.explain(err)
}

func (c *client) putHeader(data []byte) http.Header {
	sum := sha256.Sum256(data)
	h := http.Header{"Content-Type": {"application/json"}, "X-Amz-Content-Sha256": {hex.EncodeToString(sum[:])}}
	if !c.config.SkipChecksum {
		h.Set("X-Amz-Sdk-Checksum-Algorithm", "SHA256")
		h.Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
	}
	if c.config.ACL != "" {
		h.Set("X-Amz-Acl", c.config.ACL)
	}
	switch {
	case !c.config.Encrypt:
	case c.config.KMSKey != "":
		h.Set("X-Amz-Server-Side-Encryption", "aws:kms")
		h.Set("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", c.config.KMSKey)
	case c.config.CustomerKey != "":
		c.customerKey(h)
	default:
		h.Set("X-Amz-Server-Side-Encryption", "AES256")
	}
	if len(c.tags) > 0 {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(c.tags)) {
			pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(c.tags[name]))
		}
		h.Set("X-Amz-Tagging", strings.Join(pairs, "&"))
	}
	return h
}

// compare checks a condition with a separate request, for stores without conditional writes.
func (c *client) compare(ctx context.Context, key string, cond objects.Condition) error {
	h := http.Header{}
	c.customerKey(h)
	resp, err := c.service.Do(ctx, "HeadObject",
		&restapi.Request{Method: http.MethodHead, URL: c.object(key), Header: h})
	var refused *awsapi.Error
	absent := errors.As(err, &refused) && refused.Status == http.StatusNotFound
	switch {
	case absent && cond.Version == "",
		err == nil && !cond.Absent && (cond.Version == "" || resp.Header.Get("ETag") == cond.Version):
		return nil
	case absent || err == nil:
		return objects.ErrPrecondition
	}
	return c.explain(err)
}

// Delete implements objects.Client. It doesn't compare the version, because few stores support
// that.
func (c *client) Delete(ctx context.Context, key, _ string) error {
	_, err := c.service.Do(ctx, "DeleteObject", &restapi.Request{Method: http.MethodDelete, URL: c.object(key)})
	if err = c.explain(err); errors.Is(err, objects.ErrNotFound) {
		return nil
	}
	return err
}

// List implements objects.Client.
func (c *client) List(ctx context.Context, prefix string, found func(string)) error {
	query := url.Values{"list-type": {"2"}, "max-keys": {"1000"}, "prefix": {prefix}}
	for {
		u := *c.base
		if u.Path == "" {
			u.Path = "/"
		}
		u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
		resp, err := c.service.Do(ctx, "ListObjectsV2",
			&restapi.Request{Method: http.MethodGet, URL: &u, Limit: 16 << 20})
		if err != nil {
			return c.explain(err)
		}
		var page struct {
			IsTruncated           bool
			NextContinuationToken string
			Contents              []struct{ Key string }
		}
		if err := xml.Unmarshal(resp.Body, &page); err != nil {
			return fmt.Errorf("%s sent an invalid list of objects: %w", u.Host, err)
		}
		for _, o := range page.Contents {
			found(o.Key)
		}
		if !page.IsTruncated || page.NextContinuationToken == "" {
			return nil
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

// explain adds advice to errors about the bucket. It turns the error for a missing object into
// objects.ErrNotFound.
func (c *client) explain(err error) error {
	refused, ok := errors.AsType[*awsapi.Error](err)
	if !ok {
		return err
	}
	region := refused.Header.Get("X-Amz-Bucket-Region")
	switch {
	case refused.Code == "NoSuchKey":
		return objects.ErrNotFound
	case refused.Code == "NoSuchBucket":
		return fmt.Errorf("the S3 bucket %q does not exist. The referenced S3 bucket must have been previously "+
			"created; one that was created just now may need a minute: %w", c.config.Bucket, err)
	case refused.Code == "AuthorizationHeaderMalformed" && !strings.Contains(refused.Message, "region"):
		return err // such as an empty access key
	case refused.Status == http.StatusMovedPermanently || refused.Code == "PermanentRedirect" ||
		refused.Code == "AuthorizationHeaderMalformed" || refused.Code == "IllegalLocationConstraintException":
		if region != "" {
			return fmt.Errorf("the S3 bucket %q is in the region %s, but the backend is configured for another one: "+
				"set region to %[2]q: %[3]w",
				c.config.Bucket, region, err)
		}
		return fmt.Errorf("the S3 bucket %q is not in the region of the backend: %w", c.config.Bucket, err)
	}
	return err
}
