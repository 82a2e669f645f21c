package addrs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

const (
	// DefaultHost serves providers and modules whose source names no host.
	DefaultHost = "registry.opentofu.org"
	// BuiltinHost is the host of providers that are part of the program.
	BuiltinHost = "terraform.io"
	// LegacyDefaultHost is the default host of Terraform's registries, met in old lock files and states.
	LegacyDefaultHost = "registry.terraform.io"
)

// Provider is the source address of a provider, in normal form (lower case, hosts in ASCII form).
type Provider struct {
	Host      string
	Namespace string
	Type      string
}

// BuiltinTerraform is the provider of terraform_data and terraform_remote_state.
var BuiltinTerraform = Provider{BuiltinHost, "builtin", "terraform"}

// DefaultProvider is the provider that a local name without a required_providers entry means.
func DefaultProvider(typ string) Provider {
	if typ == "terraform" {
		return BuiltinTerraform
	}
	return Provider{DefaultHost, "hashicorp", typ}
}

// IsBuiltin tells whether the provider is part of the program.
func (p Provider) IsBuiltin() bool { return p.Host == BuiltinHost && p.Namespace == "builtin" }

// IsZero tells whether p names no provider.
func (p Provider) IsZero() bool { return p == Provider{} }

// String is the full form, "host/namespace/type", as files and folders have it.
func (p Provider) String() string { return p.DisplayHost() + "/" + p.Namespace + "/" + p.Type }

// DisplayHost is the host as people write it, with the letters that stand behind an ASCII form.
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

// ForDisplay leaves out the default host.
func (p Provider) ForDisplay() string {
	if p.Host == DefaultHost {
		return p.Namespace + "/" + p.Type
	}
	return p.String()
}

// Compare orders by host, namespace and type.
func (p Provider) Compare(o Provider) int { return strings.Compare(p.String(), o.String()) }

// ParseProvider reads "type", "namespace/type" or "host/namespace/type".
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
		return Provider{}, fmt.Errorf("a provider source is written as [host/]namespace/type, not %q", source)
	}
	for _, part := range []*string{&p.Namespace, &p.Type} {
		if part == &p.Namespace && *part == "-" { // what states have that were written before namespaces
			continue
		}
		name, err := ParseProviderPart(*part)
		if err != nil {
			return Provider{}, fmt.Errorf("invalid provider source %q: %w", source, err)
		}
		*part = name
	}
	if strings.HasPrefix(p.Type, "terraform-provider-") || strings.HasPrefix(p.Type, "terraform-") && p.Host == DefaultHost && p.Namespace == "hashicorp" {
		return Provider{}, fmt.Errorf("invalid provider source %q: the type %q must not start with \"terraform-\"; write %q", source, p.Type,
			strings.TrimPrefix(strings.TrimPrefix(p.Type, "terraform-"), "provider-"))
	}
	return p, nil
}

// ParseProviderPart checks and normalises one part of a source address, a local name for example.
func ParseProviderPart(given string) (string, error) {
	if given == "" {
		return "", fmt.Errorf("a part is empty")
	}
	if len(given) > 255 {
		return "", fmt.Errorf("a part is longer than 255 characters")
	}
	if strings.HasPrefix(given, "-") || strings.HasSuffix(given, "-") || strings.Contains(given, "--") {
		return "", fmt.Errorf("%q: dashes stand alone between letters and digits", given)
	}
	ascii, err := idna.Lookup.ToUnicode(strings.ToLower(strings.ReplaceAll(given, "_", "")))
	if err != nil || strings.ContainsAny(given, ".:/ ") {
		return "", fmt.Errorf("%q must contain only letters, digits and dashes", given)
	}
	if strings.Contains(given, "_") {
		return "", fmt.Errorf("%q must contain only letters, digits and dashes; no underscores", given)
	}
	return ascii, nil
}

// ParseHost checks and normalises a host name with an optional port: lower case, in ASCII form, without port 443.
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
		return "", fmt.Errorf("%q is no port: a number from 1 to 65535 is", port)
	case n == 443:
		return ascii, nil
	}
	return fmt.Sprintf("%s:%d", ascii, n), nil
}

// LocalProviderConfig is a provider configuration as a module's blocks name it: "aws" or "aws.west".
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

// Compare orders configurations by provider, those of a provider by alias.
func (c LocalProviderConfig) Compare(other LocalProviderConfig) int {
	return cmp.Or(strings.Compare(c.LocalName, other.LocalName), strings.Compare(c.Alias, other.Alias))
}

// AbsProviderConfig is a provider configuration in the configuration tree.
type AbsProviderConfig struct {
	Module   Module
	Provider Provider
	Alias    string
}

// String is the form of state files: `module.m.provider["host/ns/type"].alias`.
func (c AbsProviderConfig) String() string {
	s := dotted(c.Module.String(), `provider["`+c.Provider.String()+`"]`)
	if c.Alias != "" {
		s += "." + c.Alias
	}
	return s
}

// ProviderInstance is one instance of a provider configuration; the key is NoKey unless the configuration has for_each.
type ProviderInstance struct {
	Config AbsProviderConfig
	Key    InstanceKey
}

func (i ProviderInstance) String() string { return i.Config.String() + i.Key.String() }
