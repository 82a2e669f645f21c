package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/tfdiags"
)

// Ensure installs every required provider and returns the new locks. On errors it returns nil
// locks, and the lock file must not be changed. Locks that are Equal to prev need not be written.
func Ensure(
	ctx context.Context, reqs depsfile.Requirements, prev *depsfile.Locks, opts *Options, warn tfdiags.Sink,
) (*depsfile.Locks, error) {
	prev = adopt(reqs, prev, warn)
	in := newInstaller(prev, opts)
	providers, err := in.installable(reqs)
	if err != nil {
		return nil, err
	}
	for _, p := range reqs.Providers() {
		if p.IsBuiltin() {
			in.notify(Builtin{p})
		}
	}
	results := make([]result, len(providers))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, p := range providers {
		group.Go(func() error {
			results[i] = in.ensure(ctx, p, reqs[p])
			return nil
		})
	}
	_ = group.Wait() // the errors are in the results
	locks := make(map[addrs.Provider]depsfile.Lock)
	for p := range reqs {
		if lock, ok := prev.Provider(p); ok && in.Unmanaged[p] {
			locks[p] = lock
		}
	}
	var incomplete []string
	var errs tfdiags.Diagnostics
	for i, p := range providers {
		if in.Overridden[p] && results[i].err != nil {
			if lock, ok := prev.Provider(p); ok {
				locks[p] = lock
			}
			continue
		}
		locks[p] = results[i].lock
		for _, w := range results[i].warnings {
			warn(w)
		}
		errs = errs.AppendError(results[i].err)
		if results[i].incomplete {
			incomplete = append(incomplete, "  - "+p.ForDisplay())
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	warnAboutClashes(reqs, warn)
	if len(incomplete) > 0 {
		warn(incompleteWarning(incomplete, in.Platform))
	}
	return depsfile.NewLocks(locks), nil
}

// installable returns the providers to install, with an error for each that can't be installed.
func (in *installer) installable(reqs depsfile.Requirements) ([]addrs.Provider, error) {
	var errs tfdiags.Diagnostics
	var providers []addrs.Provider
	for _, p := range reqs.Providers() {
		switch {
		case p.IsBuiltin():
			if err := checkBuiltin(p, reqs[p]); err != nil {
				errs = errs.Append(tfdiags.Errorf("Invalid built-in provider", "%s", tfdiags.Sentence(err)))
			}
		case p.Namespace == "-":
			errs = errs.Append(tfdiags.Errorf("Invalid legacy provider address",
				"The state or configuration names the provider %q as Terraform 0.12 did. "+
					"Replace the address in the state with \"tofu state replace-provider\", and in the "+
					"configuration in required_providers, before you continue.", p))
		case in.Unmanaged[p]:
		default:
			providers = append(providers, p)
		}
	}
	return providers, errs.Err()
}

func checkBuiltin(p addrs.Provider, c depsfile.Constraints) error {
	if p != addrs.BuiltinTerraform {
		return fmt.Errorf("there is no built-in provider %s; the only one is %s", p, addrs.BuiltinTerraform)
	}
	if len(c) > 0 {
		return fmt.Errorf("provider %s is built in and has no versions; remove the version constraints %q", p,
			depsfile.ConstraintsString(c))
	}
	return nil
}

// adopt adds locks for required providers of the default registry's hashicorp namespace that are
// not locked yet. If the provider with the same name in Terraform's registry is locked and no
// longer required, adopt locks the same version without hashes, because the default registry has
// the same releases but builds its own packages.
func adopt(reqs depsfile.Requirements, prev *depsfile.Locks, warn tfdiags.Sink) *depsfile.Locks {
	var adopted []string
	for _, p := range reqs.Providers() {
		old := p
		old.Host = addrs.LegacyDefaultHost
		if p.Host != addrs.DefaultHost || p.Namespace != "hashicorp" {
			continue
		}
		lock, ok := prev.Provider(old)
		_, have := prev.Provider(p)
		_, needOld := reqs[old]
		if !ok || have || needOld {
			continue
		}
		prev = prev.With(p, depsfile.Lock{Version: lock.Version, Constraints: lock.Constraints})
		adopted = append(adopted, fmt.Sprintf("  - %s => %s", old, p))
	}
	if len(adopted) > 0 {
		warn(tfdiags.Warningf("Dependency lock file entries automatically updated",
			"The lock file was written by another program, which takes these providers from its own registry:\n%s\n\n"+
				"The same versions are selected from %s, and the checksums of its packages replace the previous ones.",
			strings.Join(adopted, "\n"), addrs.DefaultHost))
	}
	return prev
}

// warnAboutClashes warns if a provider is required in both the hashicorp and the opentofu
// namespace, because these contain the same providers.
func warnAboutClashes(reqs depsfile.Requirements, warn tfdiags.Sink) {
	for _, p := range reqs.Providers() {
		other := p
		other.Namespace = "opentofu"
		if _, both := reqs[other]; both && p.Host == addrs.DefaultHost && p.Namespace == "hashicorp" {
			warn(tfdiags.Warningf("Potential provider misconfiguration",
				"Both %s and %s are required. They are the same provider under two names; probably a module "+
					"has a missing or inconsistent required_providers entry. \"tofu providers\" shows which module "+
					"requires which.",
				p.ForDisplay(), other.ForDisplay()))
		}
	}
}

func incompleteWarning(providers []string, platform depsfile.Platform) tfdiags.Diagnostic {
	return tfdiags.Warningf("Incomplete lock file information for providers",
		"The installed packages are the only ones of these providers with known checksums:\n%s\n\nThe lock file "+
			"therefore has checksums for %s only, and the providers can't be installed from it on other "+
			"platforms. To add checksums for another platform, run:\n  tofu providers lock "+
			"-platform=%s\n(where %s is the platform to add)",
		strings.Join(providers, "\n"), platform, platform, platform)
}

// result is the outcome for one provider.
type result struct {
	lock       depsfile.Lock
	incomplete bool
	warnings   tfdiags.Diagnostics
	err        error
}

func failed(summary string, err error) result {
	return result{err: problem(summary, err)}
}

// problem returns the diagnostic for an error that names the provider.
func problem(summary string, err error) tfdiags.Diagnostic {
	return tfdiags.Errorf(summary, "%s", tfdiags.Sentence(err))
}

// ensure selects a version of one provider and installs it.
func (in *installer) ensure(ctx context.Context, p addrs.Provider, c depsfile.Constraints) result {
	const query, install = "Failed to query available provider packages", "Failed to install provider"
	prev, locked := in.locks.Provider(p)
	reuse := locked && !in.Upgrade
	version := prev.Version
	var said notice
	if reuse {
		in.notify(Reusing{p})
		if !depsfile.Acceptable(c).Has(prev.Version) {
			return failed(query, fmt.Errorf("locked provider %s %s doesn't meet the version constraints %q%s; "+
				"run \"tofu init -upgrade\" to select another version",
				p.ForDisplay(), prev.Version, depsfile.ConstraintsString(c), in.at(p)))
		}
	} else {
		in.notify(Finding{p, depsfile.ConstraintsString(c)})
		list, err := in.versions(ctx, p)
		if _, none := errors.AsType[*sources.NoProviderError](err); err != nil && !none {
			return failed("Failed to resolve provider packages", err)
		} else if err != nil {
			return result{err: tfdiags.Errorf(query, "%s\n\nAll modules should specify their required_providers, so "+
				"that they get the correct providers wherever they are called. To see which modules depend on %s, run "+
				"the following command:\n    tofu providers", tfdiags.Sentence(err), p.ForDisplay())}
		}
		version, err = in.choose(ctx, p, c, list.List, prev.Version)
		if err != nil {
			return failed(query, err)
		}
		said = newNotice(list, version)
		in.record(p, version, said)
	}
	done, ok := result{}, false
	var known []depsfile.Hash
	if locked && prev.Version == version {
		known = depsfile.Known(prev.Hashes)
		done, ok = in.atHand(ctx, p, prev)
		if ok && reuse {
			said = in.remind(ctx, p, version)
		}
	}
	if !ok {
		var err error
		done, err = in.install(ctx, p, version, known)
		if err != nil {
			err = explain(ctx, err, reuse)
			// The text of a NoPackageError already names the provider.
			if _, none := errors.AsType[*sources.NoPackageError](err); !none {
				err = fmt.Errorf("installing provider %s %s: %w", p.ForDisplay(), version, err)
			}
			return failed(install, err)
		}
		if reuse {
			said = in.ask(ctx, p, version)
		}
	}
	done.lock.Constraints = c
	done.warnings = append(done.warnings, said.warnings(p, version, in.Source)...)
	return done
}

// explain adds advice to the error if a locked package doesn't exist. If ctx has ended, it returns
// an error about the interruption instead.
func explain(ctx context.Context, err error, locked bool) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the installation was interrupted")
	}
	if _, none := errors.AsType[*sources.NoPackageError](err); !locked || !none {
		return err
	}
	return fmt.Errorf("%w; the lock file selects this version, which may have been withdrawn; run \"tofu init "+
		"-upgrade\" to select another one", err)
}

// choose returns the newest acceptable version that is old enough. The locked version is: it has been
// accepted before.
func (in *installer) choose(
	ctx context.Context, p addrs.Provider, c depsfile.Constraints, list []depsfile.Version, locked depsfile.Version,
) (depsfile.Version, error) {
	acceptable := depsfile.Acceptable(c)
	if acceptable.Exactly(depsfile.Version{}) {
		return depsfile.Version{}, fmt.Errorf(
			"provider %s is required in version 0.0.0, which denotes an unreleased development build", p.ForDisplay())
	}
	v, young, ok, err := sources.OldEnough(list, acceptable.Has, func(v depsfile.Version) (sources.Age, error) {
		if v == locked {
			return sources.Age{}, nil
		}
		return in.Source.Age(ctx, p, v)
	})
	switch {
	case err != nil:
		return v, fmt.Errorf("selecting a version of provider %s: %w", p.ForDisplay(), err)
	case ok:
		for _, y := range young {
			in.notify(PassedOver{p, y})
		}
		return v, nil
	case len(young) > 0:
		return v, fmt.Errorf("no release of provider %s that meets the version constraints %q is old enough: %s. Wait, "+
			"or set a shorter minimum_release_age for its source in the CLI configuration", p.ForDisplay(),
			depsfile.ConstraintsString(c), sources.NoneOldEnough(young))
	case len(c) == 0:
		return v, fmt.Errorf("provider %s has no releases, only prereleases, which must be required by their "+
			"exact version", p.ForDisplay())
	}
	return v, fmt.Errorf("no release of provider %s meets the version constraints %q%s: %s", p.ForDisplay(),
		depsfile.ConstraintsString(c), in.at(p), depsfile.ThereAre(list))
}

// at returns where the constraints of a provider are, after a space and in parentheses.
func (in *installer) at(p addrs.Provider) string {
	if in.Where == nil {
		return ""
	}
	if places := in.Where(p); places != "" {
		return " (" + places + ")"
	}
	return ""
}
