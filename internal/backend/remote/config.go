package remote

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"

	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
	"tofu/internal/httpclient"
	"tofu/internal/registry"
	"tofu/internal/restapi"
)

// Config is the configuration of the remote backend's block.
type Config struct {
	backend.Sharing
	Hostname     string `cfg:"hostname,required"`
	Organization string `cfg:"organization,required"`
	Token        string `cfg:"token,sensitive"`
	Workspaces   *Named `cfg:"workspaces,required,block,single"`

	services backend.Services
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"hostname":     "The host of the service.",
		"organization": "The organization that has the workspaces.",
		"token":        "The token of the user; by default, the one from \"tofu login\".",
		"workspaces":   "Which workspaces to use.",
	}
}

// Named is the workspaces block of the remote backend.
type Named struct {
	Name   string `cfg:"name" conflicts:"prefix"`
	Prefix string `cfg:"prefix"`
}

// Docs implements blocks.Documented.
func (*Named) Docs() blocks.Docs {
	return blocks.Docs{
		"name":   "The name of the only workspace.",
		"prefix": "The beginning of the names of all workspaces; names here are without it.",
	}
}

// CloudConfig is the configuration of a cloud block.
type CloudConfig struct {
	backend.Sharing
	Hostname     string `cfg:"hostname,required" env:"TF_CLOUD_HOSTNAME"`
	Organization string `cfg:"organization,required" env:"TF_CLOUD_ORGANIZATION"`
	Token        string `cfg:"token,sensitive"`
	Workspaces   Tagged `cfg:"workspaces,block,single"`

	services backend.Services
}

// Docs implements blocks.Documented.
func (*CloudConfig) Docs() blocks.Docs {
	return blocks.Docs{
		"hostname":     "The host of the service.",
		"organization": "The organization that has the workspaces.",
		"token":        "The token of the user; by default, the one from \"tofu login\".",
		"workspaces":   "Which workspaces to use.",
	}
}

// Tagged is the workspaces block of a cloud block.
type Tagged struct {
	Name    string   `cfg:"name" conflicts:"tags"`
	Tags    []string `cfg:"tags"`
	Project string   `cfg:"project" env:"TF_CLOUD_PROJECT"`
}

// Docs implements blocks.Documented.
func (*Tagged) Docs() blocks.Docs {
	return blocks.Docs{
		"name":    "The name of the only workspace.",
		"tags":    "Tags that all workspaces have. New workspaces get them.",
		"project": "The project of the workspaces.",
	}
}

// Driver is the remote backend, and CloudDriver is the backend of a cloud block.
var (
	Driver      = backend.New("remote", open)
	CloudDriver = backend.New("cloud", openCloud)
)

// UseServices implements backend.ServiceUser.
func (c *Config) UseServices(s backend.Services) { c.services = s }

// UseServices implements backend.ServiceUser.
func (c *CloudConfig) UseServices(s backend.Services) { c.services = s }

// Check implements blocks.Checker.
func (c *Config) Check() error {
	if c.Workspaces.Name == "" && c.Workspaces.Prefix == "" {
		return blocks.Invalid([]string{"workspaces"}, "it needs a name, for one workspace, or a prefix, for several")
	}
	return nil
}

// Check implements blocks.Checker.
func (c *CloudConfig) Check() error {
	if c.Workspaces.Name == "" && len(c.Workspaces.Tags) == 0 && os.Getenv("TF_WORKSPACE") == "" {
		return blocks.Invalid([]string{"workspaces"},
			"it needs a name, for one workspace, or tags, for several; without both, TF_WORKSPACE names the workspace")
	}
	return nil
}

func open(ctx context.Context, c *Config) (backend.Store, error) {
	s := &Store{organization: c.Organization, name: c.Workspaces.Name, prefix: c.Workspaces.Prefix, create: true,
		local: backend.DefaultWorkspace}
	if err := s.connect(ctx, &c.Sharing, c.services, c.Hostname, c.Token, "tfe.v2.1", "tfe.v2"); err != nil {
		return nil, err
	}
	if s.prefix != "" {
		return prefixed{s}, nil
	}
	return s, nil
}

func openCloud(ctx context.Context, c *CloudConfig) (backend.Store, error) {
	w := c.Workspaces
	s := &Store{organization: c.Organization, name: w.Name, tags: w.Tags, project: w.Project, create: true}
	if w.Name == "" && len(w.Tags) == 0 {
		s.name, s.create = os.Getenv("TF_WORKSPACE"), false
	}
	s.local = s.name
	if err := s.connect(ctx, &c.Sharing, c.services, c.Hostname, c.Token, "tfe.v2"); err != nil {
		return nil, err
	}
	return cloud{s}, nil
}

// Store keeps states in the workspaces of an organization.
type Store struct {
	organization string
	name         string // name of the only workspace in the service; "" if there may be several workspaces
	local        string // name of the only workspace in this program
	prefix       string // prefix of workspace names in the service
	tags         []string
	project      string
	create       bool // missing workspaces are created

	host   string
	base   *url.URL
	client *restapi.Client
	token  string

	mu     sync.Mutex
	known  map[string]*workspace // known workspaces, by name in the service
	locked map[string]bool       // workspaces that this process has locked, by name in the service
}

// cloud is a store whose workspaces have the same names as in the service.
type cloud struct{ *Store }

// Only implements backend.Undefaulted.
func (c cloud) Only() string { return c.name }

// prefixed is a store of the remote backend with a prefix. Like cloud, it has no default workspace.
type prefixed struct{ *Store }

// Only implements backend.Undefaulted.
func (prefixed) Only() string { return "" }

// connect finds the first of the named services that the host offers. It sets the service's
// address, the token and the HTTP client. It returns an error if the host offers none of the
// services, or if there is no token for the host.
func (s *Store) connect(
	ctx context.Context, sharing *backend.Sharing, services backend.Services, host, token string, names ...string,
) error {
	s.host, s.known, s.locked = host, make(map[string]*workspace), make(map[string]bool)
	var err error
	for _, name := range names {
		s.base, err = services.Service(ctx, host, name)
		if err == nil || !registry.IsNoService(err) {
			break
		}
	}
	if err != nil && registry.IsNoService(err) {
		return fmt.Errorf("%w; the host must offer a service that stores states", err)
	}
	if err != nil {
		return err
	}
	s.token = token
	if token == "" {
		s.token, err = services.Token(ctx, host)
		if err != nil {
			return fmt.Errorf("reading the token for %s: %w", host, err)
		}
	}
	if s.token == "" {
		return fmt.Errorf("there is no token for %s: run \"tofu login %s\", or set the token in the environment "+
			"variable TF_TOKEN_%s or in a credentials block of the CLI configuration", host, host, tokenVariable(host))
	}
	http, err := backend.Client(sharing, nil, func() (*httpclient.Client, error) {
		return httpclient.New(httpclient.Options{}), nil
	})
	s.client = &restapi.Client{HTTP: http}
	return err
}

// tokenVariable returns a host name as it is written in the name of the environment variable that
// holds its token.
func tokenVariable(host string) string {
	return strings.ReplaceAll(strings.ReplaceAll(host, "-", "__"), ".", "_")
}

// Identity implements backend.Identifier. The result is the same for a cloud block with the same
// states.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	name := c.Workspaces.Name
	if name == "" {
		name = c.Workspaces.Prefix + workspace
	}
	return []string{"remote", strings.ToLower(c.Hostname), c.Organization, name}, nil
}

// Identity implements backend.Identifier.
func (c *CloudConfig) Identity(workspace, _ string) ([]string, error) {
	name := c.Workspaces.Name
	if name == "" {
		name = workspace
	}
	return []string{"remote", strings.ToLower(c.Hostname), c.Organization, name}, nil
}
