package cliconfig

import (
	"crypto/ed25519"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/pace"
)

// Config is the CLI configuration.
type Config struct {
	// PluginCacheDir is a directory shared by root modules. It may not exist yet. Empty means no
	// cache.
	PluginCacheDir string
	// PluginCacheMayBreakLock accepts packages from the cache that have no checksum in the lock
	// file.
	PluginCacheMayBreakLock bool

	// Hosts holds the services of hosts for which service discovery is not used.
	Hosts map[string]Host
	// Credentials holds the credentials blocks in the files, by host.
	Credentials map[string]Credentials
	// Helper is a program that stores further credentials. It is nil if none is configured.
	Helper *Helper

	// Methods are the installation methods for providers, in order. If it is nil, there is no
	// provider_installation block, and ImpliedDirs and then the registries are used.
	Methods []Method
	// ImpliedDirs are directories that are used as mirrors without being configured. Some may not
	// exist. A relative one is below the working directory, which -chdir changes.
	ImpliedDirs []string
	// DevOverrides maps providers to directories with development builds.
	DevOverrides map[addrs.Provider]string

	// MinAge is the age that a release of a provider or module must have to be selected, or 0. HostAges
	// has the ages for registries at single hosts, and Method.MinAge those for installation methods.
	MinAge   time.Duration
	HostAges map[string]time.Duration

	// RegistryRetries is the maximum number of retries of a failed request for metadata.
	RegistryRetries int
	// RegistryTimeout is the timeout of a request for metadata.
	RegistryTimeout time.Duration
	// DownloadRetries is the maximum number of retries of a failed download, for methods that don't
	// specify it.
	DownloadRetries int

	// OCICredentials and OCIDefault configure the login to OCI registries.
	OCICredentials []OCICredentials
	OCIDefault     OCIDefault

	// View is the name of the view in which plans are shown on a terminal, one of Views; "" is the
	// default.
	View string
	// MinimalRefresh makes plans read only what they must, unless an option says otherwise.
	MinimalRefresh bool

	// Steady names the providers whose answers depend only on what they are asked: the same
	// configuration and objects have the same plan at any time. The names are as in Limits.
	Steady []string

	// ApprovalKeys are the keys that may approve what a server proposes. Without any, a person at a
	// terminal may.
	ApprovalKeys []ed25519.PublicKey

	// Limits limit the calls of providers.
	Limits pace.Limits

	// Dir is the user's configuration directory.
	Dir string
	// CacheDir is the directory for data that can be fetched or computed again. It may be "".
	CacheDir string
}

// Views lists the names of the views of a plan, the default first.
var Views = []string{"full", "brief", "tree", "table"}

// Host holds the services of a host by name. Values are URLs or other JSON-like data.
type Host struct{ Services map[string]any }

// Credentials are the credentials for a host: a token and possibly properties that this program
// doesn't know.
type Credentials map[string]any

// Helper is a credentials helper program, terraform-credentials-NAME.
type Helper struct {
	Name string
	Args []string
}

// Kind is a kind of installation method.
type Kind int

// The kinds of installation methods.
const (
	Direct Kind = iota
	FilesystemMirror
	NetworkMirror
	OCIMirror
)

// Method is an installation method of provider_installation.
type Method struct {
	Kind     Kind
	Location string // a path, URL or repository template
	Include  []string
	Exclude  []string
	// Retries is the maximum number of retries of a failed download; -1 if not specified.
	Retries int
	// TrustAllHashes accepts and records all hashes that a network mirror reports.
	TrustAllHashes bool
	// MinAge is the age that releases must have; -1 if not specified.
	MinAge time.Duration
}

// RegistryAge returns the age that releases in the registry at a host must have.
func (c *Config) RegistryAge(host string) time.Duration {
	if age, ok := c.HostAges[host]; ok {
		return age
	}
	return c.MinAge
}

// OCICredentials apply to all repositories of an OCI registry, or only to those below a path.
type OCICredentials struct {
	Registry, Path            string
	Username, Password        string
	AccessToken, RefreshToken string
	DockerCredentialHelper    string
}

// OCIDefault configures credentials for repositories that no OCICredentials apply to.
type OCIDefault struct {
	// Discover searches for configuration files of Docker and compatible tools.
	Discover bool
	// Files are configuration files to use instead of searching for them.
	Files []string
	// Helper is the credential helper for all other registries.
	Helper string
}
