package getmodules

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// A Fetcher puts the package of a registry or remote source into a directory that does not exist yet and gives the version that was
// chosen; "" where sources have none. The subdirectory that the source names is the caller's business.
type Fetcher func(ctx context.Context, req *configs.ModuleRequest, dir string) (version string, diags tfdiags.Diagnostics)

// Installer brings installed modules up to date while the configuration is loaded with its Resolver.
type Installer struct {
	DataDir string  // ".terraform" as a rule
	Upgrade bool    // fetch again even what is installed already
	Fetch   Fetcher // nil: only local sources work
	// Report is told of each module as it is found; fetched tells those that were fetched now. It may be nil.
	Report func(record Record, fetched bool)

	before, now Manifest
	packages    map[addrs.Module]string // the package directory that a module lies in; none for those outside of packages
}

// Resolver prepares an installation.
func (i *Installer) Resolver(ctx context.Context) (configs.Resolver, error) {
	before, err := ReadManifest(i.DataDir)
	if err != nil {
		return nil, err
	}
	i.before, i.now, i.packages = before, Manifest{}, map[addrs.Module]string{}
	return func(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
		if req.Source.Kind == 0 {
			return "", "", nil
		}
		record, fetched, diags := i.install(ctx, req)
		if diags.HasErrors() {
			return "", "", diags
		}
		i.now[req.Path] = record
		if i.Report != nil {
			i.Report(record, fetched)
		}
		return record.Dir, record.Version, diags
	}, nil
}

// Finish records what was installed, without what is not called any more. Root is the root module's directory.
func (i *Installer) Finish(root string) error {
	if len(i.now) == 0 && len(i.before) == 0 {
		return nil // a configuration without modules needs no manifest
	}
	i.now[addrs.RootModule] = Record{Dir: filepath.Clean(root)}
	return i.now.Write(i.DataDir)
}

func (i *Installer) install(ctx context.Context, req *configs.ModuleRequest) (Record, bool, tfdiags.Diagnostics) {
	record := Record{Key: req.Path, Source: req.Source.String()}
	if req.Source.Kind == addrs.LocalModule {
		return i.local(req, record)
	}
	dir := filepath.Join(i.DataDir, "modules", string(req.Path))
	if old, ok := i.before[req.Path]; ok && !i.Upgrade && stale(req, old) == nil && isDir(old.Dir) {
		i.packages[req.Path] = dir
		return old, false, nil
	}
	if i.Fetch == nil {
		return record, false, tfdiags.Diagnostics{tfdiags.Errorf("Unsupported module source", "Only modules in local directories can be installed here, not %q.", record.Source).At(req.Call.SourceRange)}
	}
	if err := os.RemoveAll(dir); err != nil {
		return record, false, tfdiags.Diagnostics{tfdiags.Errorf("Failed to remove old module", "%s can't be replaced: %s.", dir, err)}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return record, false, tfdiags.Diagnostics{tfdiags.Errorf("Failed to install module", "The directory of modules can't be made: %s.", err)}
	}
	version, diags := i.Fetch(ctx, req, dir)
	if diags.HasErrors() {
		return record, false, diags
	}
	i.packages[req.Path] = dir
	record.Version, record.Dir = version, filepath.Join(dir, filepath.FromSlash(req.Source.Subdir))
	if !isDir(record.Dir) {
		return record, true, append(diags, tfdiags.Errorf("Unreadable module subdirectory",
			"The package of %s has no directory %q.", req.Describe(), req.Source.Subdir).At(req.Call.SourceRange))
	}
	return record, true, diags
}

// local finds a directory relative to the caller's.
func (i *Installer) local(req *configs.ModuleRequest, record Record) (Record, bool, tfdiags.Diagnostics) {
	record.Dir = req.LocalDir()
	if pkg, ok := i.packages[req.Parent.Path]; ok {
		if !within(pkg, record.Dir) {
			return record, false, tfdiags.Diagnostics{tfdiags.Errorf("Local module path escapes module package",
				"The directory %q is outside of the package that the calling module is in. Within a package only its own directories can be used; give other modules an address of their own.",
				req.Source.Address).At(req.Call.SourceRange)}
		}
		i.packages[req.Path] = pkg
	}
	if !isDir(record.Dir) {
		return record, false, tfdiags.Diagnostics{tfdiags.Errorf("Unreadable module directory",
			"%s", fmt.Sprintf("The directory %s could not be read for %s.", record.Dir, req.Describe()))}
	}
	return record, false, nil
}

// within tells whether dir is pkg or lies below it.
func within(pkg, dir string) bool {
	rel, err := filepath.Rel(pkg, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
