package terragrunt

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/getmodules"
)

// place sets the directory of the root module. It returns false if the unit has no directory with
// configuration.
func (im *importer) place(r *root) bool {
	source, version := "", ""
	var where hcl.Range
	for _, c := range r.layers {
		for _, b := range c.blocks("terraform") {
			for name, into := range map[string]*string{"source": &source, "version": &version} {
				text, err := c.text(b.Body, name)
				if err != nil {
					im.leave(r.name, at(b, name), "the whole unit: its %s: %s", name, im.reason(err, at(b, name)))
					return false
				}
				if text != "" {
					*into, where = text, at(b, name)
				}
			}
		}
	}
	if source == "" {
		r.dir = r.unit.source
		return im.parser.IsModuleDir(r.dir) // a unit file without configuration beside it is only included by others
	}
	dir, err := im.sourceDir(r.unit, source, version)
	switch {
	case err != nil:
		im.leave(r.name, where, "the whole unit: its source %q can't be fetched: %s", getmodules.WithoutSecrets(source), im.reason(err, where))
		return false
	case dir == "":
		im.leave(r.name, where, "the whole unit: its source %q is remote: copy it with -fetch=.modules",
			getmodules.WithoutSecrets(source))
		return false
	case !im.parser.IsModuleDir(dir):
		im.leave(r.name, where, "the whole unit: its source %s has no configuration", im.relative(dir))
		return false
	}
	r.dir = dir
	return true
}

// sourceDir returns the directory of the source that a unit names. It returns "" if the source is
// remote and Options.Fetch is nil.
func (im *importer) sourceDir(u *unit, source, version string) (string, error) {
	if dir := localDir(u, source); dir != "" || im.opts.Fetch == nil {
		return dir, nil
	}
	source, version = registrySource(source, version)
	return im.opts.Fetch(source, version)
}

// localDir returns the directory of a local source that a unit names, or "" if the source is
// remote. A double slash in a local source has no effect on the directory: it only determines how
// much Terragrunt copies.
func localDir(u *unit, source string) string {
	local := filepath.FromSlash(strings.ReplaceAll(source, "//", "/"))
	if filepath.IsAbs(local) {
		return filepath.Clean(local)
	}
	for _, base := range []string{u.dir, u.source} {
		dir := filepath.Join(base, local)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	if strings.HasPrefix(local, ".") {
		return filepath.Join(u.source, local)
	}
	return ""
}

// registrySource returns a source in the form of a module block, and its version. For a module in a
// registry, Terragrunt writes tfr://HOST/NAMESPACE/NAME/SYSTEM//DIR?version=VERSION. Without HOST
// it means the default registry.
func registrySource(source, version string) (string, string) {
	rest, ok := strings.CutPrefix(source, "tfr://")
	if !ok {
		return source, version
	}
	rest, query, _ := strings.Cut(rest, "?")
	if values, err := url.ParseQuery(query); err == nil && values.Get("version") != "" {
		version = values.Get("version")
	}
	return strings.TrimPrefix(rest, "/"), version
}
