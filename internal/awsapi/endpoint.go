package awsapi

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tofu/internal/configs/blocks"
)

// A partition is a group of regions with their own domains.
type partition struct{ prefix, domain, dualStack string }

// partitions lists the partitions. The first one whose prefix matches a region applies. The last
// one matches every region.
var partitions = []partition{
	{"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
	{"us-gov-", "amazonaws.com", "api.aws"},
	{"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
	{"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
	{"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
	{"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
	{"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
	{"", "amazonaws.com", "api.aws"},
}

func partitionOf(region string) partition {
	for _, p := range partitions {
		if strings.HasPrefix(region, p.prefix) {
			return p
		}
	}
	panic("unreachable: the last partition has all regions")
}

// A ServiceID holds the names that AWS uses for one of its services.
type ServiceID struct {
	Name    string // the SDK's name of the service, also used in messages
	Host    string // first label of the service's host names
	Signing string // name of the service in signatures
	// OldNames are the deprecated environment variables for the service's endpoint.
	OldNames []string
}

// variable returns the name of the environment variable for the service's endpoint.
func (s ServiceID) variable() string {
	return "AWS_ENDPOINT_URL_" + strings.ToUpper(strings.ReplaceAll(s.Name, " ", "_"))
}

// S3Host returns the host name of S3 in a region. The form of S3's dual-stack names differs from
// that of other services.
func S3Host(label, region string, fips, dualStack bool) string {
	if fips {
		label += "-fips"
	}
	if dualStack {
		label += ".dualstack"
	}
	return label + "." + region + "." + partitionOf(region).domain
}

func host(id ServiceID, region string, fips, dualStack bool) string {
	p := partitionOf(region)
	label, domain := id.Host, p.domain
	if fips {
		label += "-fips"
	}
	if dualStack {
		domain = p.dualStack
	}
	return label + "." + region + "." + domain
}

// endpoint returns the address of a service that is set in the argument, the environment or the
// profile. It returns nil if none of them sets it. given holds the value of the argument, and path
// is the argument's path, for errors.
func (a *Account) endpoint(ctx context.Context, id ServiceID, given []string, path ...string) (*url.URL, error) {
	text, source := "", ""
	if len(given) > 0 && given[0] != "" {
		text = given[0]
	}
	for _, name := range append([]string{id.variable()}, id.OldNames...) {
		if text == "" {
			text, source = os.Getenv(name), name
		}
	}
	for _, s := range a.config.ConfigSources {
		in, ok := s.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		})
		if text != "" || !ok {
			continue
		}
		found, has, err := in.GetServiceBaseEndpoint(ctx, id.Name)
		if err == nil && has {
			text, source = found, "the AWS configuration"
		}
	}
	if text == "" && a.config.BaseEndpoint != nil {
		text, source = *a.config.BaseEndpoint, "the AWS configuration"
	}
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		if source != "" {
			return nil, fmt.Errorf("the endpoint of %s in %s is not a URL that starts with http:// or https://",
				id.Name, source)
		}
		return nil, blocks.Invalid(path, "the endpoint must be a URL that starts with http:// or https://")
	}
	return u, nil
}

// dualStack reports whether the arguments, the environment or the profile select dual-stack
// endpoints.
func (a *Account) dualStack(ctx context.Context) bool {
	for _, s := range a.config.ConfigSources {
		if in, ok := s.(interface {
			GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error)
		}); ok {
			if v, found, err := in.GetUseDualStackEndpoint(ctx); err == nil && found {
				return v == aws.DualStackEndpointStateEnabled
			}
		}
	}
	return false
}

func (a *Account) fips(ctx context.Context) bool {
	for _, s := range a.config.ConfigSources {
		if in, ok := s.(interface {
			GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error)
		}); ok {
			if v, found, err := in.GetUseFIPSEndpoint(ctx); err == nil && found {
				return v == aws.FIPSEndpointStateEnabled
			}
		}
	}
	return false
}
