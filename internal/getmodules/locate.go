package getmodules

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/memo"
	"tofu/internal/registry"
)

// locator asks registries for the versions of modules and the locations of their packages. It sends
// each request only once. It is safe for concurrent use.
type locator struct {
	client   *registry.Client
	versions memo.Map[string, registry.ModuleVersions]
	places   memo.Map[string, location]
}

// location says where a package can be fetched.
type location struct {
	address, subdir string
	host            string // host whose credentials are sent with HTTP requests; may be ""

	// The rest is set only for a version of a module in a registry.
	source, version string
	place           string  // the subdirectory that the registry has named
	found           *stored // the package in the store; the address is then unknown
}

// key identifies the package. Several releases may have one address.
func (l location) key() string {
	if l.address == "" {
		return releaseKey(l.source, l.version)
	}
	return l.address
}

// errUnresolvable reports that no version of a module meets its constraints.
var errUnresolvable = errors.New("no version meets the constraints")

// choice is a selected version of a module.
type choice struct {
	version string
	young   []sources.PassedOver // newer versions that are too young
	list    []depsfile.Version   // all versions, if none is acceptable
	odd     []string             // entries in the registry's list that are not valid versions
}

// choose returns the newest version that meets the constraints and is old enough.
func (l *locator) choose(
	ctx context.Context, source addrs.ModuleSource, c depsfile.Constraints,
) (found choice, err error) {
	host, module, _ := strings.Cut(source.Address, "/")
	if !strings.Contains(host, ".") {
		return found, fmt.Errorf("%q is not a module registry: host names contain a dot", host)
	}
	list, err := l.versions.Do(source.Address,
		func() (registry.ModuleVersions, error) { return l.client.ModuleVersions(ctx, host, module) })
	if errors.Is(err, registry.ErrNoModule) {
		err = fmt.Errorf("there is no module %s in the registry at %s", module, host)
	}
	if err != nil {
		return found, err
	}
	found.odd = list.Odd
	v, young, ok, err := sources.OldEnough(list.List, depsfile.Acceptable(c).Has,
		func(v depsfile.Version) (sources.Age, error) { return l.age(ctx, source, v.String()) })
	found.young = young
	switch {
	case err != nil:
		return found, fmt.Errorf("selecting a version of module %s at %s: %w", module, host, err)
	case !ok && len(young) > 0:
		return found, fmt.Errorf("no version of module %s at %s that meets the constraints is old enough: %s. Wait, or "+
			"set a shorter minimum_release_age for host %q in the CLI configuration", module, host,
			sources.NoneOldEnough(young), host)
	case !ok:
		found.list = list.List
		return found, fmt.Errorf("module %s at %s: %w", module, host, errUnresolvable)
	}
	found.version = v.String()
	return found, nil
}

// Age says when a version of a module in a registry was published, and which age it must have.
func Age(ctx context.Context, client *registry.Client, source addrs.ModuleSource, version string) (sources.Age, error) {
	return (&locator{client: client}).age(ctx, source, version)
}

// age says when a version was published. If the registry doesn't say, the date of the archive or of
// the commit counts.
func (l *locator) age(ctx context.Context, source addrs.ModuleSource, version string) (sources.Age, error) {
	host, module, _ := strings.Cut(source.Address, "/")
	a := sources.Age{Minimum: l.client.Config().RegistryAge(host)}
	if a.Minimum == 0 {
		return a, nil
	}
	at, err := l.client.Published(ctx, "modules.v1", host, module, version)
	if err == nil && at.IsZero() {
		var place location
		if place, err = l.locate(ctx, source, version); err == nil {
			at, err = l.published(ctx, place)
		}
	}
	a.Published = at
	return a, err
}

// published returns the date of the package at a place, or zero if it has none.
func (l *locator) published(ctx context.Context, place location) (time.Time, error) {
	method, rest := splitMethod(place.address)
	u, err := url.Parse(rest)
	if err != nil {
		return time.Time{}, errors.New("its address is not a valid URL")
	}
	switch {
	case method == "git" || method == "" && u.Scheme == "git":
		return commitDate(ctx, u)
	case u.Scheme != "https" && u.Scheme != "http":
		return time.Time{}, nil
	}
	var auth registry.Authorize
	if place.host != "" {
		auth, err = l.client.Credentials(ctx, &url.URL{Scheme: "https", Host: place.host})
		if err != nil {
			return time.Time{}, err
		}
	}
	query := u.Query()
	u.RawQuery = without(query, "archive", "checksum").Encode()
	return l.client.Modified(ctx, u, auth)
}

// locate returns the location of a version of a module.
func (l *locator) locate(ctx context.Context, source addrs.ModuleSource, version string) (location, error) {
	found, err := l.places.Do(source.Address+" "+version, func() (location, error) {
		host, module, _ := strings.Cut(source.Address, "/")
		place, err := l.client.ModuleLocation(ctx, host, module, version)
		if err != nil {
			return location{}, err
		}
		parsed, err := addrs.ParseModuleSource(place.Address, false)
		if err == nil && parsed.Kind != addrs.RemoteModule {
			err = fmt.Errorf("the registry returned the location %q, which is not a valid package address",
				place.Address)
		}
		return location{address: parsed.Address, host: place.Host, source: source.Address, version: version,
			place: parsed.Subdir}, err
	})
	found.subdir = path.Join(found.place, source.Subdir)
	return found, err
}
