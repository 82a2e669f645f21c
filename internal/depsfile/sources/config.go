package sources

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/registry"
	"tofu/internal/registry/oci"
	"tofu/internal/tfdiags"
)

// FromConfig returns the source that the CLI configuration describes. It skips invalid methods, so
// the source can be used even if there is an error.
func FromConfig(cfg *cliconfig.Config, client *registry.Client) (Source, error) {
	if cfg.Methods == nil {
		implied := Implied{Direct: NewDirect(client, cfg.DownloadRetries)}
		for _, dir := range cfg.ImpliedDirs {
			abs, err := filepath.Abs(dir)
			if err != nil {
				continue
			}
			if info, err := os.Stat(abs); err == nil && info.IsDir() {
				implied.Folders = append(implied.Folders, Filesystem{abs})
			}
		}
		return implied, nil
	}
	var errs tfdiags.Diagnostics
	multi := make(Multi, 0, len(cfg.Methods))
	for _, m := range cfg.Methods {
		method, err := fromMethod(m, cfg, client)
		if err != nil {
			errs = errs.Append(tfdiags.Errorf("Invalid provider installation method",
				"In provider_installation of the CLI configuration: %s.",
				strings.TrimSuffix(err.Error(), ".")))
			continue
		}
		multi = append(multi, method)
	}
	return multi, errs.Err()
}

// NewDirect returns the source that uses the registries. The signature policy comes from the
// environment.
func NewDirect(client *registry.Client, retries int) *Direct {
	return &Direct{Client: client, Retries: retries, MinAge: -1, Policy: policyFrom(os.Getenv), Now: time.Now}
}

// NewNetworkMirror returns the mirror at a URL from the configuration or the command line.
func NewNetworkMirror(client *registry.Client, text string, retries int) (*NetworkMirror, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the URL %q of a network mirror must start with https:// and a host", text)
	}
	return &NetworkMirror{Client: client, URL: u, Retries: retries, MinAge: client.Config().MinAge}, nil
}

func fromMethod(m cliconfig.Method, cfg *cliconfig.Config, client *registry.Client) (Method, error) {
	include, err := patterns(m.Include)
	if err != nil {
		return Method{}, err
	}
	exclude, err := patterns(m.Exclude)
	if err != nil {
		return Method{}, err
	}
	retries := m.Retries
	if retries < 0 {
		retries = cfg.DownloadRetries
	}
	out := Method{Include: include, Exclude: exclude}
	switch m.Kind {
	case cliconfig.Direct:
		direct := NewDirect(client, retries)
		direct.MinAge = m.MinAge
		out.Source = direct
	case cliconfig.FilesystemMirror:
		out.Source = Filesystem{m.Location}
	case cliconfig.NetworkMirror:
		mirror, err := NewNetworkMirror(client, m.Location, retries)
		if err != nil {
			return Method{}, err
		}
		mirror.TrustAllHashes = m.TrustAllHashes
		if m.MinAge >= 0 {
			mirror.MinAge = m.MinAge
		}
		out.Source = mirror
	case cliconfig.OCIMirror:
		mirror, err := NewOCIMirror(oci.New(client), m.Location, include)
		if err != nil {
			return Method{}, err
		}
		if mirror.MinAge = cfg.MinAge; m.MinAge >= 0 {
			mirror.MinAge = m.MinAge
		}
		out.Source = mirror
	default:
		panic("unreachable: there are four kinds of methods")
	}
	return out, nil
}

func patterns(texts []string) (Patterns, error) {
	out := make(Patterns, len(texts))
	for i, text := range texts {
		p, err := ParsePattern(text)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}
