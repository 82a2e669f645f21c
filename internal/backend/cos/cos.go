package cos

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
	"tofu/internal/configs/blocks"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	SecretID   string `cfg:"secret_id" env:"TENCENTCLOUD_SECRET_ID"`
	SecretKey  string `cfg:"secret_key,sensitive" env:"TENCENTCLOUD_SECRET_KEY"`
	Token      string `cfg:"security_token,sensitive" env:"TENCENTCLOUD_SECURITY_TOKEN"`
	Region     string `cfg:"region,required" env:"TENCENTCLOUD_REGION"`
	Bucket     string `cfg:"bucket,required"`
	Prefix     string `cfg:"prefix" default:"env:"`
	Key        string `cfg:"key" default:"terraform.tfstate"`
	Encrypt    bool   `cfg:"encrypt" default:"true"`
	ACL        string `cfg:"acl" default:"private" oneof:"private,public-read"`
	Accelerate bool   `cfg:"accelerate" default:"false"`
	AssumeRole *Role  `cfg:"assume_role,block"`

	// HTTP, if not nil, is used instead of a new client.
	HTTP *httpclient.Client
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"secret_id":      "The ID of the access key.",
		"secret_key":     "The secret of the access key.",
		"security_token": "The token of temporary access keys.",
		"region":         "The region of the bucket.",
		"bucket":         "The name of the bucket, with the ID of the account at its end.",
		"prefix":         "The folder of the states.",
		"key":            "The name of a state.",
		"encrypt":        "Whether the storage encrypts the state with AES256.",
		"acl":            "The access control list of the state.",
		"accelerate":     "Whether to use global acceleration.",
		"assume_role":    "The role to assume.",
	}
}

// Role is the block that describes the role to assume.
type Role struct {
	ARN      string `cfg:"role_arn,required" env:"TENCENTCLOUD_ASSUME_ROLE_ARN"`
	Session  string `cfg:"session_name,required" env:"TENCENTCLOUD_ASSUME_ROLE_SESSION_NAME"`
	Duration int    `cfg:"session_duration,required" env:"TENCENTCLOUD_ASSUME_ROLE_SESSION_DURATION" default:"7200"`
	Policy   string `cfg:"policy"`
}

// Docs implements blocks.Documented.
func (*Role) Docs() blocks.Docs {
	return blocks.Docs{
		"role_arn":         "The ARN of the role.",
		"session_name":     "The name of the session.",
		"session_duration": "The duration of the session in seconds.",
		"policy":           "A policy that restricts the session further.",
	}
}

// Driver is the cos backend.
var Driver = backend.New("cos", open)

// longestSession is the maximum duration of a session in seconds.
const longestSession = 43200

// Check implements blocks.Checker.
func (c *Config) Check() error {
	if c.AssumeRole != nil && (c.AssumeRole.Duration < 0 || c.AssumeRole.Duration > longestSession) {
		return blocks.Invalid([]string{"assume_role", "session_duration"},
			"it must be a number of seconds from 0 to %d",
			longestSession)
	}
	for name, value := range map[string]string{"prefix": c.Prefix, "key": c.Key} {
		if strings.HasPrefix(value, "/") || strings.HasSuffix(value, "/") || value == "" || value == "." {
			return blocks.Invalid([]string{name},
				"it must be the name of a folder or object, without a slash at either end")
		}
	}
	return nil
}

func open(_ context.Context, c *Config) (backend.Store, error) {
	if c.SecretID == "" || c.SecretKey == "" {
		return nil, errors.New("the credentials are missing or incomplete: set secret_id and secret_key, or the " +
			"environment variables TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY")
	}
	keys, err := backend.Client(&c.Sharing,
		backend.Settings(c, "bucket", "prefix", "key", "encrypt", "acl", "accelerate"),
		func() (*credentials, error) {
			client := c.HTTP
			if client == nil {
				client = httpclient.New(httpclient.Options{})
			}
			return &credentials{config: c, roles: newService("sts", c.Region, client),
				static: keyPair{c.SecretID, c.SecretKey, c.Token}}, nil
		})
	if err != nil {
		return nil, err
	}
	client := keys.roles.http
	host := fmt.Sprintf("%s.cos.%s.myqcloud.com", c.Bucket, c.Region)
	if c.Accelerate {
		host = c.Bucket + ".cos.accelerate.myqcloud.com"
	}
	bucket := &objects.Bucket{URL: &url.URL{Scheme: "https", Host: host}, Explain: c.explain,
		HTTP:   &restapi.Client{HTTP: client, Sign: keys.signObject},
		Header: http.Header{"X-Cos-Acl": {c.ACL}}, OnlyNew: "X-Cos-Forbid-Overwrite",
		ChecksumHeader: "X-Cos-Meta-Md5", Checksum: checksum}
	if c.Encrypt {
		bucket.Header.Set("X-Cos-Server-Side-Encryption", "AES256")
	}
	store := objects.WithLocks(objects.New(bucket, c.layout()))
	store.LockClient = &guarded{Bucket: bucket, name: c.Bucket,
		tags: &tags{keys: keys, service: newService("tag", c.Region, client)}}
	return store, nil
}

// checksum returns the MD5 sum of data in hexadecimal.
func checksum(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// explain adds advice to an error of the storage.
func (c *Config) explain(err *objects.Refusal) error {
	switch err.Code {
	case "NoSuchBucket":
		return fmt.Errorf("%w; check that the region %q has the bucket %q, whose name must end with the ID of the account", err,
			c.Region, c.Bucket)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidSecretId":
		return fmt.Errorf("%w; check secret_id and secret_key, or TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY",
			err)
	case "RequestTimeTooSkewed", "RequestIsExpired":
		return fmt.Errorf("%w; check the clock of this machine", err)
	case "ExpiredToken", "InvalidSecurityToken":
		return fmt.Errorf("%w; the temporary credentials have expired or are invalid", err)
	}
	return err
}

// lockSuffix is the end of the names of lock objects.
const lockSuffix = ".tflock"

func (c *Config) layout() objects.Layout {
	l := objects.InFolder(c.Prefix, c.Key)
	state := l.State
	l.Lock = func(workspace string) string { return state(workspace) + lockSuffix }
	l.Path = l.Lock
	return l
}

// Identity implements backend.Identifier.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	return []string{"cos", c.Region, c.Bucket, c.layout().State(workspace)}, nil
}
