package getmodules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"tofu/internal/httpclient"
	"tofu/internal/registry"
)

// s3 fetches a package from S3 or from another server with the S3 protocol.
func (f *fetcher) s3(ctx context.Context, j job) error {
	b, key, err := parseS3(j.url, j.query)
	if err != nil {
		return err
	}
	b.client = f.client
	b.credentials = f.awsCredentials(j.query)
	return f.objects(ctx, j, b, key)
}

// s3Bucket is a bucket of S3, or of a server with the same protocol.
type s3Bucket struct {
	client      *registry.Client
	base        *url.URL // URL of the bucket, without trailing slash
	region      string
	version     string // version of the object; "" for the newest one
	credentials func(ctx context.Context) (aws.Credentials, error)
}

// amazonHost matches the host names of S3. The groups are the bucket, if the name starts with one,
// and the region, if the name contains s3.REGION or s3-REGION.
var amazonHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(.+)\.)?s3(?:[.-](?:dualstack\.)?([a-z0-9-]+))?\.amazonaws\.com(?:\.cn)?$`)
})

// parseS3 returns the bucket and the key in an address. The bucket is the first part of the path
// or, for Amazon's servers, part of the host name.
func parseS3(u *url.URL, query url.Values) (*s3Bucket, string, error) {
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, "", fmt.Errorf("%q is not a valid address of an object; it must begin with s3::https://",
			httpclient.Redact(u))
	}
	b := &s3Bucket{base: &url.URL{Scheme: u.Scheme, Host: u.Host}, region: query.Get("region"),
		version: query.Get("version")}
	key := strings.TrimPrefix(u.Path, "/")
	m := amazonHost().FindStringSubmatch(u.Hostname())
	if m != nil && b.region == "" {
		b.region = m[2]
	}
	if m == nil || m[1] == "" {
		name, rest, ok := strings.Cut(key, "/")
		if !ok || name == "" {
			return nil, "", fmt.Errorf("%q must contain the names of a bucket and an object", httpclient.Redact(u))
		}
		b.base.Path, key = "/"+name, rest
	}
	if m != nil && strings.HasPrefix(u.Host, "s3-") { // old form, which only the oldest regions support
		b.base.Host = "s3." + strings.TrimPrefix(u.Host, "s3-")
	}
	if b.region == "" {
		b.region = "us-east-1"
	}
	return b, key, nil
}

func (b *s3Bucket) at(path string) *url.URL {
	u := *b.base
	u.Path = b.base.Path + path
	u.RawPath = escapeKey(u.Path, true)
	return &u
}

func (b *s3Bucket) object(key string) *url.URL {
	u := b.at("/" + key)
	if b.version != "" {
		u.RawQuery = url.Values{"versionId": {b.version}}.Encode()
	}
	return u
}

func (b *s3Bucket) list(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
	for {
		u := b.at("")
		if u.Path == "" {
			u = b.at("/")
		}
		u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
		doc, err := b.client.GetAuthorized(ctx, u, b.authorize(ctx))
		if err != nil {
			return nil, err
		}
		var page struct {
			IsTruncated           bool
			NextContinuationToken string
			Contents              []struct{ Key string }
		}
		if err := xml.Unmarshal(doc.Body, &page); err != nil {
			return nil, fmt.Errorf("%s is not a valid list of objects: %w", httpclient.Redact(u), err)
		}
		for _, c := range page.Contents {
			keys = append(keys, c.Key)
		}
		if !page.IsTruncated || page.NextContinuationToken == "" || len(keys) > maxArchiveFiles {
			return keys, nil
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

// emptyBody is the hash of the empty body of a GET request.
var emptyBody = hex.EncodeToString(sha256.New().Sum(nil))

// authorize returns a function that signs requests. If there are no credentials, requests are not
// signed, which is enough for public buckets.
func (b *s3Bucket) authorize(ctx context.Context) registry.Authorize {
	return func(req *http.Request) error {
		creds, err := b.credentials(ctx)
		if err != nil || !creds.HasKeys() {
			return err
		}
		req.Header.Set("X-Amz-Content-Sha256", emptyBody)
		return v4.NewSigner().SignHTTP(ctx, creds, req, emptyBody, "s3", b.region, time.Now(),
			func(o *v4.SignerOptions) {
				o.DisableURIPathEscaping = true // S3 expects the path without further escaping
			})
	}
}

// awsCredentials returns a function that returns the credentials in the address. If the address has
// none, the function looks for credentials where the AWS tools do: in the environment, the shared
// files and the machine's metadata service. The search runs on first use, once per profile.
func (f *fetcher) awsCredentials(query url.Values) func(context.Context) (aws.Credentials, error) {
	if id := query.Get("aws_access_key_id"); id != "" {
		return credentials.NewStaticCredentialsProvider(id, query.Get("aws_access_key_secret"),
			query.Get("aws_access_token")).Retrieve
	}
	profile := query.Get("aws_profile")
	if known, ok := f.profiles[profile]; ok {
		return known
	}
	open := sync.OnceValues(func() (aws.Credentials, error) {
		// Use a separate context, because the credentials are kept for later requests.
		ctx := context.Background()
		var options []func(*config.LoadOptions) error
		if profile != "" {
			options = append(options, config.WithSharedConfigProfile(profile))
		}
		cfg, err := config.LoadDefaultConfig(ctx, options...)
		if err != nil {
			return aws.Credentials{}, fmt.Errorf("reading the AWS configuration: %w", err)
		}
		if cfg.Credentials == nil {
			return aws.Credentials{}, nil
		}
		ctx, cancel := context.WithTimeout(ctx, awsTimeout)
		defer cancel()
		creds, err := cfg.Credentials.Retrieve(ctx)
		if err != nil && profile == "" && noCredentials(err) {
			return aws.Credentials{}, nil
		}
		return creds, err
	})
	found := func(context.Context) (aws.Credentials, error) { return open() }
	f.profiles[profile] = found
	return found
}

// awsTimeout limits the search for credentials, which may call AWS and the metadata service of the
// machine.
const awsTimeout = 20 * time.Second

// noCredentials reports whether err only means that there are no credentials. The metadata service
// is asked last, and most machines don't have one.
func noCredentials(err error) bool {
	var status interface{ HTTPStatusCode() int }
	return strings.Contains(err.Error(), "EC2 IMDS") && (!errors.As(err, &status) ||
		status.HTTPStatusCode() == http.StatusNotFound || status.HTTPStatusCode() == 0)
}
