package s3

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"

	"tofu/internal/awsapi"
	"tofu/internal/backend"
	"tofu/internal/backend/objects"
	"tofu/internal/configs/blocks"
)

// Driver is the s3 backend.
var Driver = backend.New("s3", open)

const docs = "https://opentofu.org/docs/language/settings/backends/s3"

var (
	s3Service = awsapi.ServiceID{Name: "S3", Host: "s3", Signing: "s3", OldNames: []string{"AWS_S3_ENDPOINT"}}
	dynamoDB  = awsapi.ServiceID{Name: "DynamoDB", Host: "dynamodb", Signing: "dynamodb",
		OldNames: []string{"AWS_DYNAMODB_ENDPOINT"}}
)

func open(ctx context.Context, c *Config) (backend.Store, error) {
	options := awsapi.Options{STSEndpoint: c.Endpoints.STS, User: "the s3 backend", Docs: docs}
	account, err := backend.Client(&c.Sharing, []any{backend.Settings(&c.Config), options},
		func() (*awsapi.Account, error) { return awsapi.Open(ctx, &c.Config, options) })
	if err != nil {
		return nil, err
	}
	service, err := account.Service(ctx, s3Service, c.Endpoints.S3, []string{"endpoints", "s3"}, conflict)
	if err != nil {
		return nil, err
	}
	base, err := bucketURL(ctx, c, account, service)
	if err != nil {
		return nil, err
	}
	l := layout(c)
	states := &client{service: service, config: c, base: base, tags: c.StateTags}
	plain := objects.New(states, l)
	var locks []lock
	out := store(plain)
	if c.LockFile {
		locked := objects.WithLocks(plain)
		locked.LockClient = &client{service: service, config: c, base: base, tags: c.LockTags, locks: true}
		locks = append(locks, locked)
	}
	if c.Table != "" {
		service, err = account.Service(ctx, dynamoDB, c.Endpoints.DynamoDB, []string{"endpoints", "dynamodb"},
			nil)
		if err != nil {
			return nil, err
		}
		t := &objects.Table{What: fmt.Sprintf("the DynamoDB table %q", c.Table), Path: l.Path,
			Rows: &table{service: service, name: c.Table}}
		locks = append(locks, t)
		out = objects.WithDigests(plain, "S3", t)
	}
	if len(locks) == 0 {
		return out, nil
	}
	return &lockedStore{store: out, locks: locks}, nil
}

// layout returns the layout of the object names.
func layout(c *Config) objects.Layout {
	prefix := c.Prefix
	state := func(workspace string) string {
		if workspace == backend.DefaultWorkspace {
			return c.Key
		}
		return path.Join(prefix, workspace, c.Key)
	}
	list := prefix + "/"
	if prefix == "" {
		list = ""
	}
	return objects.Layout{
		State:  state,
		Lock:   func(workspace string) string { return state(workspace) + ".tflock" },
		Prefix: list,
		Workspace: func(key string) (string, bool) {
			name, _, ok := strings.Cut(strings.TrimPrefix(key, list), "/")
			return name, ok && name != "" && state(name) == key
		},
		Path: func(workspace string) string { return c.Bucket + "/" + state(workspace) },
	}
}

// directorySuffix is the end of the names of all directory buckets, and of no other buckets.
const directorySuffix = "--x-s3"

// bucketURL returns the URL of the bucket, without trailing slash.
func bucketURL(ctx context.Context, c *Config, a *awsapi.Account, s *awsapi.Service) (*url.URL, error) {
	u := *s.Endpoint
	u.Path = strings.TrimSuffix(u.Path, "/")
	fips, dual := s.FIPS(ctx), s.DualStack(ctx)
	if strings.HasPrefix(c.Bucket, "arn:") {
		label, region, err := accessPoint(c.Bucket)
		if err != nil {
			return nil, err
		}
		if region != a.Region {
			return nil, blocks.Invalid([]string{"bucket"},
				"the access point is in the region %s, but the backend is configured for %s",
				region, a.Region)
		}
		if !s.Custom {
			u.Host = awsapi.S3Host("s3-accesspoint", region, fips, dual)
		}
		u.Host = label + "." + u.Host
		return &u, nil
	}
	if !s.Custom {
		u.Host = awsapi.S3Host("s3", a.Region, fips, dual)
		if strings.HasSuffix(c.Bucket, directorySuffix) {
			return nil, blocks.Invalid([]string{"bucket"}, "%q is a directory bucket of S3 Express, whose requests "+
				"are signed in another way; use a general purpose bucket", c.Bucket)
		}
	}
	// A certificate for *.s3.REGION doesn't match a bucket name with dots. An IP address has no
	// subdomains, so users must set PathStyle for it.
	if c.PathStyle || strings.Contains(c.Bucket, ".") && u.Scheme == "https" {
		u.Path += "/" + c.Bucket
	} else {
		u.Host = c.Bucket + "." + u.Host
	}
	return &u, nil
}

// accessPoint returns the first label of the host name and the region of an access point:
// arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME.
func accessPoint(arn string) (label, region string, err error) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) == 6 && parts[2] == "s3" && parts[3] != "" && parts[4] != "" {
		for _, separator := range []string{"/", ":"} {
			if name, ok := strings.CutPrefix(parts[5], "accesspoint"+separator); ok && name != "" {
				return fmt.Sprintf("%s-%s", name, parts[4]), parts[3], nil
			}
		}
	}
	return "", "", blocks.Invalid([]string{"bucket"}, "%q is not the ARN of an access point in a region: "+
		"arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME", arn)
}
