package awsapi

import (
	"regexp"
	"sync"
	"time"

	"tofu/internal/configs/blocks"
)

// Config holds the arguments for signing in. Drivers embed it.
type Config struct {
	Region          string       `cfg:"region" env:"AWS_REGION,AWS_DEFAULT_REGION"`
	Profile         string       `cfg:"profile"`
	AccessKey       string       `cfg:"access_key"`
	SecretKey       string       `cfg:"secret_key,sensitive"`
	Token           string       `cfg:"token,sensitive"`
	CredentialFiles []string     `cfg:"shared_credentials_files"`
	ConfigFiles     []string     `cfg:"shared_config_files"`
	CABundle        string       `cfg:"custom_ca_bundle" env:"AWS_CA_BUNDLE"`
	HTTPProxy       string       `cfg:"http_proxy"`
	HTTPSProxy      string       `cfg:"https_proxy"`
	NoProxy         string       `cfg:"no_proxy"`
	Insecure        bool         `cfg:"insecure"`
	MaxRetries      int          `cfg:"max_retries" default:"5"`
	RetryMode       string       `cfg:"retry_mode" env:"AWS_RETRY_MODE" oneof:"standard,adaptive"`
	IMDSEndpoint    string       `cfg:"ec2_metadata_service_endpoint" env:"AWS_EC2_METADATA_SERVICE_ENDPOINT"`
	IMDSMode        string       `cfg:"ec2_metadata_service_endpoint_mode" env:"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE" oneof:"IPv4,IPv6"`
	SkipIMDS        bool         `cfg:"skip_metadata_api_check"`
	SkipCredentials bool         `cfg:"skip_credentials_validation"`
	SkipRegion      bool         `cfg:"skip_region_validation"`
	SkipAccount     bool         `cfg:"skip_requesting_account_id"`
	STSRegion       string       `cfg:"sts_region"`
	Allowed         []string     `cfg:"allowed_account_ids" conflicts:"forbidden_account_ids"`
	Forbidden       []string     `cfg:"forbidden_account_ids"`
	DualStack       bool         `cfg:"use_dualstack_endpoint"`
	FIPS            bool         `cfg:"use_fips_endpoint"`
	Role            *Role        `cfg:"assume_role"`
	WebIdentity     *WebIdentity `cfg:"assume_role_with_web_identity"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"region":                   "The AWS region.",
		"profile":                  "The profile in the shared files; also AWS_PROFILE.",
		"access_key":               "The access key ID.",
		"secret_key":               "The secret access key.",
		"token":                    "The session token of temporary credentials.",
		"shared_credentials_files": "Paths of shared credentials files; also AWS_SHARED_CREDENTIALS_FILE.",
		"shared_config_files": "Paths of shared configuration files; also AWS_SHARED_CONFIG_FILE or " +
			"AWS_CONFIG_FILE.",
		"custom_ca_bundle": "A file with additional CA certificates (PEM).",
		"http_proxy":       "The proxy for http addresses; also HTTP_PROXY.",
		"https_proxy":      "The proxy for https addresses; also HTTPS_PROXY.",
		"no_proxy":         "Hosts to reach without a proxy, separated by commas; also NO_PROXY.",
		"insecure":         "Whether to skip the verification of TLS certificates.",
		"max_retries":      "The maximum number of times to retry a failed request.",
		"retry_mode": "standard or adaptive. Both extend the delays between attempts while " +
			"the service is busy.",
		"ec2_metadata_service_endpoint":      "The address of the EC2 metadata service.",
		"ec2_metadata_service_endpoint_mode": "How to reach the EC2 metadata service: IPv4 or IPv6.",
		"skip_metadata_api_check":            "Whether to skip the EC2 metadata service when looking for credentials.",
		"skip_credentials_validation": "Accepted for compatibility. The first request to the service " +
			"validates the credentials.",
		"skip_region_validation": "Whether to accept a region whose name has an unusual form.",
		"skip_requesting_account_id": "Accepted for compatibility. The account is requested only for " +
			"allowed_account_ids and forbidden_account_ids.",
		"sts_region":                    "The region of the STS service; by default the region of the other services.",
		"allowed_account_ids":           "The account IDs that may be used.",
		"forbidden_account_ids":         "The account IDs that must not be used.",
		"use_dualstack_endpoint":        "Whether to use endpoints that support both IPv4 and IPv6.",
		"use_fips_endpoint":             "Whether to use endpoints with FIPS cryptography.",
		"assume_role":                   "The IAM role to assume.",
		"assume_role_with_web_identity": "The IAM role to assume with a web identity token.",
	}
}

// Role is an IAM role to assume.
type Role struct {
	ARN            string            `cfg:"role_arn,required"`
	Duration       string            `cfg:"duration"`
	ExternalID     string            `cfg:"external_id"`
	Policy         string            `cfg:"policy"`
	PolicyARNs     []string          `cfg:"policy_arns"`
	SessionName    string            `cfg:"session_name"`
	Tags           map[string]string `cfg:"tags"`
	TransitiveTags []string          `cfg:"transitive_tag_keys"`
}

// Docs implements blocks.Documented.
func (*Role) Docs() blocks.Docs {
	return blocks.Docs{
		"role_arn":            "The ARN of the role.",
		"duration":            "How long the credentials are valid, such as 1h30m; between 15m and 12h.",
		"external_id":         "The external identifier that the role requires.",
		"policy":              "An IAM policy (JSON) that restricts the permissions.",
		"policy_arns":         "The ARNs of IAM policies that restrict the permissions.",
		"session_name":        "The name of the session.",
		"tags":                "The tags of the session.",
		"transitive_tag_keys": "The keys of tags that later sessions inherit.",
	}
}

// WebIdentity is an IAM role to assume with a token.
type WebIdentity struct {
	ARN         string   `cfg:"role_arn,required" env:"AWS_ROLE_ARN"`
	Duration    string   `cfg:"duration"`
	Policy      string   `cfg:"policy"`
	PolicyARNs  []string `cfg:"policy_arns"`
	SessionName string   `cfg:"session_name" env:"AWS_ROLE_SESSION_NAME"`
	Token       string   `cfg:"web_identity_token,sensitive" conflicts:"web_identity_token_file"`
	TokenFile   string   `cfg:"web_identity_token_file" env:"AWS_WEB_IDENTITY_TOKEN_FILE"`
}

// Docs implements blocks.Documented.
func (*WebIdentity) Docs() blocks.Docs {
	return blocks.Docs{
		"role_arn":                "The ARN of the role.",
		"duration":                "How long the credentials are valid, such as 1h30m; between 15m and 12h.",
		"policy":                  "An IAM policy (JSON) that restricts the permissions.",
		"policy_arns":             "The ARNs of IAM policies that restrict the permissions.",
		"session_name":            "The name of the session.",
		"web_identity_token":      "The token.",
		"web_identity_token_file": "A file with the token.",
	}
}

var (
	roleARN    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^arn:[\w-]+:iam::\d{12}:role/.+`) })
	regionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$`) })
)

// Check checks the arguments. Drivers call it from their own check.
func (c *Config) Check() error {
	invalid := func(reason string, path ...string) error { return blocks.Invalid(path, "%s", reason) }
	switch {
	case c.Region != "" && !c.SkipRegion && !regionName().MatchString(c.Region):
		return invalid("no AWS region has this name; set skip_region_validation for a service other than AWS", "region")
	case (c.AccessKey == "") != (c.SecretKey == ""):
		return invalid("access_key and secret_key must be set together", "access_key")
	case c.MaxRetries < 0:
		return invalid("it must not be negative", "max_retries")
	}
	if r := c.Role; r != nil {
		if err := checkRole("assume_role", r.ARN, r.Duration); err != nil {
			return err
		}
	}
	if w := c.WebIdentity; w != nil {
		if err := checkRole("assume_role_with_web_identity", w.ARN, w.Duration); err != nil {
			return err
		}
		if w.Token == "" && w.TokenFile == "" {
			return invalid("web_identity_token or web_identity_token_file is required",
				"assume_role_with_web_identity")
		}
	}
	return nil
}

func checkRole(block, arn, duration string) error {
	if !roleARN().MatchString(arn) {
		return blocks.Invalid([]string{block, "role_arn"}, "%q is not the ARN of an IAM role", arn)
	}
	if duration == "" {
		return nil
	}
	d, err := time.ParseDuration(duration)
	if err != nil || d < 15*time.Minute || d > 12*time.Hour {
		return blocks.Invalid([]string{block, "duration"},
			"%q is not a duration between 15m and 12h, such as 1h30m", duration)
	}
	return nil
}
