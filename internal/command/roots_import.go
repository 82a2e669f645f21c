package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tofu/internal/atomicfile"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/roots/terragrunt"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdRootsImport = &Command{
	Name: "import-terragrunt", Args: "[DIR]", Short: "Write roots.tofu.hcl from terragrunt.hcl files",
	Long: `
Reads the terragrunt.hcl files below the directory and writes a roots.tofu.hcl
that declares the same root modules: with their inputs, remote states,
dependencies and variable files. Lists what has no counterpart. Runs no program
and changes no other file.`,
	New: with(func(f *rootsImportFlags, fs *options) {
		f.viewFlags.add(fs)
		fs.BoolVar(&f.Force, "force", false, "Replace an existing roots.tofu.hcl.")
	}, runRootsImport),
}

type rootsImportFlags struct {
	viewFlags
	Force bool
}

func runRootsImport(_ context.Context, app *App, f *rootsImportFlags, args []string) error {
	dir := "."
	switch {
	case len(args) > 1:
		return badUsage("Too many command line arguments", "The command takes one directory.")
	case len(args) == 1:
		dir = args[0]
	}
	path := filepath.Join(dir, rootsfile.FileName)
	_, err := os.Stat(path)
	if !f.Force && !errors.Is(err, fs.ErrNotExist) {
		return tfdiags.Errorf("The file exists", "%s exists already. Use -force to replace it.", path)
	}
	result, err := terragrunt.Import(dir, app.Env)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteNamed(path, result.Text, 0o644); err != nil {
		return tfdiags.Errorf("Failed to write the file", "%s could not be written: %s.", path, err)
	}
	app.Say("%s declares %s.", path, ui.Count(result.Roots, "root module"))
	if len(result.LeftOut) == 0 {
		return nil
	}
	app.Say("\nThese parts have no counterpart and were left out:")
	for _, line := range result.LeftOut {
		app.Say("  - %s", line)
	}
	return nil
}
