package command

import (
	"fmt"
	"strings"

	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/getmodules"
	"tofu/internal/terminal"
)

// packageReport prints a line for each step of installing modules and providers.
type packageReport struct {
	term *terminal.Terminal
	// note is called with the name and version of each package that is installed. It may be nil.
	note func(what string)
}

func (r *packageReport) installed(what string) {
	if r.note != nil {
		r.note(what)
	}
}

// module prints an event of installing a module.
func (r *packageReport) module(e getmodules.Event) {
	switch e := e.(type) {
	case getmodules.InPlace:
		r.term.Say("- %s in %s", e.Key, e.Dir)
	case getmodules.PassedOver:
		r.term.Say("- Passing over %s: %s", e.Source, e.PassedOver)
	case getmodules.Changed:
		r.term.Say("The files in %s are not those that %s pins for %s; they are fetched again.", e.Dir,
			depsfile.ModulesFileName, e.Key)
	case getmodules.Downloading:
		r.installed(strings.TrimSpace(fmt.Sprint(e.Source, " ", e.Version)))
		if e.Version != "" {
			r.term.Say("Downloading %s %s for %s...", e.Source, e.Version, e.Key)
		} else {
			r.term.Say("Downloading %s for %s...", e.Source, e.Key)
		}
	}
}

// provider prints an event of installing a provider.
func (r *packageReport) provider(e install.Event) {
	switch e := e.(type) {
	case install.Builtin:
		r.term.Say("- %s is part of tofu", e.Provider.ForDisplay())
	case install.Reusing:
		r.term.Say("- Reusing the version of %s in the lock file", e.Provider.ForDisplay())
	case install.Finding:
		if e.Constraints == "" {
			r.term.Say("- Finding the latest version of %s...", e.Provider.ForDisplay())
		} else {
			r.term.Say("- Finding %s versions matching %q...", e.Provider.ForDisplay(), e.Constraints)
		}
	case install.PassedOver:
		r.term.Say("- Passing over %s: %s", e.Provider.ForDisplay(), e.PassedOver)
	case install.AlreadyInstalled:
		r.term.Say("- Using %s v%s, which is installed", e.Provider.ForDisplay(), e.Version)
	case install.FromCache:
		r.term.Say("- Using %s v%s from the shared cache", e.Provider.ForDisplay(), e.Version)
	case install.Installing:
		r.term.Say("- Installing %s v%s...", e.Provider.ForDisplay(), e.Version)
	case install.Waiting:
		r.term.Say("- Waiting for another process to install %s v%s...", e.Provider.ForDisplay(), e.Version)
	case install.Installed:
		text := fmt.Sprintf("%s v%s (%s)", e.Provider.ForDisplay(), e.Version, describeAuth(e.Auth, e.KeyID))
		r.term.Say("- Installed %s", text)
		r.installed(text)
	case install.Mirroring:
		r.term.Say("- Mirroring %s...", e.Provider.ForDisplay())
		if e.Locked {
			r.term.Say("  - Selected v%s to match dependency lock file", e.Version)
		} else if e.Constraints != "" {
			r.term.Say("  - Selected v%s to meet constraints %s", e.Version, e.Constraints)
		} else {
			r.term.Say("  - Selected v%s with no constraints", e.Version)
		}
	case install.Fetching:
		r.term.Say("- Fetching %s %s for %s...", e.Provider.ForDisplay(), e.Version, e.Platform)
	case install.Fetched:
		r.term.Say("- Retrieved %s %s for %s (%s)",
			e.Provider.ForDisplay(), e.Version, e.Platform, describeAuth(e.Auth, e.KeyID))
	}
}

// mirrored prints an event of copying a provider to a mirror.
func (r *packageReport) mirrored(e install.Event) {
	switch e := e.(type) {
	case install.Builtin:
		r.term.Say("- Skipping %s, which is part of tofu", e.Provider.ForDisplay())
	case install.PassedOver:
		r.provider(e)
	case install.Mirroring:
		reason := "with no constraints"
		switch {
		case e.Locked:
			reason = "to match dependency lock file"
		case e.Constraints != "":
			reason = "to meet constraints " + e.Constraints
		}
		r.term.Say("- Mirroring %s...\n  - Selected v%s %s", e.Provider.ForDisplay(), e.Version, reason)
	case install.Fetching:
		r.term.Say("  - Downloading package of %s for %s...", e.Provider.ForDisplay(), e.Platform)
	case install.Fetched:
		r.term.Say("  - Saved the package of %s for %s (%s)", e.Provider.ForDisplay(), e.Platform,
			describeAuth(e.Auth, e.KeyID))
	}
}

func describeAuth(auth, key string) string {
	if key != "" {
		return auth + ", key ID " + key
	}
	return auth
}
