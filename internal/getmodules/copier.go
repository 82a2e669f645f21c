package getmodules

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/depsfile"
	"tofu/internal/registry"
)

// Copier copies module packages to a directory that users keep. It copies each package once. The
// file packages.json in the directory lists the packages, so that later runs use them again. A
// Copier must not be used concurrently.
type Copier struct {
	dir     string
	fetcher *fetcher
	locator *locator
	copies  map[string]packageCopy // by directory name; nil until the list is read
}

// packageCopy describes the package in a directory.
type packageCopy struct {
	Source  string `json:"source"`
	Version string `json:"version,omitempty"` // version of a module from a registry
	// Subdir is the subdirectory that a redirect has added to the location, "" for none.
	Subdir string `json:"subdirectory,omitempty"`
}

// copiesFile is the name of the file that lists the packages in a Copier's directory.
const copiesFile = "packages.json"

// HasCopies reports whether a Copier has copied packages to a directory.
func HasCopies(dir string) bool {
	var copies map[string]packageCopy
	text, err := atomicfile.Read(filepath.Join(dir, copiesFile))
	if err != nil || json.Unmarshal(text, &copies) != nil {
		return false
	}
	for _, c := range copies {
		if c.Source == "" {
			return false
		}
	}
	return len(copies) > 0
}

// NewCopier returns a Copier that copies to dir, which need not exist.
func NewCopier(client *registry.Client, dir string) *Copier {
	return &Copier{dir: dir, fetcher: newFetcher(client), locator: &locator{client: client}}
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
		found, err := c.locator.choose(ctx, src, allowed)
		if err != nil {
			return "", err
		}
		chosen = found.version
		place, err = c.locator.locate(ctx, src, chosen)
		if err != nil {
			return "", err
		}
	}
	if err := c.readCopies(); err != nil {
		return "", err
	}
	address := WithoutSecrets(src.Address)
	name := c.name(address, chosen)
	dir := filepath.Join(c.dir, name)
	if _, known := c.copies[name]; !known {
		if err := c.fetch(ctx, address, chosen, place, name); err != nil {
			return "", err
		}
	}
	subdir := path.Join(c.copies[name].Subdir, place.subdir)
	if subdir == "" {
		return dir, nil
	}
	dir, err = within(dir, subdir)
	if err != nil {
		return "", fmt.Errorf("in its package, %w", err)
	}
	return dir, nil
}

// readCopies reads the list of packages that earlier runs have copied and that are still there.
func (c *Copier) readCopies() error {
	if c.copies != nil {
		return nil
	}
	file, copies := filepath.Join(c.dir, copiesFile), map[string]packageCopy{}
	data, err := atomicfile.Read(file)
	if err == nil {
		if err = json.Unmarshal(data, &copies); err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the list of copied modules: %w", err)
	}
	maps.DeleteFunc(copies, func(name string, _ packageCopy) bool {
		_, err := os.Stat(filepath.Join(c.dir, filepath.Base(name)))
		return err != nil
	})
	c.copies = copies
	return nil
}

// fetch fetches the package at place to the directory with the given name, and adds it to the list.
func (c *Copier) fetch(ctx context.Context, source, version string, place location, name string) error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	dir := filepath.Join(c.dir, name)
	got, err := c.fetcher.into(ctx, request{location: place}, dir)
	if err != nil {
		return err
	}
	for _, private := range []string{".git", ".hg"} {
		if err := os.RemoveAll(filepath.Join(dir, private)); err != nil {
			return err
		}
	}
	c.copies[name] = packageCopy{source, version, got.subdir}
	list, err := json.MarshalIndent(c.copies, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(c.dir, copiesFile), append(list, '\n'), 0o644)
}

// secretInAddress matches the user and password of a web address, and the SSH key in a query.
var secretInAddress = regexp.MustCompile(`(https?://)[^/@?]*@|([?&]sshkey=)[^&]*`)

// WithoutSecrets returns the address of a package without credentials, for files and messages.
func WithoutSecrets(address string) string { return secretInAddress.ReplaceAllString(address, "$1$2") }

var (
	refInAddress = regexp.MustCompile(`[?&]ref=([^&]+)`)
	notInNames   = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

// name returns the name of a package's directory. It consists of the last part of the package's
// address and the version or git reference. If another package, or a directory of the user, already
// has that name, it returns a different one.
func (c *Copier) name(source, version string) string {
	base, _, _ := strings.Cut(source, "?")
	parts := strings.Split(strings.TrimSuffix(strings.TrimRight(base, "/"), ".git"), "/")
	if version != "" && len(parts) > 2 { // the address is HOST/NAMESPACE/NAME/SYSTEM
		parts = []string{strings.Join(parts[len(parts)-3:], "-")}
	}
	name, suffix := parts[len(parts)-1], version
	if ref := refInAddress.FindStringSubmatch(source); ref != nil {
		suffix = ref[1]
	}
	if suffix != "" {
		name += "-" + suffix
	}
	name = strings.Trim(notInNames.ReplaceAllString(name, "-"), ".-")
	for n, first := 2, name; c.taken(name, source, version); n++ {
		name = fmt.Sprintf("%s-%d", first, n)
	}
	return name
}

// taken reports whether the directory name belongs to something other than the package.
func (c *Copier) taken(name, source, version string) bool {
	if other, known := c.copies[name]; known {
		return other.Source != source || other.Version != version
	}
	_, err := os.Stat(filepath.Join(c.dir, name))
	return err == nil
}
