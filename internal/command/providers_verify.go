package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

var cmdProvidersVerify = &Command{
	Name: "verify", Own: true, Short: "Check the installed providers against the lock file and their signatures",
	Long: `
Computes the checksum of each installed provider package again and compares it
with the lock file. Then asks the source from which the provider would be
installed, checks the signature of its list of checksums, and compares that list
with the lock file. The status is 1 if something doesn't match. Nothing is
changed.

Registries offer no transparency logs, so none are asked.`,
	New: with(func(f *providersVerifyFlags, fs *options) {
		f.viewFlags.add(fs)
		fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
		fs.BoolVar(&f.Offline, "offline", false, "Ask no registry and no mirror: check only what is installed.")
	}, runProvidersVerify),
}

type providersVerifyFlags struct {
	viewFlags
	Document, Offline bool
}

// verified is the result for one provider.
type verified struct {
	Provider string `json:"provider"`
	Version  string `json:"version"`
	// Installed is the checksum of the installed package, or "" if it is not installed.
	Installed      string   `json:"installed,omitempty"`
	Authentication string   `json:"authentication,omitempty"` // such as "signed"; "" if the source was not asked
	KeyID          string   `json:"key_id,omitempty"`
	Problems       []string `json:"problems,omitempty"`
}

func runProvidersVerify(ctx context.Context, app *App, f *providersVerifyFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	locks, err := depsfile.Load(app.LockFile(), app.Warnings.Add)
	if err != nil {
		return err
	}
	if locks.Empty() {
		return tfdiags.Errorf("No locked providers", "The lock file %s has no entries. Run %q first.", app.LockFile(),
			app.InitCommand)
	}
	v := &providerVerifier{session: app.Session}
	if !f.Offline {
		if v.source, err = sources.FromConfig(app.CLI, registry.New(app.CLI)); err != nil {
			return err
		}
	}
	var all []verified
	var problems tfdiags.Diagnostics
	for _, p := range locks.Providers() {
		lock, _ := locks.Provider(p)
		result := v.verify(ctx, p, lock)
		all = append(all, result)
		for _, text := range result.Problems {
			problems.Add(tfdiags.Errorf("Provider doesn't match", "Provider %s %s: %s.", p.ForDisplay(), lock.Version, text))
		}
	}
	if f.Document {
		enc := json.NewEncoder(app.Out)
		enc.SetIndent("", "  ")
		doc := map[string]any{"format_version": "1.0", "valid": len(problems) == 0, "providers": all}
		if err := enc.Encode(doc); err != nil || len(problems) == 0 {
			return err
		}
		return exitStatus(1)
	}
	for _, result := range all {
		if len(result.Problems) == 0 {
			app.Say("- %s v%s: the package matches the lock file; %s", result.Provider, result.Version, result.origin())
		}
	}
	return problems.Err()
}

// origin describes how the source authenticated a package.
func (v *verified) origin() string {
	switch {
	case v.Authentication == "":
		return "its source was not asked"
	case v.KeyID != "":
		return v.Authentication + ", key ID " + v.KeyID
	}
	return v.Authentication
}

type providerVerifier struct {
	session *session.Session
	source  sources.Source // nil if no source is asked
}

func (v *providerVerifier) verify(ctx context.Context, p addrs.Provider, lock depsfile.Lock) verified {
	out := verified{Provider: p.String(), Version: lock.Version.String()}
	dir := pkgstore.PackageDir(v.session.ProvidersDir(), p, lock.Version, depsfile.CurrentPlatform())
	h, err := pkgstore.HashDir(dir) // without what the package store remembers
	known := depsfile.Known(lock.Hashes)
	content := ofScheme(known, depsfile.SchemeContent)
	switch {
	case err != nil:
		out.add("the package isn't installed in %s; run %q", dir, v.session.InitCommand)
	case len(content) == 0:
		out.Installed = string(h)
		out.add("the lock file has no checksum of the installed files; run \"tofu providers lock\"")
	case !slices.Contains(content, h):
		out.Installed = string(h)
		out.add("the installed files have the checksum %s, which is not in the lock file; delete %s and run %q "+
			"to install the package again", h, dir, v.session.InitCommand)
	default:
		out.Installed = string(h)
	}
	if v.source != nil {
		v.ask(ctx, p, lock, &out)
	}
	return out
}

// ask compares the lock with what the source says about the package, after it has checked the
// signature.
func (v *providerVerifier) ask(ctx context.Context, p addrs.Provider, lock depsfile.Lock, out *verified) {
	pkg, err := v.source.Package(ctx, p, lock.Version, depsfile.CurrentPlatform())
	if err != nil {
		out.add("%s can't confirm it: %s", v.source, err)
		return
	}
	out.Authentication, out.KeyID = cmp.Or(pkg.Auth, "not signed"), pkg.KeyID
	has := func(h depsfile.Hash) bool { return slices.Contains(lock.Hashes, h) }
	content := pkg.ContentHash
	switch {
	case pkg.Dir != "":
		content, err = pkgstore.HashDir(pkg.Dir)
	case pkg.Archive != "":
		content, err = pkgstore.HashArchive(pkg.Archive)
	}
	if err != nil {
		out.add("the package in %s can't be read: %s", v.source, err)
		return
	}
	said := append(slices.Clone(pkg.Reported), content, pkg.ArchiveHash)
	said = slices.DeleteFunc(said, func(h depsfile.Hash) bool { return h == "" })
	archives := ofScheme(lock.Hashes, depsfile.SchemeArchive)
	if len(said) > 0 && !slices.ContainsFunc(said, has) && (len(archives) > 0 || len(pkg.Reported) > 0 || content != "") {
		out.add("none of the checksums that %s lists for this platform is in the lock file", v.source)
	}
	if pkg.KeyID == "" {
		return
	}
	foreign := slices.DeleteFunc(archives, func(h depsfile.Hash) bool { return slices.Contains(pkg.Trusted, h) })
	if len(foreign) > 0 {
		out.add("the lock file has %d checksums of archives that are not in the signed list", len(foreign))
	}
}

// ofScheme returns the hashes with a scheme.
func ofScheme(hashes []depsfile.Hash, scheme string) []depsfile.Hash {
	return slices.DeleteFunc(slices.Clone(hashes), func(h depsfile.Hash) bool { return h.Scheme() != scheme })
}

func (v *verified) add(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}
