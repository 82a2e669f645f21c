package awsapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go/logging"
	"golang.org/x/net/http/httpproxy"

	"tofu/internal/configs/blocks"
	"tofu/internal/httpclient"
	"tofu/internal/tfdiags"
)

// signInTimeout limits the search for credentials, which may call AWS and the metadata service of
// the machine.
const signInTimeout = time.Minute

// An Account calls services with credentials. It is safe for concurrent use.
type Account struct {
	Region string

	config  aws.Config
	http    *httpclient.Client
	retries int
	options *Config
	source  atomic.Value // name of the source of the credentials that were used last: a string
	skew    atomic.Int64 // nanoseconds by which the clock of AWS is ahead of this machine's clock
}

// Options are the settings of a driver that uses the package.
type Options struct {
	STSEndpoint string // address of the STS service; "" for the default address
	User        string // name of the driver in error messages, such as "the s3 backend"
	Docs        string // URL of the documentation about credentials
}

// Open finds the region and the credentials, and checks that the arguments allow the account. The
// error is a diagnostic.
func Open(ctx context.Context, c *Config, o Options) (*Account, error) {
	connect, err := c.connect()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	cfg, err := config.LoadDefaultConfig(ctx, c.loadOptions(connect)...)
	if err != nil {
		return nil, c.noCredentials(err, o)
	}
	if cfg.Region == "" {
		return nil, blocks.Invalid([]string{"region"}, "it is required, here, in the environment variable AWS_REGION "+
			"or AWS_DEFAULT_REGION, or in the profile")
	}
	c.assumeRoles(&cfg, o)
	a := &Account{Region: cfg.Region, config: cfg, http: httpclient.New(connect), options: c, retries: c.MaxRetries}
	if a.retries == 0 {
		a.retries = -1
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, c.noCredentials(err, o)
	}
	return a, a.checkAccount(ctx, o)
}

// Close closes idle connections. The account can still be used.
func (a *Account) Close() { a.http.Close() }

// connect returns the certificates and proxies for HTTP connections.
func (c *Config) connect() (httpclient.Options, error) {
	o := httpclient.Options{TLS: &tls.Config{InsecureSkipVerify: c.Insecure, MinVersion: tls.VersionTLS12}}
	if c.CABundle != "" {
		pool, err := httpclient.ReadCertificates(c.CABundle)
		if err != nil {
			return o, blocks.Invalid([]string{"custom_ca_bundle"}, "%s", err)
		}
		o.TLS.RootCAs = pool
	}
	if c.HTTPProxy != "" || c.HTTPSProxy != "" || c.NoProxy != "" {
		proxies := httpproxy.FromEnvironment()
		for _, p := range []struct{ given, to *string }{{&c.HTTPProxy, &proxies.HTTPProxy},
			{&c.HTTPSProxy, &proxies.HTTPSProxy}, {&c.NoProxy, &proxies.NoProxy}} {
			if *p.given != "" {
				*p.to = *p.given
			}
		}
		find := proxies.ProxyFunc()
		o.Proxy = func(req *http.Request) (*url.URL, error) { return find(req.URL) }
	}
	return o, nil
}

// loadOptions returns the options for loading the SDK's configuration. Credentials are requested
// with one of the SDK's own HTTP clients, for two reasons: the SDK rejects AWS_CA_BUNDLE with any
// other client, and its clients have the short timeouts that the instance metadata service needs.
func (c *Config) loadOptions(connect httpclient.Options) []func(*config.LoadOptions) error {
	client := awshttp.NewBuildableClient().WithTransportOptions(connect.Apply)
	out := []func(*config.LoadOptions) error{config.WithHTTPClient(client),
		config.WithLogger(logging.LoggerFunc(func(_ logging.Classification, format string, args ...any) {
			slog.Debug("AWS SDK", "message", fmt.Sprintf(format, args...))
		}))}
	when := func(set bool, o config.LoadOptionsFunc) {
		if set {
			out = append(out, o)
		}
	}
	when(c.Region != "", config.WithRegion(c.Region))
	when(c.Profile != "", config.WithSharedConfigProfile(c.Profile))
	when(len(c.CredentialFiles) > 0, config.WithSharedCredentialsFiles(expand(c.CredentialFiles)))
	when(len(c.ConfigFiles) > 0, config.WithSharedConfigFiles(expand(c.ConfigFiles)))
	when(c.AccessKey != "", config.WithCredentialsProvider(
		credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, c.Token)))
	when(c.IMDSEndpoint != "", config.WithEC2IMDSEndpoint(c.IMDSEndpoint))
	when(c.IMDSMode == "IPv4", config.WithEC2IMDSEndpointMode(imds.EndpointModeStateIPv4))
	when(c.IMDSMode == "IPv6", config.WithEC2IMDSEndpointMode(imds.EndpointModeStateIPv6))
	when(c.SkipIMDS, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	when(c.DualStack, config.WithUseDualStackEndpoint(aws.DualStackEndpointStateEnabled))
	when(c.FIPS, config.WithUseFIPSEndpoint(aws.FIPSEndpointStateEnabled))
	return out
}

// expand replaces ~ at the beginning of paths with the home directory.
func expand(paths []string) []string {
	out := slices.Clone(paths)
	home, err := os.UserHomeDir()
	for i, path := range out {
		if rest, ok := strings.CutPrefix(path, "~/"); ok && err == nil {
			out[i] = home + "/" + rest
		}
	}
	return out
}

// assumeRoles replaces the credentials with those of the configured roles. If there is a web
// identity, its role is assumed first, and the resulting credentials are used to assume the role of
// the assume_role argument.
func (c *Config) assumeRoles(cfg *aws.Config, o Options) {
	client := func() *sts.Client { return c.sts(cfg, o) }
	if w := c.WebIdentity; w != nil {
		var token stscreds.IdentityTokenRetriever = stscreds.IdentityTokenFile(w.TokenFile)
		if w.Token != "" {
			token = givenToken(w.Token)
		}
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(client(), w.ARN, token,
			func(r *stscreds.WebIdentityRoleOptions) {
				r.RoleSessionName, r.Duration = sessionName(w.SessionName), duration(w.Duration)
				r.Policy, r.PolicyARNs = optional(w.Policy), policies(w.PolicyARNs)
			}))
	}
	if r := c.Role; r != nil {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(client(), r.ARN,
			func(a *stscreds.AssumeRoleOptions) {
				a.RoleSessionName, a.Duration = sessionName(r.SessionName), duration(r.Duration)
				a.ExternalID, a.Policy = optional(r.ExternalID), optional(r.Policy)
				a.PolicyARNs = policies(r.PolicyARNs)
				a.TransitiveTagKeys = r.TransitiveTags
				for key, value := range r.Tags {
					a.Tags = append(a.Tags, types.Tag{Key: &key, Value: &value})
				}
			}))
	}
}

type givenToken string

// GetIdentityToken implements stscreds.IdentityTokenRetriever.
func (t givenToken) GetIdentityToken() ([]byte, error) { return []byte(t), nil }

func sessionName(given string) string {
	if given != "" {
		return given
	}
	return fmt.Sprintf("tofu-%d", time.Now().UnixNano())
}

func duration(text string) time.Duration {
	d, _ := time.ParseDuration(text) // Check has validated the text; 0 means the default
	return d
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func policies(arns []string) []types.PolicyDescriptorType {
	var out []types.PolicyDescriptorType
	for _, arn := range arns {
		out = append(out, types.PolicyDescriptorType{Arn: &arn})
	}
	return out
}

func (c *Config) sts(cfg *aws.Config, o Options) *sts.Client {
	return sts.NewFromConfig(*cfg, func(s *sts.Options) {
		s.BaseEndpoint = cmpOptional(o.STSEndpoint, s.BaseEndpoint)
		if c.STSRegion != "" {
			s.Region = c.STSRegion
		}
	})
}

func cmpOptional(text string, otherwise *string) *string {
	if text == "" {
		return otherwise
	}
	return &text
}

// checkAccount returns an error if the arguments don't allow the account that the credentials
// belong to. It calls AWS only if the arguments restrict the accounts.
func (a *Account) checkAccount(ctx context.Context, o Options) error {
	c := a.options
	if len(c.Allowed) == 0 && len(c.Forbidden) == 0 {
		return nil
	}
	out, err := c.sts(&a.config, o).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return tfdiags.Errorf("Can't determine the AWS account", "The arguments allowed_account_ids and "+
			"forbidden_account_ids need the account of the credentials, and the request for it failed: %s.",
			httpclient.Clean(err))
	}
	id := aws.ToString(out.Account)
	switch {
	case len(c.Allowed) > 0 && !slices.Contains(c.Allowed, id):
		return blocks.Invalid([]string{"allowed_account_ids"}, "the credentials belong to the AWS account %s, which "+
			"it doesn't list", id)
	case slices.Contains(c.Forbidden, id):
		return blocks.Invalid([]string{"forbidden_account_ids"}, "the credentials belong to the AWS account %s, "+
			"which it lists", id)
	}
	return nil
}

// noCredentials returns the error for a failed search for credentials. Scripts search the output
// for its summary, so the summary must not change.
func (c *Config) noCredentials(cause error, o Options) error {
	if missing, ok := errors.AsType[config.SharedConfigProfileNotExistError](cause); ok {
		return tfdiags.Errorf("No valid credential sources found", "The shared AWS files, %s, have no profile %q, "+
			"which %s needs.", strings.Join(c.files(), " and "), missing.Profile, o.User)
	}
	return tfdiags.Errorf("No valid credential sources found", "There are no usable AWS credentials for %s. They "+
		"were looked for in %s.\n\nThe last attempt failed: %s.\n\nPlease see %s\nfor more information about "+
		"providing credentials.",
		o.User, c.sources(), httpclient.Clean(cause), o.Docs)
}

// sources lists, for error messages, where credentials were searched for, in order.
func (c *Config) sources() string {
	set := func(name string) string {
		if os.Getenv(name) == "" {
			return name + " (not set)"
		}
		return name
	}
	var out []string
	switch {
	case c.AccessKey != "":
		out = append(out, "the arguments access_key and secret_key")
	case c.Profile != "":
		out = append(out, fmt.Sprintf("the profile %q (argument)", c.Profile))
	case os.Getenv("AWS_PROFILE") != "":
		out = append(out, set("AWS_ACCESS_KEY_ID"), fmt.Sprintf("the profile %q (AWS_PROFILE)",
			os.Getenv("AWS_PROFILE")))
	default:
		out = append(out, set("AWS_ACCESS_KEY_ID"), "the profile \"default\"")
	}
	if c.AccessKey == "" {
		out = append(out, "the files "+strings.Join(c.files(), " and "), set("AWS_WEB_IDENTITY_TOKEN_FILE"),
			"the container ("+set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")+")", c.metadataService())
	}
	if c.WebIdentity != nil {
		out = append(out, "the argument assume_role_with_web_identity")
	}
	if c.Role != nil {
		out = append(out, fmt.Sprintf("the role %s (assume_role)", c.Role.ARN))
	}
	return strings.Join(out, ", ")
}

// files returns the paths of the shared credentials and configuration files of AWS, and says which
// don't exist.
func (c *Config) files() []string {
	var out []string
	for _, kind := range []struct {
		given    []string
		variable string
		standard string
	}{
		{c.CredentialFiles, "AWS_SHARED_CREDENTIALS_FILE", config.DefaultSharedCredentialsFilename()},
		{c.ConfigFiles, "AWS_CONFIG_FILE", config.DefaultSharedConfigFilename()},
	} {
		paths := kind.given
		if len(paths) == 0 {
			paths = []string{kind.standard}
			if path := os.Getenv(kind.variable); path != "" {
				paths = []string{path}
			}
		}
		for _, path := range paths {
			if _, err := os.Stat(path); err != nil {
				path += " (doesn't exist)"
			}
			out = append(out, path)
		}
	}
	return out
}

func (c *Config) metadataService() string {
	if c.SkipIMDS {
		return "the EC2 metadata service (disabled by skip_metadata_api_check)"
	}
	if strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return "the EC2 metadata service (disabled by AWS_EC2_METADATA_DISABLED)"
	}
	return "the EC2 metadata service"
}
