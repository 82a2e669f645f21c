package addrs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

const (
	// DefaultHost is the host of provider and module sources without a host.
	DefaultHost = "registry.opentofu.org"
	// BuiltinHost is the host of built-in providers.
	BuiltinHost = "terraform.io"
	// LegacyDefaultHost is the host of Terraform's registry, which old lock files and states
	// contain.
	LegacyDefaultHost = "registry.terraform.io"
)

// Provider is the source address of a provider in normal form: in lower case, hosts in ASCII form.
type Provider struct {
	Host      string
	Namespace string
	Type      string
}

// BuiltinTerraform is the provider of terraform_data and terraform_remote_state.
var BuiltinTerraform = Provider{BuiltinHost, "builtin", "terraform"}

// DefaultProvider returns the provider of a local name that has no entry in required_providers.
func DefaultProvider(typ string) Provider {
	if typ == "terraform" {
		return BuiltinTerraform
	}
	return Provider{DefaultHost, "hashicorp", typ}
}

// IsBuiltin reports whether the provider is built in.
func (p Provider) IsBuiltin() bool { return p.Host == BuiltinHost && p.Namespace == "builtin" }

// IsZero reports whether p is the zero value.
func (p Provider) IsZero() bool { return p == Provider{} }

// String returns the full form, "host/namespace/type", as in files and directory names.
func (p Provider) String() string { return p.DisplayHost() + "/" + p.Namespace + "/" + p.Type }

// DisplayHost returns the host with Unicode letters instead of their ASCII form.
func (p Provider) DisplayHost() string {
	if !strings.Contains(p.Host, "xn--") {
		return p.Host
	}
	host, port, _ := strings.Cut(p.Host, ":")
	shown, err := idna.Display.ToUnicode(host)
	if err != nil {
		return p.Host
	}
	if port != "" {
		shown += ":" + port
	}
	return shown
}

// ForDisplay returns the address without the default host.
func (p Provider) ForDisplay() string {
	if p.Host == DefaultHost {
		return p.Namespace + "/" + p.Type
	}
	return p.String()
}

// Compare compares providers by the text that String returns.
func (p Provider) Compare(o Provider) int { return strings.Compare(p.String(), o.String()) }

// ParseProvider parses "type", "namespace/type" or "host/namespace/type".
func ParseProvider(source string) (Provider, error) {
	parts := strings.Split(source, "/")
	p := Provider{Host: DefaultHost, Namespace: "hashicorp"}
	switch len(parts) {
	case 1:
		p.Type = parts[0]
	case 2:
		p.Namespace, p.Type = parts[0], parts[1]
	case 3:
		host, err := ParseHost(parts[0])
		if err != nil {
			return Provider{}, fmt.Errorf("invalid provider source host %q: %w", parts[0], err)
		}
		p.Host, p.Namespace, p.Type = host, parts[1], parts[2]
	default:
		return Provider{}, fmt.Errorf("%q is not a provider source, which has the form [host/]namespace/type", source)
	}
	for _, part := range []*string{&p.Namespace, &p.Type} {
		// States written before providers had namespaces have the namespace "-".
		if part == &p.Namespace && *part == "-" {
			continue
		}
		name, err := ParseProviderPart(*part)
		if err != nil {
			return Provider{}, fmt.Errorf("invalid provider source %q: %w", source, err)
		}
		*part = name
	}
	for _, prefix := range []string{"terraform-provider-", "terraform-"} {
		name, found := strings.CutPrefix(p.Type, prefix)
		if found && (prefix != "terraform-" || p.Host == DefaultHost && p.Namespace == "hashicorp") {
			return Provider{}, fmt.Errorf("invalid provider source %q: the type must not start with %q; use %q instead "+
				"of %q", source, prefix, name, p.Type)
		}
	}
	return p, nil
}

// ParseProviderPart validates and normalizes one part of a source address or a local name.
func ParseProviderPart(given string) (string, error) {
	if given == "" {
		return "", fmt.Errorf("a part is empty")
	}
	if len(given) > 255 {
		return "", fmt.Errorf("a part is longer than 255 characters")
	}
	if strings.HasPrefix(given, "-") || strings.HasSuffix(given, "-") || strings.Contains(given, "--") {
		return "", fmt.Errorf("%q may contain only single dashes, between letters and digits", given)
	}
	ascii, err := idna.Lookup.ToUnicode(strings.ToLower(strings.ReplaceAll(given, "_", "")))
	if err != nil || strings.ContainsAny(given, ".:/ ") {
		return "", fmt.Errorf("%q must contain only letters, digits and dashes", given)
	}
	if strings.Contains(given, "_") {
		return "", fmt.Errorf("%q must contain only letters, digits and dashes, no underscores", given)
	}
	return ascii, nil
}

// ParseHost validates and normalizes a host name with an optional port. The result is in lower case
// and ASCII form, without port 443.
func ParseHost(given string) (string, error) {
	host, port, hasPort := strings.Cut(given, ":")
	if host == "" {
		return "", fmt.Errorf("the host is empty")
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", err
	}
	if !hasPort {
		return ascii, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || n == 0:
		return "", fmt.Errorf("%q is not a valid port: it must be a number from 1 to 65535", port)
	case n == 443:
		return ascii, nil
	}
	return fmt.Sprintf("%s:%d", ascii, n), nil
}

// LocalProviderConfig is the name of a provider configuration within a module: "aws" or "aws.west".
type LocalProviderConfig struct {
	LocalName string
	Alias     string
}

func (c LocalProviderConfig) String() string {
	if c.Alias == "" {
		return c.LocalName
	}
	return c.LocalName + "." + c.Alias
}

// Compare orders provider configurations by local name and alias.
func (c LocalProviderConfig) Compare(other LocalProviderConfig) int {
	return cmp.Or(strings.Compare(c.LocalName, other.LocalName), strings.Compare(c.Alias, other.Alias))
}

// AbsProviderConfig is the address of a provider configuration in the configuration tree.
type AbsProviderConfig struct {
	Module   Module
	Provider Provider
	Alias    string
}

// String returns the form in state files: `module.m.provider["host/ns/type"].alias`.
func (c AbsProviderConfig) String() string {
	s := joinDot(c.Module.String(), `provider["`+c.Provider.String()+`"]`)
	if c.Alias != "" {
		s += "." + c.Alias
	}
	return s
}

// ProviderInstance is one instance of a provider configuration. The key is NoKey unless the
// configuration has for_each.
type ProviderInstance struct {
	Config AbsProviderConfig
	Key    InstanceKey
}

func (i ProviderInstance) String() string { return i.Config.String() + i.Key.String() }
