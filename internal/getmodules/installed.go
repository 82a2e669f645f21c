package getmodules

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/tfdiags"
)

// Installed returns a resolver for the modules installed in dir, which is ".terraform/modules". For
// a call that is not installed, or was installed with another source or version, the resolver
// returns an error that tells the user to run init. A call with an unknown source is the one that is
// installed. See readManifest for base.
func Installed(dir, base string) (configs.Resolver, error) {
	manifest, err := readManifest(dir, base)
	if err != nil {
		return nil, manifestDamaged(err)
	}
	return func(_ context.Context, req *configs.ModuleRequest) (found configs.ResolvedModule, err error) {
		if req.Source.Kind == 0 && !req.Unknown {
			return found, nil // errors have been reported already
		}
		r, ok := manifest[key(req)]
		switch {
		case !ok:
			return found, tfdiags.Errorf("Module not installed",
				"The module is not installed in this directory yet. %s", req.RunInit()).At(req.Call.Range)
		case r.Source != req.Source.String() && !req.Unknown:
			return found, tfdiags.Errorf("Module source has changed",
				"The module was installed from %q, which is no longer its source. %s", r.Source,
				req.RunInit()).At(req.Call.SourceRange)
		case !r.meets(req.Constraints):
			return found, tfdiags.Errorf("Module version requirements have changed",
				"Version %s is installed, which does not meet the constraint here. %s", r.Version,
				req.RunInit()).At(req.VersionRange)
		}
		dir := filepath.FromSlash(r.Dir)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return found, tfdiags.Errorf("Module not installed",
				"The directory %s of the module can't be read. %s", r.Dir, req.RunInit()).At(req.Call.Range)
		}
		return configs.ResolvedModule{Dir: dir, Version: r.Version}, nil
	}, nil
}

// InstalledOrLocal is like Installed, but also resolves local modules that are not installed,
// because their files are there. It is for commands that neither change objects nor need init.
func InstalledOrLocal(dir, base string) (configs.Resolver, error) {
	installed, err := Installed(dir, base)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
		if req.Source.Kind != addrs.LocalModule {
			return installed(ctx, req)
		}
		local, err := localDir(req)
		return configs.ResolvedModule{Dir: filepath.FromSlash(local)}, err
	}, nil
}

// localDir returns the directory of a local module, with slashes. It returns an error if it isn't
// there.
func localDir(req *configs.ModuleRequest) (string, error) {
	dir := filepath.ToSlash(filepath.Clean(req.LocalDir()))
	info, err := os.Stat(filepath.FromSlash(dir))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", tfdiags.Errorf("Unreadable module directory",
			"The directory %s, which is the source of %s, can't be read: %s.", dir, req.Describe(), err).
			At(req.Call.SourceRange)
	case err != nil || !info.IsDir():
		return "", tfdiags.Errorf("Unreadable module directory",
			"There is no directory %s, which is the source of %s.", dir, req.Describe()).At(req.Call.SourceRange)
	}
	return dir, nil
}

func manifestDamaged(err error) tfdiags.Diagnostic {
	return tfdiags.Errorf("Failed to read module manifest file",
		"%s Remove the file and run \"tofu init\" to recreate it.", tfdiags.Sentence(err))
}

// key returns the key of a call in the manifest.
func key(req *configs.ModuleRequest) string { return strings.Join(req.Path.Names(), ".") }

func (r Record) meets(c depsfile.Constraints) bool {
	if len(c) == 0 {
		return true
	}
	v, err := depsfile.ParseVersion(r.Version)
	return err == nil && depsfile.Acceptable(c).Has(v)
}
