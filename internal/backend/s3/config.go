package s3

import (
	"encoding/base64"
	"regexp"
	"strings"
	"sync"
	"time"

	"tofu/internal/awsapi"
	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	awsapi.Config
	Bucket       string            `cfg:"bucket,required"`
	Key          string            `cfg:"key,required"`
	Prefix       string            `cfg:"workspace_key_prefix" default:"env:"`
	ACL          string            `cfg:"acl"`
	Encrypt      bool              `cfg:"encrypt"`
	KMSKey       string            `cfg:"kms_key_id"`
	CustomerKey  string            `cfg:"sse_customer_key,sensitive" env:"AWS_SSE_CUSTOMER_KEY"`
	StateTags    map[string]string `cfg:"state_tags"`
	LockTags     map[string]string `cfg:"lock_tags"`
	SkipChecksum bool              `cfg:"skip_s3_checksum"`
	LockFile     bool              `cfg:"use_lockfile"`
	Table        string            `cfg:"dynamodb_table"`
	PathStyle    bool              `cfg:"use_path_style"`
	Endpoints    Endpoints         `cfg:"endpoints"`

	Endpoint        string            `cfg:"endpoint"`
	DynamoEndpoint  string            `cfg:"dynamodb_endpoint"`
	STSEndpoint     string            `cfg:"sts_endpoint"`
	IAMEndpoint     string            `cfg:"iam_endpoint"`
	ForcePathStyle  bool              `cfg:"force_path_style" conflicts:"use_path_style"`
	CredentialFile  string            `cfg:"shared_credentials_file" conflicts:"shared_credentials_files"`
	RoleARN         string            `cfg:"role_arn" conflicts:"assume_role"`
	RoleSeconds     int               `cfg:"assume_role_duration_seconds" conflicts:"assume_role"`
	RolePolicy      string            `cfg:"assume_role_policy" conflicts:"assume_role"`
	RolePolicyARNs  []string          `cfg:"assume_role_policy_arns" conflicts:"assume_role"`
	RoleTags        map[string]string `cfg:"assume_role_tags" conflicts:"assume_role"`
	RoleTransitive  []string          `cfg:"assume_role_transitive_tag_keys" conflicts:"assume_role"`
	RoleExternalID  string            `cfg:"external_id" conflicts:"assume_role"`
	RoleSessionName string            `cfg:"session_name" conflicts:"assume_role"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"bucket":               "The bucket, or the ARN of an access point.",
		"key":                  "The key of the state object.",
		"workspace_key_prefix": "The prefix of the keys of workspaces other than the default one.",
		"acl":                  "The canned ACL of the objects.",
		"encrypt":              "Whether the service encrypts the objects.",
		"kms_key_id":           "The KMS key that encrypts the objects, if encrypt is set.",
		"sse_customer_key": "The customer's key that encrypts the objects, if encrypt is set: 32 " +
			"bytes in Base64.",
		"state_tags":                      "The tags of state objects.",
		"lock_tags":                       "The tags of lock objects.",
		"skip_s3_checksum":                "Whether to send no checksum header, for stores that don't know it.",
		"use_lockfile":                    "Whether to lock the state with an object.",
		"dynamodb_table":                  "The DynamoDB table that locks the state and holds its digest.",
		"use_path_style":                  "Whether URLs have the bucket in their path instead of the host name.",
		"endpoints":                       "The addresses of services.",
		"endpoint":                        "The address of S3.",
		"dynamodb_endpoint":               "The address of DynamoDB.",
		"sts_endpoint":                    "The address of STS.",
		"iam_endpoint":                    "The address of IAM. It is not used.",
		"force_path_style":                "Whether URLs have the bucket in their path.",
		"shared_credentials_file":         "The path of the shared credentials file.",
		"role_arn":                        "The ARN of the role to assume.",
		"assume_role_duration_seconds":    "How long the credentials are valid, in seconds.",
		"assume_role_policy":              "An IAM policy (JSON) that restricts the permissions.",
		"assume_role_policy_arns":         "The ARNs of IAM policies that restrict the permissions.",
		"assume_role_tags":                "The tags of the session.",
		"assume_role_transitive_tag_keys": "The keys of tags that later sessions inherit.",
		"external_id":                     "The external identifier that the role requires.",
		"session_name":                    "The name of the session.",
	}
}

// Deprecated implements blocks.Deprecating.
func (*Config) Deprecated() blocks.Docs {
	return blocks.Docs{
		"endpoint":                        `Use "endpoints.s3" instead.`,
		"dynamodb_endpoint":               `Use "endpoints.dynamodb" instead.`,
		"sts_endpoint":                    `Use "endpoints.sts" instead.`,
		"iam_endpoint":                    `Use "endpoints.iam" instead.`,
		"force_path_style":                `Use "use_path_style" instead.`,
		"shared_credentials_file":         `Use "shared_credentials_files" instead.`,
		"role_arn":                        `Use "assume_role.role_arn" instead.`,
		"assume_role_duration_seconds":    `Use "assume_role.duration" instead.`,
		"assume_role_policy":              `Use "assume_role.policy" instead.`,
		"assume_role_policy_arns":         `Use "assume_role.policy_arns" instead.`,
		"assume_role_tags":                `Use "assume_role.tags" instead.`,
		"assume_role_transitive_tag_keys": `Use "assume_role.transitive_tag_keys" instead.`,
		"external_id":                     `Use "assume_role.external_id" instead.`,
		"session_name":                    `Use "assume_role.session_name" instead.`,
	}
}

// Endpoints holds the addresses of services.
type Endpoints struct {
	S3       string `cfg:"s3"`
	DynamoDB string `cfg:"dynamodb"`
	STS      string `cfg:"sts"`
	IAM      string `cfg:"iam"`
}

// Docs implements blocks.Documented.
func (*Endpoints) Docs() blocks.Docs {
	return blocks.Docs{
		"s3":       "The address of S3.",
		"dynamodb": "The address of DynamoDB.",
		"sts":      "The address of STS.",
		"iam":      "The address of IAM. It is not used.",
	}
}

var kmsKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(arn:[\w-]+:kms:[\w-]+:\d{12}:(key/[\w-]+|alias/[\w/-]+)|alias/[\w/-]+|(mrk-)?[0-9a-f-]{32,36})$`)
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

// replaceDeprecated moves the values of deprecated arguments to the arguments that replaced them,
// and checks the common arguments.
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

// Identity implements backend.Identifier. The region isn't part of it, because a bucket name is
// unique across regions.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	return []string{"s3", strings.TrimSuffix(c.Endpoints.S3, "/"), c.Bucket, layout(c).State(workspace)}, nil
}
