package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"

	"tofu/internal/addrs"
	"tofu/internal/providers"
)

// ReattachEnv is the environment variable that lists providers that are already running, for
// example in a debugger.
const ReattachEnv = "TF_REATTACH_PROVIDERS"

// Reattach describes the connection to a running provider.
type Reattach struct {
	ProtocolVersion int
	Pid             int
	Addr            net.Addr
}

// ParseReattach parses the value of TF_REATTACH_PROVIDERS. It is a JSON object with provider
// addresses as keys, as printed by providers that are started for debugging. A provider of Terraform's
// registry is also that of the default registry.
func ParseReattach(text string) (map[addrs.Provider]*Reattach, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var entries map[string]struct {
		Protocol        string
		ProtocolVersion int
		Pid             int
		Addr            struct{ Network, String string }
	}
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("%s is not the JSON object that a provider prints when it is started for debugging: %w", ReattachEnv, err)
	}
	out := make(map[addrs.Provider]*Reattach, len(entries))
	for source, e := range entries {
		provider, err := addrs.ParseProvider(source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ReattachEnv, err)
		}
		if e.Protocol != "" && e.Protocol != string(goplugin.ProtocolGRPC) {
			return nil, fmt.Errorf("%s: provider %s uses the protocol %q; only grpc is supported", ReattachEnv,
				source, e.Protocol)
		}
		if e.ProtocolVersion == 0 {
			e.ProtocolVersion = 5 // older plugins don't print the version
		}
		if e.ProtocolVersion != 5 && e.ProtocolVersion != 6 {
			return nil, fmt.Errorf("%s: provider %s uses protocol version %d, not 5 or 6", ReattachEnv,
				source, e.ProtocolVersion)
		}
		addr, err := resolve(e.Addr.Network, e.Addr.String)
		if err != nil {
			return nil, fmt.Errorf("%s: provider %s: %w", ReattachEnv, source, err)
		}
		out[provider] = &Reattach{ProtocolVersion: e.ProtocolVersion, Pid: e.Pid, Addr: addr}
	}
	// Tests of providers for Terraform name its registry, which configurations without a source don't mean.
	for provider, running := range maps.Clone(out) {
		if provider.Host == addrs.LegacyDefaultHost {
			provider.Host = addrs.DefaultHost
			if out[provider] == nil {
				out[provider] = running
			}
		}
	}
	return out, nil
}

func resolve(network, address string) (net.Addr, error) {
	switch network {
	case "unix":
		return net.ResolveUnixAddr("unix", address)
	case "tcp":
		return net.ResolveTCPAddr("tcp", address)
	}
	return nil, fmt.Errorf("unknown kind of address %q; only unix and tcp are supported", network)
}

func attach(config *goplugin.ClientConfig, l Launch) (providers.Interface, error) {
	config.VersionedPlugins = nil
	config.Reattach = &goplugin.ReattachConfig{
		Protocol: goplugin.ProtocolGRPC, ProtocolVersion: l.Reattach.ProtocolVersion, Pid: l.Reattach.Pid,
		Addr: l.Reattach.Addr,
		Test: true, // keeps go-plugin from ending the process
	}
	p := &process{client: goplugin.NewClient(config), tail: &stderrTail{}}
	rpc, err := p.client.Client()
	if err != nil {
		return nil, fmt.Errorf("attaching to it at %s (from %s): %w", l.Reattach.Addr, ReattachEnv, err)
	}
	return newClient(l, p, rpc.(*goplugin.GRPCClient).Conn, l.Reattach.ProtocolVersion), nil
}
