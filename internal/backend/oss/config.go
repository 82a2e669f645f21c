package oss

import (
	"net/url"
	"strings"

	"tofu/internal/configs/blocks"
	"tofu/internal/httpclient"
)

// Config is the configuration of the backend block.
type Config struct {
	AccessKey     string `cfg:"access_key" env:"ALICLOUD_ACCESS_KEY,ALICLOUD_ACCESS_KEY_ID" doc:"The ID of the access key."`
	SecretKey     string `cfg:"secret_key,sensitive" env:"ALICLOUD_SECRET_KEY,ALICLOUD_ACCESS_KEY_SECRET" doc:"The secret."`
	SecurityToken string `cfg:"security_token,sensitive" env:"ALICLOUD_SECURITY_TOKEN" doc:"The token of a temporary key."`
	ECSRole       string `cfg:"ecs_role_name" env:"ALICLOUD_ECS_ROLE_NAME" doc:"The role of the ECS instance."`
	Region        string `cfg:"region" env:"ALICLOUD_REGION,ALICLOUD_DEFAULT_REGION" doc:"The region of the bucket."`
	Endpoint      string `cfg:"endpoint" env:"ALICLOUD_OSS_ENDPOINT,OSS_ENDPOINT" doc:"The address of OSS."`
	Bucket        string `cfg:"bucket,required" doc:"The name of the bucket."`
	Prefix        string `cfg:"prefix" default:"env:" doc:"The folder of the states."`
	Key           string `cfg:"key" default:"terraform.tfstate" doc:"The name of a state."`
	TableEndpoint string `cfg:"tablestore_endpoint" env:"ALICLOUD_TABLESTORE_ENDPOINT" doc:"The address of Tablestore."`
	Table         string `cfg:"tablestore_table" doc:"The table of locks, with the primary key LockID of type String."`
	STSEndpoint   string `cfg:"sts_endpoint" env:"ALICLOUD_STS_ENDPOINT" doc:"The address of the service for roles."`
	Encrypt       bool   `cfg:"encrypt" default:"false" doc:"Whether OSS encrypts the state with AES256."`
	ACL           string `cfg:"acl" oneof:"private,public-read,public-read-write" doc:"The access control of the state."`
	File          string `cfg:"shared_credentials_file" env:"ALICLOUD_SHARED_CREDENTIALS_FILE" doc:"A file of profiles."`
	Profile       string `cfg:"profile" env:"ALICLOUD_PROFILE" doc:"The profile in the file."`

	Role        *Role  `cfg:"assume_role,block" deprecated:"Use the assume_role_… arguments." doc:"The role to assume."`
	RoleARN     string `cfg:"assume_role_role_arn" env:"ALICLOUD_ASSUME_ROLE_ARN" doc:"The ARN of the role to assume."`
	RolePolicy  string `cfg:"assume_role_policy" doc:"A policy that restricts the session further."`
	RoleSession string `cfg:"assume_role_session_name" env:"ALICLOUD_ASSUME_ROLE_SESSION_NAME" doc:"The session's name."`
	RoleSeconds int    `cfg:"assume_role_session_expiration" env:"ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION" doc:"Its seconds."`

	// HTTP is the client to use instead of a new one.
	HTTP *httpclient.Client
}

// Role is the block of a role to assume.
type Role struct {
	ARN     string `cfg:"role_arn" env:"ALICLOUD_ASSUME_ROLE_ARN" doc:"The ARN of the role."`
	Policy  string `cfg:"policy" doc:"A policy that restricts the session further."`
	Session string `cfg:"session_name" env:"ALICLOUD_ASSUME_ROLE_SESSION_NAME" doc:"The name of the session."`
	Seconds int    `cfg:"session_expiration" env:"ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION" doc:"Its duration in seconds."`
}

// The durations of sessions, in seconds.
const (
	shortestSession = 900
	longestSession  = 3600
)

// role returns the role to assume, nil for none. The arguments outside the block take precedence.
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
		if strings.HasPrefix(name.value, "/") || strings.HasSuffix(name.value, "/") || strings.HasPrefix(name.value, "./") ||
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

// address returns the URL of an endpoint, whose scheme is https if it has none.
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
