package install

import (
	"fmt"
	"os"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/tfdiags"
)

// Check returns an error unless every required provider is locked in a version that meets its
// constraints, and the package of this version is installed. Commands call it before they use
// providers. Check doesn't verify the packages: [Packages] verifies each package on first use.
// elsewhere holds providers that need no lock and no package, because they are not installed in
// dir. initCommand is the command that installs providers, for advice.
func Check(
	reqs depsfile.Requirements, locks *depsfile.Locks, dir string, elsewhere map[addrs.Provider]bool,
	initCommand string,
) error {
	var errs tfdiags.Diagnostics
	for _, p := range reqs.Providers() {
		if p.IsBuiltin() {
			if err := checkBuiltin(p, reqs[p]); err != nil {
				errs = errs.Append(tfdiags.Errorf("Missing required provider", "%s", tfdiags.Sentence(err)))
			}
		}
	}
	if err := tfdiags.Join(errs.Err(), inconsistencies(reqs, locks, elsewhere, initCommand)); err != nil {
		return err
	}
	var missing []string
	for _, p := range reqs.Providers() {
		if p.IsBuiltin() || elsewhere[p] {
			continue
		}
		lock, _ := locks.Provider(p)
		info, err := os.Stat(pkgstore.PackageDir(dir, p, lock.Version, depsfile.CurrentPlatform()))
		if err != nil || !info.IsDir() {
			missing = append(missing, fmt.Sprintf("  - %s: there is no package for %s %s cached in %s", p, p,
				lock.Version, dir))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	list := strings.Join(missing, "\n")
	out := tfdiags.Errorf("Required plugins are not installed",
		"The lock file selects providers that are not installed here:\n%s\n\nInstall them with:\n  %s", list, initCommand)
	out.Extra = asValidated(tfdiags.Errorf("missing or corrupted provider plugins:\n"+list,
		"Install them with:\n  %s", initCommand).List())
	return out
}

// asValidated is the Extra of a diagnostic of Check. It says the same in the form that OpenTofu's
// validate uses. Programs such as pre-commit hooks look for its summaries and then run init.
type asValidated tfdiags.Diagnostics

// ForValidate returns an error of [Check] in the form for the validate command.
func ForValidate(err error) error {
	return tfdiags.MapError(err, func(list tfdiags.Diagnostics) (out tfdiags.Diagnostics) {
		for _, d := range list {
			if form, ok := d.Extra.(asValidated); ok {
				out = append(out, form...)
			} else {
				out = append(out, d)
			}
		}
		return out
	})
}

// inconsistencies returns an error if a required provider is not locked, or is locked in a version
// that does not meet its constraints.
func inconsistencies(
	reqs depsfile.Requirements, locks *depsfile.Locks, elsewhere map[addrs.Provider]bool, initCommand string,
) error {
	var found []string
	var unlocked asValidated
	outdated := false // whether a locked version does not meet its constraints
	for _, p := range reqs.Providers() {
		if p.IsBuiltin() || elsewhere[p] {
			continue
		}
		if lock, ok := locks.Provider(p); !ok {
			found = append(found, fmt.Sprintf("  - provider %s: the configuration requires it, but the lock "+
				"file has no version of it", p))
			unlocked = append(unlocked, tfdiags.Errorf("Missing required provider", "The configuration requires the "+
				"provider %s, but the lock file has no version of it. Select and install one with:\n  %s", p, initCommand))
		} else if len(reqs[p]) > 0 && !depsfile.Acceptable(reqs[p]).Has(lock.Version) { // without constraints, also a pre-release
			outdated = true
			found = append(found, fmt.Sprintf("  - provider %s: the lock file selects %s, which does not meet "+
				"the constraints %q", p, lock.Version, depsfile.ConstraintsString(reqs[p])))
		}
	}
	if len(found) == 0 {
		return nil
	}
	problem := "The lock file does not match the configuration:"
	advice := "Select and install the missing versions with:\n  " + initCommand
	switch {
	case locks.Empty():
		problem = "The directory is not initialized: no versions of providers are selected yet."
		advice = "Select and install them with:\n  " + initCommand
	case outdated:
		advice = "Select other versions with:\n  " + initCommand + " -upgrade"
	}
	out := tfdiags.Errorf("Inconsistent dependency lock file",
		"%s\n%s\n\n%s", problem, strings.Join(found, "\n"), advice)
	if !outdated {
		out.Extra = unlocked
	}
	return out
}
