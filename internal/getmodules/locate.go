package getmodules

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

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
	host            string // host whose credentials are sent with the request; may be ""
}

// errUnresolvable reports that no version of a module meets its constraints.
var errUnresolvable = errors.New("no version meets the constraints")

// choose returns the newest version that meets the constraints. odd lists the entries in the
// registry's list of versions that are not valid versions.
func (l *locator) choose(
	ctx context.Context, source addrs.ModuleSource, c depsfile.Constraints,
) (version string, odd []string, err error) {
	host, module, _ := strings.Cut(source.Address, "/")
	if !strings.Contains(host, ".") {
		return "", nil, fmt.Errorf("%q is not a module registry: host names contain a dot", host)
	}
	list, err := l.versions.Do(source.Address,
		func() (registry.ModuleVersions, error) { return l.client.ModuleVersions(ctx, host, module) })
	if errors.Is(err, registry.ErrNoModule) {
		err = fmt.Errorf("there is no module %s in the registry at %s", module, host)
	}
	if err != nil {
		return "", nil, err
	}
	v, ok := sources.Newest(list.List, depsfile.Acceptable(c).Has)
	if !ok {
		return "", list.Odd, fmt.Errorf("module %s at %s: %w", module, host, errUnresolvable)
	}
	return v.String(), list.Odd, nil
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
		return location{parsed.Address, parsed.Subdir, place.Host}, err
	})
	found.subdir = path.Join(found.subdir, source.Subdir)
	return found, err
}
