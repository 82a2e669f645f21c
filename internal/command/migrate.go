package command

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"tofu/internal/getmodules"
	"tofu/internal/migrate"
	"tofu/internal/session"
)

var cmdMigrate = &Command{
	Name: "migrate", Own: true, Short: "Come from Terraform or OpenTofu",
	Long: `
Says what it takes to use this program for a root module of another one.`,
	Sub: []*Command{cmdMigrateCheck},
}

var cmdMigrateCheck = &Command{
	Name: "check", Own: true, Args: "[DIR]", Short: "Say what works, what will differ and what has to be changed",
	Long: `
Reads the configuration in DIR (by default, the working directory), its local
states, its lock file, and files of CI systems and build tools up to the top of
the repository. Says what works as it is, what will behave differently and what
has to be changed, with file and line. It changes nothing and works offline.

The exit status is 0 if nothing has to be changed, 2 if something has, and 1
after an error.`,
	New: with(func(f *migrateFlags, fs *options) {
		f.viewFlags.add(fs)
		fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
	}, runMigrateCheck),
}

type migrateFlags struct {
	viewFlags
	Document bool
}

func runMigrateCheck(ctx context.Context, app *App, f *migrateFlags, args []string) error {
	if len(args) > 1 {
		return badUsage("Too many command line arguments", "Expected at most one argument, the directory of a root module.")
	}
	dir := app.RootDir
	if len(args) == 1 {
		dir = args[0]
	}
	installed := (&session.Dirs{DataDir: filepath.Join(dir, ".terraform"), RootDir: dir}).ModulesDir()
	resolve, err := getmodules.InstalledOrLocal(installed, app.Base)
	if err != nil {
		return err
	}
	report, err := migrate.Check(ctx, &migrate.Options{Dir: dir, Parser: app.Parser, Resolve: resolve})
	if err != nil {
		return err
	}
	if f.Document {
		doc := struct {
			Format string `json:"format_version"`
			*migrate.Report
		}{"1.0", report}
		if err := json.NewEncoder(app.Out).Encode(doc); err != nil {
			return err
		}
	} else {
		app.Say("%s", migrationText(report))
	}
	if report.Must() {
		return exitStatus(2)
	}
	return nil
}

// migrationText returns a report as text, by kind.
func migrationText(r *migrate.Report) string {
	var b strings.Builder
	for _, part := range []struct {
		kind         migrate.Kind
		title, empty string
	}{
		{migrate.Change, "To be changed", "Nothing has to be changed."},
		{migrate.Differs, "Will behave differently", ""},
		{migrate.Works, "Works as it is", ""},
	} {
		found := r.Of(part.kind)
		if len(found) == 0 {
			if part.empty != "" {
				fmt.Fprintf(&b, "%s\n\n", part.empty)
			}
			continue
		}
		fmt.Fprintf(&b, "%s:\n", part.title)
		for _, one := range found {
			fmt.Fprintf(&b, "\n- %s", one.Summary)
			if at := one.Place(); at != "" {
				fmt.Fprintf(&b, " (%s)", at)
			}
			if one.Detail != "" {
				fmt.Fprintf(&b, "\n  %s", strings.ReplaceAll(one.Detail, "\n", "\n  "))
			}
		}
		b.WriteString("\n\n")
	}
	b.WriteString("Deliberate differences are in docs/FEATURES.md and docs/COMPATIBILITY.md.")
	return b.String()
}
