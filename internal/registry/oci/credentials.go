package oci

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"tofu/internal/cliconfig"
)

// credentials finds the credentials for repositories. It reads the configuration files on first
// use.
type credentials struct {
	explicit []cliconfig.OCICredentials
	general  cliconfig.OCIDefault
	files    func() ([]dockerConfig, error)
	helper   func(ctx context.Context, name, server string) (auth.Credential, error)
}

func newCredentials(cfg *cliconfig.Config) *credentials {
	c := &credentials{explicit: cfg.OCICredentials, general: cfg.OCIDefault, helper: runHelper}
	c.files = sync.OnceValues(func() ([]dockerConfig, error) {
		if !c.general.Discover {
			return nil, nil
		}
		paths := c.general.Files
		if paths == nil {
			paths = defaultFiles()
		}
		return readConfigs(paths, c.general.Files != nil)
	})
	return c
}

// match returns the length of the path in a matching pattern HOST[/PATH], or -1 if the pattern
// doesn't match the repository. The pattern with the longest path is the most specific one.
func match(pattern, host, repository string) int {
	patternHost, path, _ := strings.Cut(strings.TrimSuffix(pattern, "/"), "/")
	switch {
	case patternHost != host:
		return -1
	case path == "":
		return 0
	case repository == path || strings.HasPrefix(repository, path+"/"):
		return len(path)
	}
	return -1
}

// find returns the most specific credentials for a repository. If several are equally specific, the
// CLI configuration takes precedence, and then the order of the files. If none apply, find asks the
// first credential store that a file names or, without one, the helper for all registries.
func (c *credentials) find(ctx context.Context, host, repository string) (auth.Credential, error) {
	best := -1
	var take func() (auth.Credential, error)
	for _, e := range c.explicit {
		if depth := match(e.Registry+"/"+e.Path, host, repository); depth > best {
			best, take = depth, func() (auth.Credential, error) { return c.explicitly(ctx, e) }
		}
	}
	files, err := c.files()
	if err != nil {
		return auth.EmptyCredential, err
	}
	for _, file := range files {
		for pattern, entry := range file.Auths {
			if depth := match(dockerPattern(pattern), host, repository); depth > best {
				best, take = depth, func() (auth.Credential, error) { return entry.credential(file.path, pattern) }
			}
		}
		if name, ok := file.Helpers[host]; ok && best < 0 {
			best, take = 0, func() (auth.Credential, error) { return c.helper(ctx, name, host) }
		}
	}
	if take != nil {
		return take()
	}
	for _, file := range files {
		if file.Store != "" {
			return c.helper(ctx, file.Store, host)
		}
	}
	if c.general.Helper != "" {
		return c.helper(ctx, c.general.Helper, host)
	}
	return auth.EmptyCredential, nil
}

func (c *credentials) explicitly(ctx context.Context, e cliconfig.OCICredentials) (auth.Credential, error) {
	if e.DockerCredentialHelper != "" {
		return c.helper(ctx, e.DockerCredentialHelper, e.Registry)
	}
	return auth.Credential{Username: e.Username, Password: e.Password, AccessToken: e.AccessToken,
		RefreshToken: e.RefreshToken}, nil
}

// dockerConfig is a configuration file of Docker, Podman or a compatible tool.
type dockerConfig struct {
	path    string
	Auths   map[string]dockerAuth
	Helpers map[string]string `json:"credHelpers"`
	Store   string            `json:"credsStore"`
}

type dockerAuth struct {
	Auth          string
	Username      string
	Password      string
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// credential returns the credentials of an entry. path and key are the file and the key of the
// entry, for errors.
func (a dockerAuth) credential(path, key string) (auth.Credential, error) {
	c := auth.Credential{Username: a.Username, Password: a.Password, RefreshToken: a.IdentityToken,
		AccessToken: a.RegistryToken}
	if a.Auth != "" {
		raw, err := base64.StdEncoding.DecodeString(a.Auth)
		user, password, ok := strings.Cut(string(raw), ":")
		if err != nil || !ok {
			return auth.EmptyCredential, fmt.Errorf("reading credentials for OCI registries from %s: the \"auth\" of %q "+
				"is not NAME:PASSWORD in Base64", path, key)
		}
		c.Username, c.Password = user, password
	}
	return c, nil
}

// dockerPattern converts a key of "auths" to a pattern. Keys may be URLs, as old versions of Docker
// wrote them. Then the pattern is only the host.
func dockerPattern(key string) string {
	_, rest, ok := strings.Cut(key, "://")
	if !ok {
		return key
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// defaultFiles returns the paths of the configuration files of Docker and compatible tools, in
// order of precedence.
func defaultFiles() []string {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	var files []string
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		files = append(files, filepath.Join(dir, "containers", "auth.json"))
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	return append(files, filepath.Join(config, "containers", "auth.json"), filepath.Join(home, ".docker",
		"config.json"), filepath.Join(home, ".dockercfg"))
}

// readConfigs reads configuration files. If named is true, the files must exist.
func readConfigs(paths []string, named bool) ([]dockerConfig, error) {
	var configs []dockerConfig
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && !named {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading credentials for OCI registries: %w", err)
		}
		c := dockerConfig{path: path}
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("reading credentials for OCI registries from %s: %w", path, err)
		}
		configs = append(configs, c)
	}
	return configs, nil
}

// helperDelay limits how long to wait for output after the helper has exited, because processes
// that it started may keep its output open.
const helperDelay = 5 * time.Second

// runHelper runs the program docker-credential-NAME and returns the credentials that it prints for
// a server.
func runHelper(ctx context.Context, name, server string) (auth.Credential, error) {
	if strings.ContainsAny(name, `/\`) {
		return auth.EmptyCredential, fmt.Errorf("%q is not a valid name of a credential helper", name)
	}
	path, err := exec.LookPath("docker-credential-" + name)
	if err != nil {
		return auth.EmptyCredential, fmt.Errorf("the credential helper docker-credential-%s was not found in PATH", name)
	}
	cmd := exec.CommandContext(ctx, path, "get")
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.WaitDelay = strings.NewReader(server), &out, helperDelay
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(out.String()) // the helper prints errors to standard output
		if strings.Contains(text, "credentials not found") {
			return auth.EmptyCredential, nil
		}
		if text == "" {
			text = err.Error()
		}
		return auth.EmptyCredential, fmt.Errorf("the credential helper docker-credential-%s failed for %s: %s",
			name, server, text)
	}
	var answer struct{ Username, Secret string }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return auth.EmptyCredential,
			fmt.Errorf("the credential helper docker-credential-%s returned invalid JSON for %s", name, server)
	}
	if answer.Username == "<token>" {
		return auth.Credential{RefreshToken: answer.Secret}, nil
	}
	return auth.Credential{Username: answer.Username, Password: answer.Secret}, nil
}
