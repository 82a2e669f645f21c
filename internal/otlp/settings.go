package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"tofu/internal/timings"
	"tofu/internal/version"
)

// settings are the settings read from the environment.
type settings struct {
	grpc     bool
	endpoint *url.URL
	headers  []pair
	timeout  time.Duration // limit for a request, including retries
	compress bool
	tls      *tls.Config // nil if the connection is not encrypted

	resource []timings.Attribute
	parent   traceContext
}

type pair struct{ name, value string }

// traceContext identifies the span of the program that started this one.
type traceContext struct {
	trace [16]byte
	span  timings.ID
	state string
}

const defaultTimeout = 10 * time.Second

// readSettings reads the settings from the environment. It returns nil if no trace is to be sent.
func readSettings(getenv func(string) string, build version.Info) (*settings, error) {
	if getenv("OTEL_TRACES_EXPORTER") != "otlp" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil // don't check the other variables, which may be for other programs
	}
	// Settings that are only for traces override those for all signals.
	name := func(suffix string) string {
		if getenv("OTEL_EXPORTER_OTLP_TRACES_"+suffix) != "" {
			return "OTEL_EXPORTER_OTLP_TRACES_" + suffix
		}
		return "OTEL_EXPORTER_OTLP_" + suffix
	}
	value := func(suffix string) string { return getenv(name(suffix)) }

	s := &settings{timeout: defaultTimeout}
	switch protocol := value("PROTOCOL"); protocol {
	case "", "http/protobuf":
	case "grpc":
		s.grpc = true
	default:
		return nil, fmt.Errorf("%s is %q; use \"http/protobuf\" or \"grpc\"", name("PROTOCOL"), protocol)
	}
	switch compression := value("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		s.compress = true
	default:
		return nil, fmt.Errorf("%s is %q; use \"gzip\" or \"none\"", name("COMPRESSION"), compression)
	}
	if text := value("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("%s is %q; it must be a whole number of milliseconds, greater than 0", name("TIMEOUT"), text)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	var err error
	s.headers, err = list(value("HEADERS"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name("HEADERS"), err)
	}
	s.endpoint, err = s.address(value("ENDPOINT"), strings.Contains(name("ENDPOINT"), "TRACES"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name("ENDPOINT"), err)
	}
	if s.endpoint.Scheme == "https" || s.endpoint.Scheme == "" && !strings.EqualFold(value("INSECURE"), "true") {
		s.tls, err = tlsConfig(value("CERTIFICATE"), value("CLIENT_CERTIFICATE"), value("CLIENT_KEY"))
		if err != nil {
			return nil, err
		}
	}
	s.resource, err = resource(getenv, build)
	if err != nil {
		return nil, err
	}
	s.parent = parseParent(getenv("TRACEPARENT"), getenv("TRACESTATE"))
	return s, nil
}

// address returns the complete URL of a collector. If text is "", it is the default URL on this
// machine. If whole is false, text is an address for all signals; for HTTP, the path for traces is
// appended.
func (s *settings) address(text string, whole bool) (*url.URL, error) {
	switch {
	case text == "" && s.grpc:
		text = "http://localhost:4317"
	case text == "":
		text = "http://localhost:4318"
	}
	if s.grpc && !strings.Contains(text, "://") {
		return &url.URL{Host: text}, nil // a name without a scheme is valid for gRPC
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// Don't show the address, which may contain a password.
		return nil, errors.New("it must be a URL with a host that starts with http:// or https://")
	}
	if !s.grpc && !whole {
		u = u.JoinPath("v1/traces")
	}
	return u, nil
}

// list parses "name=value,name=value". Values may have escapes as in URLs.
func list(text string) ([]pair, error) {
	var out []pair
	for entry := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, value, ok := strings.Cut(entry, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil {
			// Don't show the values, which may be secret.
			return nil, errors.New("it must be a list of NAME=VALUE, separated by commas, with values escaped as in URLs")
		}
		out = append(out, pair{name, value})
	}
	return out, nil
}

func tlsConfig(authorities, certificate, key string) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		pem, err := os.ReadFile(authorities)
		if err != nil {
			return nil, fmt.Errorf("reading the CA certificates for the collector: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("there are no certificates in %s", authorities)
		}
	}
	if (certificate == "") != (key == "") {
		return nil, errors.New("the client certificate for the collector needs both OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE " +
			"and OTEL_EXPORTER_OTLP_CLIENT_KEY, or the same settings for traces; only one of them is set")
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate for the collector: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// resource returns the attributes that describe this program.
func resource(getenv func(string) string, build version.Info) ([]timings.Attribute, error) {
	given, err := list(getenv("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if service := getenv("OTEL_SERVICE_NAME"); service != "" {
		given = append(given, pair{"service.name", service})
	}
	out := []timings.Attribute{{Key: "service.name", Value: "OpenTofu CLI"}, {Key: "service.version", Value: build.Version},
		{Key: "vcs.ref.head.revision", Value: build.Commit}}
	for _, p := range given {
		out = set(out, timings.Attribute{Key: p.name, Value: p.value})
	}
	return out, nil
}

func set(in []timings.Attribute, a timings.Attribute) []timings.Attribute {
	for i := range in {
		if in[i].Key == a.Key {
			in[i] = a
			return in
		}
	}
	return append(in, a)
}

// parseParent parses a W3C trace context. It ignores additional fields of versions later than 00.
// If the context is invalid, parseParent returns the zero value, because the specification requires
// that such a context is ignored.
func parseParent(parent, state string) traceContext {
	var c traceContext
	fields := strings.Split(parent, "-")
	if len(fields) < 4 || fields[0] == "ff" || len(fields[0]) != 2 || fields[0] == "00" && len(fields) != 4 {
		return c
	}
	trace, err1 := hex.DecodeString(fields[1])
	span, err2 := hex.DecodeString(fields[2])
	if err1 != nil || err2 != nil || len(trace) != len(c.trace) || len(span) != len(c.span) {
		return c
	}
	c.trace, c.span, c.state = [16]byte(trace), timings.ID(span), state
	if c.trace == [16]byte{} || c.span == (timings.ID{}) {
		return traceContext{}
	}
	return c
}
