package install

import (
	"os"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/testenv/registrytest"
)

func TestMain(m *testing.M) { os.Exit(registrytest.RunTests(m)) }

// server is a bench with a registry and a network mirror, which offer the test provider in two
// versions for two platforms.
type server struct {
	*bench
	*registrytest.Server
}

func newServer(b *bench) *server {
	s := &server{b, registrytest.New(b)}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		for _, platform := range []string{here(), "plan9_arm"} {
			s.Add(tool.Type, version, platform, content(tool, version, platform))
		}
	}
	return s
}

// config returns a CLI configuration in which the server is the registry of example.com and of the
// default host.
func (s *server) config() *cliconfig.Config {
	services := cliconfig.Host{Services: map[string]any{"providers.v1": s.URL + "/v1/"}}
	return &cliconfig.Config{Hosts: map[string]cliconfig.Host{"example.com": services, addrs.DefaultHost: services},
		RegistryTimeout: 5 * time.Second, RegistryRetries: 1, DownloadRetries: 2}
}

func (s *server) client() *registry.Client { return registry.New(s.config()) }

func (s *server) direct() *sources.Direct {
	d := sources.NewDirect(s.client(), 2)
	d.Policy = sources.SignaturePolicy{}
	return d
}

// forget removes the installed packages.
func (s *bench) forget() {
	s.Helper()
	for _, name := range []string{"work", "store/packages", "store/archives", "store/releases", "store/roots"} {
		if err := os.RemoveAll(s.path(name)); err != nil {
			s.Fatal(err)
		}
	}
	for _, name := range []string{"packages", "archives", "releases", "roots"} {
		if err := os.MkdirAll(s.path("store/"+name), 0o755); err != nil {
			s.Fatal(err)
		}
	}
}

var plan9 = depsfile.Platform{OS: "plan9", Arch: "arm"}
