package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/tfdiags"
)

// versions asks the source for the versions of a provider.
func (in *installer) versions(ctx context.Context, p addrs.Provider) (sources.Versions, error) {
	list, err := in.Source.Versions(ctx, p)
	// The text of a NoProviderError already names the provider.
	if _, none := errors.AsType[*sources.NoProviderError](err); err != nil && !none {
		err = fmt.Errorf("could not resolve provider %s: %w", p.ForDisplay(), err)
	}
	return list, err
}

// patience is the time that an installation waits for a list of versions that it can do without.
const patience = 10 * time.Second

// ask asks the source of a package about its locked version. It returns the registry's warnings, and
// a warning if the version is no longer offered. It returns nothing if the source doesn't answer,
// because the package is installed all the same.
func (in *installer) ask(ctx context.Context, p addrs.Provider, v depsfile.Version) tfdiags.Diagnostics {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := in.versions(ctx, p)
	if err != nil {
		return nil
	}
	warnings := registryWarnings(p, list)
	if !slices.Contains(list.List, v) {
		warnings.Add(tfdiags.Warningf("Withdrawn provider release",
			"The lock file selects %s %s, which %s no longer offers. It may have been withdrawn because it is "+
				"faulty or unsafe. It was installed nevertheless, since its checksum is in the lock file. "+
				"\"tofu init -upgrade\" selects another release.", p.ForDisplay(), v, in.Source))
	}
	return warnings
}

// registryWarnings returns the warnings that a registry has sent about a provider.
func registryWarnings(p addrs.Provider, list sources.Versions) tfdiags.Diagnostics {
	var out tfdiags.Diagnostics
	for _, w := range list.Warnings {
		out.Add(tfdiags.Warningf("Additional provider information from registry",
			"The registry returned a warning about %s: %s", p.ForDisplay(), w))
	}
	return out
}
