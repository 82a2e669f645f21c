package command

import (
	"context"
	"fmt"

	"tofu/internal/depsfile"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/version"
)

var cmdVersion = &Command{
	Name: "version", Short: "Show the versions of the program and the providers",
	Long: `
Shows the version of OpenTofu that this program is compatible with, its own
name, version and commit, and the versions of the providers that the lock file
selects.`,
	New: with(func(f *versionFlags, fs *options) {
		f.viewFlags.add(fs)
		fs.BoolVar(&f.Document, "json", false, "Print the versions as a JSON document.")
	}, runVersion),
}

type versionFlags struct {
	viewFlags
	Document bool
}

func runVersion(_ context.Context, app *App, f *versionFlags, _ []string) error {
	platform := depsfile.CurrentPlatform().String()
	// Ignore warnings, because init reports a damaged lock file.
	locks, _ := depsfile.Load(depsfile.FileName, tfdiags.Drop)
	if locks == nil {
		locks = &depsfile.Locks{}
	}
	if f.Document {
		info := ui.VersionInfo{Version: version.String, Engine: version.Engine(), Platform: platform,
			Providers: map[string]string{}}
		for _, p := range locks.Providers() {
			lock, _ := locks.Provider(p)
			info.Providers[p.String()] = lock.Version.String()
		}
		return ui.WriteVersion(app.Out, info)
	}
	// Programs parse the first line.
	fmt.Fprintf(app.Out, "OpenTofu v%s\non %s\n", version.String, platform)
	fmt.Fprintf(app.Out, "by %s, which is not OpenTofu but compatible with it\n", version.Build())
	for _, p := range locks.Providers() {
		lock, _ := locks.Provider(p)
		fmt.Fprintf(app.Out, "+ provider %s v%s\n", p, lock.Version)
	}
	return nil
}
