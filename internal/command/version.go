package command

import (
	"context"
	"fmt"
	"strings"

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
selects.

Programs that refuse features to older versions can be told another one:
TOFU_ANSWER_VERSION="terraform 1.14.0" in the environment makes this command
answer as that version of Terraform, "opentofu 1.13.1" as that of OpenTofu.
Nothing else changes.`,
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
	shown, number, err := answeredVersion(app.Env(answerVersionEnv))
	if err != nil {
		return err
	}
	if f.Document {
		info := ui.VersionInfo{Version: number, Engine: version.Engine(), Platform: platform,
			Providers: map[string]string{}}
		for _, p := range locks.Providers() {
			lock, _ := locks.Provider(p)
			info.Providers[p.String()] = lock.Version.String()
		}
		return ui.WriteVersion(app.Out, info)
	}
	// Programs parse the first line.
	fmt.Fprintf(app.Out, "%s v%s\non %s\n", shown, number, platform)
	fmt.Fprintf(app.Out, "by %s, which is not OpenTofu but compatible with it\n", version.Build())
	for _, p := range locks.Providers() {
		lock, _ := locks.Provider(p)
		fmt.Fprintf(app.Out, "+ provider %s v%s\n", p, lock.Version)
	}
	return nil
}

// answerVersionEnv is the environment variable that names the program and the version as which
// `version` answers.
const answerVersionEnv = "TOFU_ANSWER_VERSION"

// answerPrograms maps the programs that answerVersionEnv can name to their names in the output.
var answerPrograms = map[string]string{"terraform": "Terraform", "opentofu": "OpenTofu"}

// answeredVersion returns the program and the version that are shown for a value of
// answerVersionEnv. If it is empty, they are those with which this program is compatible.
func answeredVersion(value string) (program, number string, err error) {
	if value == "" {
		return answerPrograms["opentofu"], version.String, nil
	}
	name, number, _ := strings.Cut(value, " ")
	parsed, err := depsfile.ParseVersion(number)
	program = answerPrograms[name]
	if err != nil || program == "" {
		return "", "", tfdiags.Errorf("Invalid value of "+answerVersionEnv,
			"%s is %q in the environment. It must name a program and a version, like \"terraform 1.14.0\" or "+
				"\"opentofu 1.13.1\".", answerVersionEnv, value)
	}
	return program, parsed.String(), nil
}
