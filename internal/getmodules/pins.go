package getmodules

import (
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/httpclient"
)

// pins holds the pins in the lock file and the pins of the packages used in this run.
type pins struct {
	known  map[pinKey]depsfile.ModuleLock // pins from the file
	chosen map[string][]depsfile.Version  // pinned versions of each registry package
	used   map[pinKey]depsfile.ModuleLock
	intact map[string]bool // installed packages that match their pin, by directory
}

type pinKey struct{ source, version string }

func newPins(locks depsfile.ModuleLocks) *pins {
	p := &pins{known: make(map[pinKey]depsfile.ModuleLock), chosen: make(map[string][]depsfile.Version),
		used: make(map[pinKey]depsfile.ModuleLock), intact: make(map[string]bool)}
	for _, lock := range locks {
		p.known[pinKey{lock.Source, lock.Version}] = lock
		if v, err := depsfile.ParseVersion(lock.Version); err == nil {
			p.chosen[lock.Source] = append(p.chosen[lock.Source], v)
		}
	}
	return p
}

// Pins returns the pins of the packages that the configuration uses, to be saved after Finish. If
// packages are not pinned, it returns nil.
func (in *Installer) Pins() depsfile.ModuleLocks {
	if in.pins == nil {
		return nil
	}
	var locks depsfile.ModuleLocks
	for _, lock := range in.pins.used {
		locks = append(locks, lock)
	}
	return locks.Sorted()
}

// pinFor returns the pin that a package must match. It returns nil if packages are not pinned. If
// the package has no pin yet, the result has no revision and no hash.
func (p *pins) pinFor(source, version string) *depsfile.ModuleLock {
	if p == nil {
		return nil
	}
	key := pinKey{withoutSecrets(source), version}
	if lock, ok := p.used[key]; ok {
		return &lock // every call must get the same package as the first one
	}
	if lock, ok := p.known[key]; ok {
		return &lock
	}
	return &depsfile.ModuleLock{Source: key.source, Version: version}
}

// version returns the newest pinned version of a registry package that meets the constraints.
func (p *pins) version(source string, c depsfile.Constraints) (depsfile.Version, bool) {
	if p == nil {
		return depsfile.Version{}, false
	}
	return sources.Newest(p.chosen[source], depsfile.Acceptable(c).Has)
}

// use records the pin of an installed package. It ignores local directories, because they are only
// linked to and may change.
func (p *pins) use(pin *depsfile.ModuleLock, home string) {
	if pin == nil || isLink(home) {
		return
	}
	p.used[pinKey{pin.Source, pin.Version}] = *pin
	p.intact[home] = true
}

// matches reports whether an installed package matches its pin. It returns true if the package
// doesn't need a pin.
func (p *pins) matches(pin *depsfile.ModuleLock, home string) bool {
	if pin == nil || p.intact[home] || isLink(home) {
		return true
	}
	h, err := HashTree(home)
	return err == nil && pin.Hash == h
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// withoutSecrets returns an address without secrets, for pins and messages. Pins must not contain
// secrets, because files with pins are meant to be shared.
func withoutSecrets(address string) string {
	_, rest := splitMethod(address)
	method := strings.TrimSuffix(address, rest)
	u, err := url.Parse(rest)
	if err != nil {
		return address
	}
	secret := false
	query := u.Query()
	for _, name := range []string{"sshkey", "aws_access_key_id", "aws_access_key_secret", "aws_access_token"} {
		secret = secret || query.Has(name)
		query.Del(name)
	}
	if secret {
		u.RawQuery = query.Encode()
	}
	if _, ok := u.User.Password(); ok || u.User != nil && u.Scheme != "ssh" {
		u.User, secret = nil, true
	}
	if !secret {
		return address
	}
	return method + u.String()
}

// showable returns an address for messages. It removes the same secrets as withoutSecrets and, in
// addition, the values of query parameters that look like secrets.
func showable(address string) string {
	address = withoutSecrets(address)
	_, rest := splitMethod(address)
	method := strings.TrimSuffix(address, rest)
	if u, err := url.Parse(rest); err == nil && u.RawQuery != "" {
		return method + httpclient.Redact(u)
	}
	return address
}

// HashTree returns the hash of all files of a package, computed like the "h1:" hash of a provider
// package. A symbolic link is hashed as a file that contains the link's target. The hash is "" if
// dir is a link to a local directory.
func HashTree(dir string) (depsfile.Hash, error) {
	if isLink(dir) {
		return "", nil
	}
	var names []string
	links := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if d.Type()&fs.ModeSymlink != 0 {
			links[name], err = os.Readlink(path)
			if err != nil {
				return err
			}
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hashing the package: %w", err)
	}
	slices.Sort(names)
	h, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		if target, ok := links[name]; ok {
			return io.NopCloser(strings.NewReader("link " + filepath.ToSlash(target))), nil
		}
		return os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	})
	return depsfile.Hash(h), err
}
