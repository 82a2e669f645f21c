package cliconfig

import (
	"time"

	"tofu/internal/addrs"
)

// Config is the whole CLI configuration.
type Config struct {
	// PluginCacheDir is a folder shared by root modules, which may not exist yet; empty for none.
	PluginCacheDir string
	// PluginCacheMayBreakLock allows packages from the cache that the lock file doesn't vouch for.
	PluginCacheMayBreakLock bool

	// Hosts replaces service discovery for some hosts.
	Hosts map[string]Host
	// Credentials are those of the files' credentials blocks, by host.
	Credentials map[string]Credentials
	// Helper is a program that keeps further credentials; nil for none.
	Helper *Helper

	// Methods are the installation methods for providers in order. Nil when no provider_installation block is there,
	// which means ImpliedDirs and then the registries.
	Methods []Method
	// ImpliedDirs are the folders that are mirrors without being mentioned; some may not exist.
	ImpliedDirs []string
	// DevOverrides are folders with development builds.
	DevOverrides map[addrs.Provider]string

	// RegistryRetries is how often a failed request for metadata is repeated.
	RegistryRetries int
	// RegistryTimeout is how long to wait for an answer with metadata.
	RegistryTimeout time.Duration
	// DownloadRetries is how often a failed download is repeated, where a method doesn't say.
	DownloadRetries int

	// OCICredentials and OCIDefault say how to log in to OCI registries.
	OCICredentials []OCICredentials
	OCIDefault     OCIDefault

	// Dir is the user's configuration folder.
	Dir string
	// CacheDir is the folder for what can be fetched or computed again; empty when there is none.
	CacheDir string
}

// Host has the services of a host, by name; values are URLs or other JSON-like data.
type Host struct{ Services map[string]any }

// Credentials are what a host wants: a token and perhaps properties this program doesn't know.
type Credentials map[string]any

// Helper is a program terraform-credentials-NAME.
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

// Method is one installation method of provider_installation.
type Method struct {
	Kind     Kind
	Location string // a path, URL or repository template
	Include  []string
	Exclude  []string
	// Retries is how often a failed download is repeated; -1 when the method doesn't say.
	Retries int
	// TrustAllHashes records all hashes that a network mirror reports.
	TrustAllHashes bool
}

// OCICredentials are for repositories of one OCI registry, or for those below a path there.
type OCICredentials struct {
	Registry, Path            string
	Username, Password        string
	AccessToken, RefreshToken string
	DockerCredentialHelper    string
}

// OCIDefault says where credentials come from that no block gives.
type OCIDefault struct {
	// Discover looks for configuration files of Docker and its relatives.
	Discover bool
	// Files are such configuration files, in place of those that are looked for.
	Files []string
	// Helper is the credential helper for all other registries.
	Helper string
}
