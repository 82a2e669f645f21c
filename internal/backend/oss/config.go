package oss

import (
	"net/url"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
	"tofu/internal/configs/blocks"
	"tofu/internal/httpclient"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	AccessKey     string `cfg:"access_key" env:"ALICLOUD_ACCESS_KEY,ALICLOUD_ACCESS_KEY_ID"`
	SecretKey     string `cfg:"secret_key,sensitive" env:"ALICLOUD_SECRET_KEY,ALICLOUD_ACCESS_KEY_SECRET"`
	SecurityToken string `cfg:"security_token,sensitive" env:"ALICLOUD_SECURITY_TOKEN"`
	ECSRole       string `cfg:"ecs_role_name" env:"ALICLOUD_ECS_ROLE_NAME"`
	Region        string `cfg:"region" env:"ALICLOUD_REGION,ALICLOUD_DEFAULT_REGION"`
	Endpoint      string `cfg:"endpoint" env:"ALICLOUD_OSS_ENDPOINT,OSS_ENDPOINT"`
	Bucket        string `cfg:"bucket,required"`
	Prefix        string `cfg:"prefix" default:"env:"`
	Key           string `cfg:"key" default:"terraform.tfstate"`
	TableEndpoint string `cfg:"tablestore_endpoint" env:"ALICLOUD_TABLESTORE_ENDPOINT"`
	Table         string `cfg:"tablestore_table"`
	STSEndpoint   string `cfg:"sts_endpoint" env:"ALICLOUD_STS_ENDPOINT"`
	Encrypt       bool   `cfg:"encrypt" default:"false"`
	ACL           string `cfg:"acl" oneof:"private,public-read,public-read-write"`
	File          string `cfg:"shared_credentials_file" env:"ALICLOUD_SHARED_CREDENTIALS_FILE"`
	Profile       string `cfg:"profile" env:"ALICLOUD_PROFILE"`

	Role        *Role  `cfg:"assume_role,block"`
	RoleARN     string `cfg:"assume_role_role_arn" env:"ALICLOUD_ASSUME_ROLE_ARN"`
	RolePolicy  string `cfg:"assume_role_policy"`
	RoleSession string `cfg:"assume_role_session_name" env:"ALICLOUD_ASSUME_ROLE_SESSION_NAME"`
	RoleSeconds int    `cfg:"assume_role_session_expiration" env:"ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION"`

	// HTTP, if not nil, is used instead of a new client.
	HTTP *httpclient.Client
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"access_key":                     "The ID of the access key.",
		"secret_key":                     "The secret of the access key.",
		"security_token":                 "The token of temporary access keys.",
		"ecs_role_name":                  "The role of the ECS instance.",
		"region":                         "The region of the bucket.",
		"endpoint":                       "The address of OSS.",
		"bucket":                         "The name of the bucket.",
		"prefix":                         "The folder of the states.",
		"key":                            "The name of a state.",
		"tablestore_endpoint":            "The address of Tablestore.",
		"tablestore_table":               "The table of locks, with the primary key LockID of type String.",
		"sts_endpoint":                   "The address of the service for roles.",
		"encrypt":                        "Whether OSS encrypts the state with AES256.",
		"acl":                            "The access control list of the state.",
		"shared_credentials_file":        "The path of the file with profiles.",
		"profile":                        "The profile in the file.",
		"assume_role":                    "The role to assume.",
		"assume_role_role_arn":           "The ARN of the role to assume.",
		"assume_role_policy":             "A policy that restricts the session further.",
		"assume_role_session_name":       "The name of the session.",
		"assume_role_session_expiration": "How long the session lasts, in seconds.",
	}
}

// Deprecated implements blocks.Deprecating.
func (*Config) Deprecated() blocks.Docs {
	return blocks.Docs{"assume_role": "Use the assume_role_… arguments."}
}

// Role is the block that describes the role to assume.
type Role struct {
	ARN     string `cfg:"role_arn" env:"ALICLOUD_ASSUME_ROLE_ARN"`
	Policy  string `cfg:"policy"`
	Session string `cfg:"session_name" env:"ALICLOUD_ASSUME_ROLE_SESSION_NAME"`
	Seconds int    `cfg:"session_expiration" env:"ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION"`
}

// Docs implements blocks.Documented.
func (*Role) Docs() blocks.Docs {
	return blocks.Docs{
		"role_arn":           "The ARN of the role.",
		"policy":             "A policy that restricts the session further.",
		"session_name":       "The name of the session.",
		"session_expiration": "Its duration in seconds.",
	}
}

// The shortest and the longest duration of a session, in seconds.
const (
	shortestSession = 900
	longestSession  = 3600
)

// role returns the role to assume, with default values for the arguments that aren't set, or nil if
// no role is configured. The arguments outside of the assume_role block take precedence.
func (c *Config) role() *Role {
	r := c.Role
	if c.RoleARN != "" {
		r = &Role{c.RoleARN, c.RolePolicy, c.RoleSession, c.RoleSeconds}
	}
	if r == nil || r.ARN == "" {
		return nil
	}
	out := *r
	if out.Session == "" {
		out.Session = "tofu"
	}
	if out.Seconds == 0 {
		out.Seconds = longestSession
	}
	return &out
}

// Check implements blocks.Checker.
func (c *Config) Check() error {
	for _, name := range []struct{ argument, value string }{{"prefix", c.Prefix}, {"key", c.Key}} {
		if strings.HasPrefix(name.value, "/") || strings.HasSuffix(name.value, "/") ||
			strings.HasPrefix(name.value, "./") ||
			name.value == "" {
			return blocks.Invalid([]string{name.argument},
				"it must be the name of a folder or object, without a slash or \"./\" at its ends")
		}
	}
	if r := c.role(); r != nil && (r.Seconds < shortestSession || r.Seconds > longestSession) {
		path := []string{"assume_role_session_expiration"}
		if c.RoleARN == "" {
			path = []string{"assume_role", "session_expiration"}
		}
		return blocks.Invalid(path, "it must be a number of seconds from %d to %d", shortestSession, longestSession)
	}
	switch {
	case c.Table != "" && c.TableEndpoint == "":
		return blocks.Invalid([]string{"tablestore_table"}, "the table needs \"tablestore_endpoint\", too")
	case c.Endpoint == "" && c.Region == "":
		return blocks.Invalid([]string{"region"}, "set it, \"endpoint\", or the environment variable ALICLOUD_REGION")
	}
	for _, a := range []struct{ argument, value string }{{"endpoint", c.Endpoint},
		{"tablestore_endpoint", c.TableEndpoint}, {"sts_endpoint", c.STSEndpoint}} {
		if _, err := address(a.value); a.value != "" && err != nil {
			return blocks.Invalid([]string{a.argument}, "it must be a host or a URL")
		}
	}
	return nil
}

// address returns the URL of an endpoint. The scheme is https if the endpoint has none.
func address(endpoint string) (*url.URL, error) {
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err == nil && (u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		err = &url.Error{Op: "parse", URL: endpoint, Err: url.InvalidHostError("")}
	}
	return u, err
}

// Identity implements backend.Identifier.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	return []string{"oss", c.Region, c.Bucket, objects.InFolder(c.Prefix, c.Key).State(workspace)}, nil
}
