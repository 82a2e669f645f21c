package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tofu/internal/atomicfile"
	"tofu/internal/getmodules"
	"tofu/internal/registry"
	"tofu/internal/roots"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/roots/terragrunt"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdRootsImport = &Command{
	Name: "import-terragrunt", Args: "[DIR]", Short: "Write roots.tofu.hcl from terragrunt.hcl files",
	Long: `
Reads the terragrunt.hcl and terragrunt.stack.hcl files below the directory and
writes a roots.tofu.hcl that declares the same root modules: with their inputs,
remote states, dependencies and variable files. Lists what has no counterpart,
with file and line. Does not run Terragrunt or the commands in these files.

Without options, the command changes no other file. With -generate it also
writes the files that Terragrunt generates in each run, such as provider.tf and
backend.tf, into the directories of the modules; values that differ between the
units become variables. With -fetch it copies the packages of remote modules.`,
	New: with(func(f *rootsImportFlags, fs *options) {
		f.viewFlags.add(fs)
		fs.BoolVar(&f.Force, "force", false, "Replace an existing roots.tofu.hcl.")
		fs.BoolVar(&f.Generate, "generate", false,
			"Also write the files that Terragrunt generates. Existing files are never replaced.")
		fs.BoolVar(&f.Verbose, "verbose", false, "List every place of what is left out, instead of the first ones.")
		fs.StringVar(&f.Fetch, "fetch", "", "Copy the packages of remote modules to `directory`, relative to that of "+
			"roots.tofu.hcl, and use them from there.")
	}, runRootsImport),
}

type rootsImportFlags struct {
	viewFlags
	Force, Generate, Verbose bool
	Fetch                    string

	fetched string // absolute path of Fetch
}

func runRootsImport(ctx context.Context, app *App, f *rootsImportFlags, args []string) error {
	dir := "."
	switch {
	case len(args) > 1:
		return badUsage("Too many command line arguments", "The command takes at most one argument, a directory.")
	case len(args) == 1:
		dir = args[0]
	}
	path := filepath.Join(dir, rootsfile.FileName)
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checking the directory for %s: %w", rootsfile.FileName, err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return tfdiags.Errorf("The file is a link", "%s is a symbolic link. Remove it, or write its target.", path)
	}
	if err == nil && !f.Force {
		return tfdiags.Errorf("The file exists", "%s already exists. Use -force to replace it.", path)
	}
	opts := &terragrunt.Options{Getenv: app.Env, Generate: f.Generate}
	if f.Fetch != "" {
		f.fetched = roots.Absolute(filepath.Join(dir, f.Fetch))
		if filepath.IsLocal(f.Fetch) {
			if err := atomicfile.CheckBelow(roots.Absolute(dir), f.fetched); err != nil {
				return tfdiags.Errorf("Invalid directory for modules", "The directory of -fetch can't be used: %s.", err)
			}
		}
		copier := getmodules.NewCopier(registry.New(app.CLI), f.fetched)
		opts.Fetch = func(source, version string) (string, error) { return copier.Copy(ctx, source, version) }
	}
	result, err := terragrunt.Import(dir, opts)
	if err != nil {
		return err
	}
	if result.Roots == 0 {
		f.leftOut(app, result)
		return tfdiags.Errorf("Nothing was imported", "No unit below %s can become a root module, so %s was not written. See "+
			"above for the reasons.", dir, rootsfile.FileName)
	}
	if err := atomicfile.WriteNamed(path, result.Text, 0o644); err != nil {
		return tfdiags.Errorf("Failed to write the file", "%s could not be written: %s.", path, err)
	}
	app.Say("%s declares %s.", path, ui.Count(result.Roots, "root module"))
	if result.Mocks > 0 {
		app.Say("The mock outputs of %s were left out: plans use the planned outputs instead.",
			ui.Count(result.Mocks, "dependency block"))
	}
	if err := f.generate(app, result.Files); err != nil {
		return err
	}
	f.leftOut(app, result)
	return nil
}

// leftOut lists what was not imported.
func (f *rootsImportFlags) leftOut(app *App, result *terragrunt.Result) {
	list := result.Summary
	if f.Verbose {
		list = result.LeftOut
	}
	if len(list) == 0 {
		return
	}
	app.Say("\nThese parts have no counterpart and were left out:")
	for _, line := range list {
		app.Say("  - %s", line)
	}
	if !f.Verbose && len(result.Summary) < len(result.LeftOut) {
		app.Say("To list all %d places, use -verbose.", len(result.LeftOut))
	}
}

// generate writes or lists the files that Terragrunt generates.
func (f *rootsImportFlags) generate(app *App, files []terragrunt.File) error {
	switch {
	case len(files) == 0:
		return nil
	case f.Generate:
		app.Say("\nThese files, which Terragrunt generates, were written:")
	default:
		app.Say("\nThese files, which Terragrunt generates, are missing. -generate -force writes them and sets their " +
			"variables:")
	}
	var refused []string
	for _, file := range files {
		path := file.Path
		if rel, err := filepath.Rel(roots.Absolute("."), path); err == nil {
			path = rel
		}
		if !f.Generate {
			app.Say("  - %s", path)
			continue
		}
		if why := f.foreign(path); why != "" {
			refused = append(refused, path+": "+why)
			continue
		}
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = atomicfile.Write(path, file.Data, 0o644)
		}
		if err != nil {
			return tfdiags.Errorf("Failed to write the file", "%s could not be written: %s.", path, err)
		}
		app.Say("  - %s", path)
	}
	if len(refused) > 0 {
		app.Say("\nThese files, which Terragrunt generates, were not written:")
		for _, line := range refused {
			app.Say("  - %s", line)
		}
	}
	return nil
}

// foreign says why no file is written at a path relative to the working directory, or returns "". The
// Terragrunt files may come from others and must not lead out of the directory that the user works
// in, or to directories of other programs. The directory of -fetch is the user's own choice.
func (f *rootsImportFlags) foreign(path string) string {
	below := path
	if f.Fetch != "" {
		if rel, err := filepath.Rel(f.fetched, roots.Absolute(path)); err == nil && filepath.IsLocal(rel) {
			below = rel
		}
	}
	switch {
	case !filepath.IsLocal(path):
		return "it is not below the working directory; run the command in a directory above it"
	case atomicfile.ThroughLink(path):
		return "its path leads through a symbolic link"
	case strings.HasPrefix(below, ".") || strings.Contains(filepath.ToSlash(below), "/."):
		return "a directory in its path begins with a dot"
	}
	return ""
}
