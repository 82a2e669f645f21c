package getmodules

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/registry"
)

// Copier copies module packages to a directory that users keep. It copies each package once and
// doesn't fetch packages again that are already in the directory. A Copier must not be used
// concurrently.
type Copier struct {
	dir     string
	fetcher *fetcher
	locator *locator
	names   map[string]string // package addresses by directory name
	subdirs map[string]string // subdirectories that redirects have added, by package directory
}

// NewCopier returns a Copier that copies to dir, which need not exist.
func NewCopier(client *registry.Client, dir string) *Copier {
	return &Copier{dir: dir, fetcher: newFetcher(client), locator: &locator{client: client},
		names: make(map[string]string), subdirs: make(map[string]string)}
}

// Copy copies the package of a remote module and returns the module's directory in it. version is
// the version constraint of a module in a registry; "" accepts every version.
func (c *Copier) Copy(ctx context.Context, source, version string) (module string, err error) {
	src, err := addrs.ParseModuleSource(source, version != "")
	if err != nil {
		return "", err
	}
	place := location{address: src.Address, subdir: src.Subdir}
	chosen := ""
	switch src.Kind {
	case addrs.LocalModule:
		return "", fmt.Errorf("%s is a local directory", source)
	case addrs.RegistryModule:
		allowed, err := depsfile.ParseConstraints(cmp.Or(version, ">= 0.0.0"))
		if err != nil {
			return "", err
		}
		chosen, _, err = c.locator.choose(ctx, src, allowed)
		if err != nil {
			return "", err
		}
		place, err = c.locator.locate(ctx, src, chosen)
		if err != nil {
			return "", err
		}
	}
	dir := filepath.Join(c.dir, c.name(src.Address, place.address, chosen))
	if _, err := os.Stat(dir); err != nil {
		if err := c.fetch(ctx, place, dir); err != nil {
			return "", err
		}
	}
	subdir := path.Join(c.subdirs[dir], place.subdir)
	if subdir == "" {
		return dir, nil
	}
	dir, err = within(dir, subdir)
	if err != nil {
		return "", fmt.Errorf("in its package, %w", err)
	}
	return dir, nil
}

// fetch fetches the package at place to the directory dir.
func (c *Copier) fetch(ctx context.Context, place location, dir string) error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	got, err := c.fetcher.into(ctx, request{address: place.address, host: place.host}, dir)
	if err != nil {
		return err
	}
	c.subdirs[dir] = got.subdir
	for _, private := range []string{".git", ".hg"} {
		if err := os.RemoveAll(filepath.Join(dir, private)); err != nil {
			return err
		}
	}
	return nil
}

var (
	refInAddress = regexp.MustCompile(`[?&]ref=([^&]+)`)
	notInNames   = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

// name returns the name of a package's directory. It consists of the last part of the package's
// address and the version or git reference. If another package already has that name, it returns a
// different one.
func (c *Copier) name(source, address, version string) string {
	base, _, _ := strings.Cut(source, "?")
	parts := strings.Split(strings.TrimSuffix(strings.TrimRight(base, "/"), ".git"), "/")
	if version != "" && len(parts) > 2 { // the address is HOST/NAMESPACE/NAME/SYSTEM
		parts = []string{strings.Join(parts[len(parts)-3:], "-")}
	}
	name := parts[len(parts)-1]
	if ref := refInAddress.FindStringSubmatch(source); ref != nil {
		version = ref[1]
	}
	if version != "" {
		name += "-" + version
	}
	name = strings.Trim(notInNames.ReplaceAllString(name, "-"), ".-")
	for n, first := 2, name; c.names[name] != "" && c.names[name] != address; n++ {
		name = fmt.Sprintf("%s-%d", first, n)
	}
	c.names[name] = address
	return name
}
