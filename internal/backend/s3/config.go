package s3

import (
	"encoding/base64"
	"regexp"
	"strings"
	"sync"
	"time"

	"tofu/internal/awsapi"
	"tofu/internal/configs/blocks"
)

// Config is the configuration of the backend block.
type Config struct {
	awsapi.Config
	Bucket       string            `cfg:"bucket,required" doc:"The bucket, or the ARN of an access point."`
	Key          string            `cfg:"key,required" doc:"The key of the state object."`
	Prefix       string            `cfg:"workspace_key_prefix" default:"env:" doc:"The prefix of the keys of workspaces other than the default one."`
	ACL          string            `cfg:"acl" doc:"The canned ACL of the objects."`
	Encrypt      bool              `cfg:"encrypt" doc:"Whether the service encrypts the objects."`
	KMSKey       string            `cfg:"kms_key_id" doc:"The KMS key that encrypts the objects, if encrypt is set."`
	CustomerKey  string            `cfg:"sse_customer_key,sensitive" env:"AWS_SSE_CUSTOMER_KEY" doc:"The customer's key that encrypts the objects, if encrypt is set: 32 bytes in Base64."`
	StateTags    map[string]string `cfg:"state_tags" doc:"The tags of state objects."`
	LockTags     map[string]string `cfg:"lock_tags" doc:"The tags of lock objects."`
	SkipChecksum bool              `cfg:"skip_s3_checksum" doc:"Whether to send no checksum header, for stores that don't know it."`
	LockFile     bool              `cfg:"use_lockfile" doc:"Whether to lock the state with an object."`
	Table        string            `cfg:"dynamodb_table" doc:"The DynamoDB table that locks the state and holds its digest."`
	PathStyle    bool              `cfg:"use_path_style" doc:"Whether URLs have the bucket in their path instead of the host name."`
	Endpoints    Endpoints         `cfg:"endpoints" doc:"The addresses of services."`

	Endpoint        string            `cfg:"endpoint" deprecated:"Use \"endpoints.s3\" instead." doc:"The address of S3."`
	DynamoEndpoint  string            `cfg:"dynamodb_endpoint" deprecated:"Use \"endpoints.dynamodb\" instead." doc:"The address of DynamoDB."`
	STSEndpoint     string            `cfg:"sts_endpoint" deprecated:"Use \"endpoints.sts\" instead." doc:"The address of STS."`
	IAMEndpoint     string            `cfg:"iam_endpoint" deprecated:"Use \"endpoints.iam\" instead." doc:"The address of IAM. It is not used."`
	ForcePathStyle  bool              `cfg:"force_path_style" conflicts:"use_path_style" deprecated:"Use \"use_path_style\" instead." doc:"Whether URLs have the bucket in their path."`
	CredentialFile  string            `cfg:"shared_credentials_file" conflicts:"shared_credentials_files" deprecated:"Use \"shared_credentials_files\" instead." doc:"The path of the shared credentials file."`
	RoleARN         string            `cfg:"role_arn" conflicts:"assume_role" deprecated:"Use \"assume_role.role_arn\" instead." doc:"The ARN of the role to assume."`
	RoleSeconds     int               `cfg:"assume_role_duration_seconds" conflicts:"assume_role" deprecated:"Use \"assume_role.duration\" instead." doc:"How long the credentials are valid, in seconds."`
	RolePolicy      string            `cfg:"assume_role_policy" conflicts:"assume_role" deprecated:"Use \"assume_role.policy\" instead." doc:"An IAM policy (JSON) that restricts the permissions."`
	RolePolicyARNs  []string          `cfg:"assume_role_policy_arns" conflicts:"assume_role" deprecated:"Use \"assume_role.policy_arns\" instead." doc:"The ARNs of IAM policies that restrict the permissions."`
	RoleTags        map[string]string `cfg:"assume_role_tags" conflicts:"assume_role" deprecated:"Use \"assume_role.tags\" instead." doc:"The tags of the session."`
	RoleTransitive  []string          `cfg:"assume_role_transitive_tag_keys" conflicts:"assume_role" deprecated:"Use \"assume_role.transitive_tag_keys\" instead." doc:"The keys of tags that later sessions inherit."`
	RoleExternalID  string            `cfg:"external_id" conflicts:"assume_role" deprecated:"Use \"assume_role.external_id\" instead." doc:"The external identifier that the role requires."`
	RoleSessionName string            `cfg:"session_name" conflicts:"assume_role" deprecated:"Use \"assume_role.session_name\" instead." doc:"The name of the session."`
}

// Endpoints holds the addresses of services.
type Endpoints struct {
	S3       string `cfg:"s3" doc:"The address of S3."`
	DynamoDB string `cfg:"dynamodb" doc:"The address of DynamoDB."`
	STS      string `cfg:"sts" doc:"The address of STS."`
	IAM      string `cfg:"iam" doc:"The address of IAM. It is not used."`
}

var kmsKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(arn:[\w-]+:kms:[\w-]+:\d{12}:(key/[\w-]+|alias/[\w/-]+)|alias/[\w/-]+|(mrk-)?[0-9a-f-]{32,36})$`)
})

// Check implements blocks.Checker.
func (c *Config) Check() error {
	invalid := func(name, reason string, args ...any) error { return blocks.Invalid([]string{name}, reason, args...) }
	switch {
	case strings.HasPrefix(c.Key, "/") || strings.HasSuffix(c.Key, "/"):
		return invalid("key", `it must not start or end with "/"`)
	case strings.HasPrefix(c.Prefix, "/") || strings.HasSuffix(c.Prefix, "/"):
		return invalid("workspace_key_prefix", `it must not start or end with "/"`)
	case c.KMSKey != "" && c.CustomerKey != "":
		return invalid("kms_key_id", `it can't be set together with "sse_customer_key" (also AWS_SSE_CUSTOMER_KEY)`)
	case c.KMSKey != "" && !kmsKey().MatchString(c.KMSKey):
		return invalid("kms_key_id", "%q is not the ID, the ARN or the alias of a KMS key", c.KMSKey)
	}
	if c.CustomerKey != "" {
		if key, err := base64.StdEncoding.DecodeString(c.CustomerKey); err != nil || len(key) != 32 {
			return invalid("sse_customer_key", "it must be 32 bytes in Base64, which are 44 characters")
		}
	}
	for _, pair := range []struct{ old, new, name, replacement string }{
		{c.Endpoint, c.Endpoints.S3, "endpoint", "endpoints.s3"},
		{c.DynamoEndpoint, c.Endpoints.DynamoDB, "dynamodb_endpoint", "endpoints.dynamodb"},
		{c.STSEndpoint, c.Endpoints.STS, "sts_endpoint", "endpoints.sts"},
		{c.IAMEndpoint, c.Endpoints.IAM, "iam_endpoint", "endpoints.iam"},
	} {
		if pair.old != "" && pair.new != "" {
			return invalid(pair.name, "it can't be set together with %q", pair.replacement)
		}
	}
	return c.replaceDeprecated()
}

// replaceDeprecated moves the values of deprecated arguments to those that replaced them, and
// checks the common arguments.
func (c *Config) replaceDeprecated() error {
	for _, pair := range []struct{ old, new *string }{
		{&c.Endpoint, &c.Endpoints.S3}, {&c.DynamoEndpoint, &c.Endpoints.DynamoDB},
		{&c.STSEndpoint, &c.Endpoints.STS},
	} {
		if *pair.old != "" {
			*pair.new, *pair.old = *pair.old, ""
		}
	}
	c.PathStyle = c.PathStyle || c.ForcePathStyle
	if c.CredentialFile != "" {
		c.CredentialFiles = []string{c.CredentialFile}
	}
	if c.RoleARN != "" {
		c.Role = &awsapi.Role{ARN: c.RoleARN, ExternalID: c.RoleExternalID, Policy: c.RolePolicy,
			PolicyARNs: c.RolePolicyARNs, SessionName: c.RoleSessionName, Tags: c.RoleTags,
			TransitiveTags: c.RoleTransitive}
		if c.RoleSeconds != 0 {
			c.Role.Duration = (time.Duration(c.RoleSeconds) * time.Second).String()
		}
	} else if c.RoleExternalID != "" || c.RoleSeconds != 0 || c.RolePolicy != "" || c.RoleSessionName != "" ||
		len(c.RolePolicyARNs)+len(c.RoleTags)+len(c.RoleTransitive) > 0 {
		return blocks.Invalid([]string{"role_arn"}, "it is required by the other arguments about a role")
	}
	return c.Config.Check()
}
