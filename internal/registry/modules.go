package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/apparentlymart/go-versions/versions"

	"tofu/internal/httpclient"
)

// ModuleVersions holds the versions of a module in a registry.
type ModuleVersions struct {
	List []versions.Version
	// Odd lists the entries that are not valid versions. They can't be selected.
	Odd []string
}

// ErrNoModule reports that a registry doesn't know a module.
var ErrNoModule = errors.New("the registry doesn't know this module")

// ModuleVersions returns the versions of a module at a host. module is "namespace/name/system".
func (c *Client) ModuleVersions(ctx context.Context, host, module string) (ModuleVersions, error) {
	var found ModuleVersions
	base, err := c.Service(ctx, host, "modules.v1")
	if err != nil {
		return found, err
	}
	doc, err := c.Get(ctx, base.JoinPath(module, "versions"), host)
	if NotFound(err) {
		return found, ErrNoModule
	}
	if err != nil {
		return found, err
	}
	var list struct {
		Modules []struct {
			Versions []struct{ Version string }
		}
	}
	if err := doc.JSON(&list); err != nil {
		return found, err
	}
	if len(list.Modules) == 0 {
		return found, ErrNoModule
	}
	for _, item := range list.Modules[0].Versions {
		v, err := parseVersion(item.Version)
		if err != nil {
			found.Odd = append(found.Odd, item.Version)
			continue
		}
		found.List = append(found.List, v)
	}
	return found, nil
}

// joined matches a version whose prerelease follows without a dash, as in "1.2.0beta1".
var joined = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9.]*[0-9])([A-Za-z])`) })

// parseVersion parses a version in a list of modules. It may begin with "v", as a repository's tags
// do, and its prerelease may follow without a dash. OpenTofu selects such versions, so an older
// one must not be selected instead.
func parseVersion(text string) (versions.Version, error) {
	return versions.ParseVersion(joined().ReplaceAllString(strings.TrimPrefix(text, "v"), "$1-$2"))
}

// ModuleLocation is the place from which a registry's module version can be downloaded.
type ModuleLocation struct {
	Address string // source address; if it is a URL, it is absolute
	// Host is the host whose credentials are sent with the download. It is "" unless the registry
	// asks for that.
	Host string
}

// ModuleLocation asks the registry for the location of one version.
func (c *Client) ModuleLocation(ctx context.Context, host, module, version string) (ModuleLocation, error) {
	var found ModuleLocation
	base, err := c.Service(ctx, host, "modules.v1")
	if err != nil {
		return found, err
	}
	doc, err := c.get(ctx, base.JoinPath(module, version, "download"), host,
		func(code int) bool { return code == http.StatusOK || code == http.StatusNoContent })
	if NotFound(err) {
		return found, fmt.Errorf("the registry has no version %s of this module", version)
	}
	if err != nil {
		return found, err
	}
	found.Address = doc.Header.Get("X-Terraform-Get")
	if doc.Status == http.StatusOK && len(doc.Body) > 0 && found.Address == "" {
		var answer struct {
			Location       string
			UseCredentials json.RawMessage `json:"use_registry_credentials"`
		}
		if err := doc.JSON(&answer); err != nil {
			return found, err
		}
		found.Address = answer.Location
		switch string(answer.UseCredentials) {
		case "true":
			found.Host = host
		case "", "false", "null":
		default:
			return found, fmt.Errorf("%s has a use_registry_credentials other than true or false",
				httpclient.Redact(doc.URL))
		}
	}
	if found.Address == "" {
		return found, fmt.Errorf("%s doesn't contain the location of the module", httpclient.Redact(doc.URL))
	}
	if strings.HasPrefix(found.Address, "/") || strings.HasPrefix(found.Address, "./") ||
		strings.HasPrefix(found.Address, "../") {
		u, err := doc.URL.Parse(found.Address)
		if err != nil {
			return found, fmt.Errorf("the registry returned the location %q, which is not a valid URL: %w",
				found.Address, err)
		}
		found.Address = u.String()
	}
	return found, nil
}
