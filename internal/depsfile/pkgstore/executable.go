package pkgstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
)

// PackageDir returns the directory of a package below a directory of installed packages
// (.terraform/providers, a plugin cache or an unpacked mirror).
func PackageDir(root string, p addrs.Provider, v depsfile.Version, platform depsfile.Platform) string {
	return filepath.Join(root, p.DisplayHost(), p.Namespace, p.Type, v.String(), platform.String())
}

// Executable returns the path of the provider's program in an unpacked package: a file named
// terraform-provider-TYPE, which may be followed by an underscore or a dot and more text.
func Executable(dir string, p addrs.Provider) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("looking for the provider's program: %w", err)
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), "terraform-provider-"+p.Type)
		if !ok || rest != "" && rest[0] != '_' && rest[0] != '.' {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("the package in %s has no file named terraform-provider-%s", dir, p.Type)
}
