package cos

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"tofu/internal/backend/objects"
	"tofu/internal/limits"
	"tofu/internal/restapi"
)

// checksumHeader holds the MD5 of an object's content, in hexadecimal.
const checksumHeader = "X-Cos-Meta-Md5"

// client calls the storage. It implements objects.Client.
type client struct {
	config *Config
	host   string
	http   *restapi.Client
}

// apiError is the error document of the storage.
type apiError struct {
	status  int
	Code    string
	Message string
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s: %s (status %d)", e.Code, e.Message, e.status)
}

func (c *client) do(
	ctx context.Context, method, key string, query url.Values, header http.Header, body []byte,
) (*restapi.Response, error) {
	to := &url.URL{Scheme: "https", Host: c.host, Path: "/" + key, RawQuery: query.Encode()}
	resp, err := c.http.Do(ctx, &restapi.Request{Method: method, URL: to, Header: header, Body: body, Limit: limits.State})
	if err != nil || resp.Status < http.StatusMultipleChoices {
		return resp, err
	}
	refused := &apiError{status: resp.Status}
	if xml.Unmarshal(resp.Body, refused) != nil || refused.Code == "" {
		refused.Code, refused.Message = http.StatusText(resp.Status), resp.Failure().Error()
	}
	return nil, c.explain(refused)
}

// explain adds advice to an error of the storage.
func (c *client) explain(err *apiError) error {
	switch err.Code {
	case "NoSuchBucket":
		return fmt.Errorf("%w: the region %q has no bucket %q; the name must end with the ID of the account", err,
			c.config.Region, c.config.Bucket)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidSecretId":
		return fmt.Errorf("%w: check secret_id and secret_key, or TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY", err)
	case "RequestTimeTooSkewed", "RequestIsExpired":
		return fmt.Errorf("%w: the clock of this machine is wrong", err)
	case "ExpiredToken", "InvalidSecurityToken":
		return fmt.Errorf("%w: the temporary credentials have expired", err)
	}
	return err
}

// Get implements objects.Client.
func (c *client) Get(ctx context.Context, key string) ([]byte, string, error) {
	resp, err := c.do(ctx, http.MethodGet, key, nil, nil, nil)
	var refused *apiError
	if errors.As(err, &refused) && refused.status == http.StatusNotFound && refused.Code != "NoSuchBucket" {
		return nil, "", objects.ErrNotFound
	}
	if err != nil {
		return nil, "", err
	}
	if want := resp.Header.Get(checksumHeader); want != "" && want != checksum(resp.Body) {
		return nil, "", fmt.Errorf("the content of the object %s doesn't have the checksum that was stored with it", key)
	}
	return resp.Body, resp.Header.Get("ETag"), nil
}

func checksum(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// Put implements objects.Client. The storage can't compare versions, so the version is compared
// before the write, which only the lock protects.
func (c *client) Put(ctx context.Context, key string, data []byte, cond objects.Condition) (string, error) {
	header := http.Header{checksumHeader: {checksum(data)}, "X-Cos-Acl": {c.config.ACL},
		"Content-Type": {"application/json"}}
	if c.config.Encrypt {
		header.Set("X-Cos-Server-Side-Encryption", "AES256")
	}
	if cond.Absent {
		header.Set("X-Cos-Forbid-Overwrite", "true")
	}
	if cond != (objects.Condition{}) {
		if err := c.compare(ctx, key, cond); err != nil {
			return "", err
		}
	}
	resp, err := c.do(ctx, http.MethodPut, key, nil, header, data)
	var refused *apiError
	if errors.As(err, &refused) && refused.status == http.StatusConflict {
		return "", objects.ErrPrecondition
	}
	if err != nil {
		return "", err
	}
	return resp.Header.Get("ETag"), nil
}

// compare returns objects.ErrPrecondition if an object doesn't meet a condition.
func (c *client) compare(ctx context.Context, key string, cond objects.Condition) error {
	resp, err := c.do(ctx, http.MethodHead, key, nil, nil, nil)
	var refused *apiError
	if errors.As(err, &refused) && refused.status == http.StatusNotFound {
		if cond.Absent {
			return nil
		}
		return objects.ErrPrecondition
	}
	if err != nil {
		return err
	}
	if cond.Absent || resp.Header.Get("ETag") != cond.Version {
		return objects.ErrPrecondition
	}
	return nil
}

// Delete implements objects.Client.
func (c *client) Delete(ctx context.Context, key, version string) error {
	if version != "" {
		if err := c.compare(ctx, key, objects.Condition{Version: version}); err != nil {
			return err
		}
	}
	_, err := c.do(ctx, http.MethodDelete, key, nil, nil, nil)
	return err
}

// List implements objects.Client.
func (c *client) List(ctx context.Context, prefix string, found func(key string)) error {
	for marker := ""; ; {
		resp, err := c.do(ctx, http.MethodGet, "", url.Values{"prefix": {prefix}, "marker": {marker}}, nil, nil)
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
			return errors.New("the pages of the list of objects don't end")
		}
		marker = page.NextMarker
	}
}
