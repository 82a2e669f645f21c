package oss

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
	"tofu/internal/restapi"
)

// Driver is the oss backend.
var Driver = backend.New("oss", open)

// lockedStore is a store with locks in a table.
type lockedStore struct {
	*objects.Checked
	*objects.Table
}

func open(_ context.Context, c *Config) (backend.Store, error) {
	keys, err := backend.Client(&c.Sharing, backend.Settings(c, "prefix", "key", "encrypt", "acl"),
		func() (*credentials, error) { return newCredentials(c), nil })
	if err != nil {
		return nil, err
	}
	client := keys.http.HTTP
	base, err := c.bucketURL()
	if err != nil {
		return nil, err
	}
	sign := &signer{keys: keys, region: c.Region, bucket: c.Bucket}
	bucket := &objects.Bucket{URL: base, HTTP: &restapi.Client{HTTP: client, Sign: sign.sign}, Explain: c.explain,
		Header: make(http.Header), OnlyNew: "X-Oss-Forbid-Overwrite", ChecksumHeader: "Content-Md5", Checksum: checksum}
	if c.Encrypt {
		bucket.Header.Set("X-Oss-Server-Side-Encryption", "AES256")
	}
	if c.ACL != "" {
		bucket.Header.Set("X-Oss-Object-Acl", c.ACL)
	}
	layout := objects.InFolder(c.Prefix, c.Key)
	store := objects.New(bucket, layout)
	if c.Table == "" {
		return store, nil
	}
	endpoint, err := address(c.TableEndpoint)
	if err != nil {
		return nil, err
	}
	table := &objects.Table{What: fmt.Sprintf("the Tablestore table %q", c.Table),
		Path: func(workspace string) string { return c.Bucket + "/" + layout.State(workspace) },
		Rows: &tablestore{keys: keys, endpoint: endpoint, table: c.Table, http: client}}
	return &lockedStore{objects.WithDigests(store, "OSS", table), table}, nil
}

// bucketURL returns the URL of the bucket. The bucket's name is the first part of the host name. If
// the endpoint is an IP address or localhost, the name is the path instead.
func (c *Config) bucketURL() (*url.URL, error) {
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = "oss-" + c.Region + ".aliyuncs.com"
	}
	u, err := address(endpoint)
	if err != nil {
		return nil, err
	}
	if net.ParseIP(u.Hostname()) != nil || u.Hostname() == "localhost" {
		u.Path = "/" + c.Bucket
	} else if !strings.HasPrefix(u.Host, c.Bucket+".") {
		u.Host = c.Bucket + "." + u.Host
	}
	return u, nil
}

// checksum returns the MD5 sum of data in base64.
func checksum(data []byte) string {
	sum := md5.Sum(data)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// explain adds advice to an error of the storage.
func (c *Config) explain(err *objects.Refusal) error {
	switch err.Code {
	case "NoSuchBucket":
		return fmt.Errorf("%w; check that the bucket %q exists in the region %q", err, c.Bucket, c.Region)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return fmt.Errorf("%w; check the access key, which comes from %s", err, c.source())
	case "RequestTimeTooSkewed":
		return fmt.Errorf("%w; check the clock of this machine", err)
	case "SecurityTokenExpired", "InvalidSecurityToken":
		return fmt.Errorf("%w; the temporary access key from %s has expired or is invalid", err, c.source())
	}
	return err
}
