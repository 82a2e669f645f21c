package awsapi

import (
	"regexp"
	"sync"
	"time"

	"tofu/internal/configs/blocks"
)

// Config holds the arguments for signing in. Drivers embed it.
type Config struct {
	Region          string       `cfg:"region" env:"AWS_REGION,AWS_DEFAULT_REGION" doc:"The AWS region."`
	Profile         string       `cfg:"profile" doc:"The profile in the shared files; also AWS_PROFILE."`
	AccessKey       string       `cfg:"access_key" doc:"The access key ID."`
	SecretKey       string       `cfg:"secret_key,sensitive" doc:"The secret access key."`
	Token           string       `cfg:"token,sensitive" doc:"The session token of temporary credentials."`
	CredentialFiles []string     `cfg:"shared_credentials_files" doc:"Paths of shared credentials files; also AWS_SHARED_CREDENTIALS_FILE."`
	ConfigFiles     []string     `cfg:"shared_config_files" doc:"Paths of shared configuration files; also AWS_SHARED_CONFIG_FILE or AWS_CONFIG_FILE."`
	CABundle        string       `cfg:"custom_ca_bundle" env:"AWS_CA_BUNDLE" doc:"A file with additional CA certificates (PEM)."`
	HTTPProxy       string       `cfg:"http_proxy" doc:"The proxy for http addresses; also HTTP_PROXY."`
	HTTPSProxy      string       `cfg:"https_proxy" doc:"The proxy for https addresses; also HTTPS_PROXY."`
	NoProxy         string       `cfg:"no_proxy" doc:"Hosts without proxy, separated by commas; also NO_PROXY."`
	Insecure        bool         `cfg:"insecure" doc:"Whether to skip the verification of TLS certificates."`
	MaxRetries      int          `cfg:"max_retries" default:"5" doc:"How often a failed request is repeated."`
	RetryMode       string       `cfg:"retry_mode" env:"AWS_RETRY_MODE" oneof:"standard,adaptive" doc:"standard or adaptive. Both extend the delays between attempts while the service is busy."`
	IMDSEndpoint    string       `cfg:"ec2_metadata_service_endpoint" env:"AWS_EC2_METADATA_SERVICE_ENDPOINT" doc:"The address of the EC2 metadata service."`
	IMDSMode        string       `cfg:"ec2_metadata_service_endpoint_mode" env:"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE" oneof:"IPv4,IPv6" doc:"How to reach the EC2 metadata service: IPv4 or IPv6."`
	SkipIMDS        bool         `cfg:"skip_metadata_api_check" doc:"Whether to look for no credentials in the EC2 metadata service."`
	SkipCredentials bool         `cfg:"skip_credentials_validation" doc:"Accepted for compatibility. The first request to the service validates the credentials."`
	SkipRegion      bool         `cfg:"skip_region_validation" doc:"Whether to accept a region whose name has an unusual form."`
	SkipAccount     bool         `cfg:"skip_requesting_account_id" doc:"Accepted for compatibility. The account is requested only for allowed_account_ids and forbidden_account_ids."`
	STSRegion       string       `cfg:"sts_region" doc:"The region of the STS service; that of the other services if absent."`
	Allowed         []string     `cfg:"allowed_account_ids" conflicts:"forbidden_account_ids" doc:"The account IDs that may be used."`
	Forbidden       []string     `cfg:"forbidden_account_ids" doc:"The account IDs that must not be used."`
	DualStack       bool         `cfg:"use_dualstack_endpoint" doc:"Whether to use endpoints that support IPv6 too."`
	FIPS            bool         `cfg:"use_fips_endpoint" doc:"Whether to use endpoints with FIPS cryptography."`
	Role            *Role        `cfg:"assume_role" doc:"The IAM role to assume."`
	WebIdentity     *WebIdentity `cfg:"assume_role_with_web_identity" doc:"The IAM role to assume with a web identity token."`
}

// Role is an IAM role to assume.
type Role struct {
	ARN            string            `cfg:"role_arn,required" doc:"The ARN of the role."`
	Duration       string            `cfg:"duration" doc:"How long the credentials are valid, such as 1h30m; between 15m and 12h."`
	ExternalID     string            `cfg:"external_id" doc:"The external identifier that the role requires."`
	Policy         string            `cfg:"policy" doc:"An IAM policy (JSON) that restricts the permissions."`
	PolicyARNs     []string          `cfg:"policy_arns" doc:"The ARNs of IAM policies that restrict the permissions."`
	SessionName    string            `cfg:"session_name" doc:"The name of the session."`
	Tags           map[string]string `cfg:"tags" doc:"The tags of the session."`
	TransitiveTags []string          `cfg:"transitive_tag_keys" doc:"The keys of tags that later sessions inherit."`
}

// WebIdentity is an IAM role to assume with a token.
type WebIdentity struct {
	ARN         string   `cfg:"role_arn,required" env:"AWS_ROLE_ARN" doc:"The ARN of the role."`
	Duration    string   `cfg:"duration" doc:"How long the credentials are valid, such as 1h30m; between 15m and 12h."`
	Policy      string   `cfg:"policy" doc:"An IAM policy (JSON) that restricts the permissions."`
	PolicyARNs  []string `cfg:"policy_arns" doc:"The ARNs of IAM policies that restrict the permissions."`
	SessionName string   `cfg:"session_name" env:"AWS_ROLE_SESSION_NAME" doc:"The name of the session."`
	Token       string   `cfg:"web_identity_token,sensitive" conflicts:"web_identity_token_file" doc:"The token."`
	TokenFile   string   `cfg:"web_identity_token_file" env:"AWS_WEB_IDENTITY_TOKEN_FILE" doc:"A file with the token."`
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
