package command

import (
	"archive/zip"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/depsfile"
	"tofu/internal/fleet"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// completer returns the values that can begin with word. It returns nil if it can't find out, for
// example because there is no configuration, and prints nothing.
type completer func(ctx context.Context, app *App, word string) []string

// optionValues holds the completers of options, by name.
var optionValues = map[string]completer{
	"target": addressNames, "exclude": addressNames, "replace": addressNames, "invoke": actionNames,
	"only": rootNames, "skip": rootNames, "root": rootNames,
	"provider": providerNames,
}

// addressNames returns the addresses of the resources and modules of the configuration and of the
// resource instances in the state.
func addressNames(ctx context.Context, app *App, word string) []string {
	out := stateAddresses(ctx, app, word)
	cfg, err := app.LoadInstalled(ctx, session.Variables{})
	if cfg == nil || cfg.Config == nil || err != nil {
		return out
	}
	for c := range cfg.AllModules() {
		if !c.Path.IsRoot() {
			out = append(out, c.Path.String())
		}
		for r := range c.Module.Resources {
			out = append(out, r.In(c.Path).String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// actionNames returns the addresses of the actions of the configuration.
func actionNames(ctx context.Context, app *App, _ string) []string {
	cfg, err := app.LoadInstalled(ctx, session.Variables{})
	if cfg == nil || cfg.Config == nil || err != nil {
		return nil
	}
	var out []string
	for c := range cfg.AllModules() {
		for a := range c.Module.Actions {
			out = append(out, a.In(c.Path).String())
		}
	}
	slices.Sort(out)
	return out
}

// stateAddresses returns the addresses of the resource instances in the state.
func stateAddresses(ctx context.Context, app *App, _ string) []string {
	open := stateOf(ctx, app)
	if open == nil {
		return nil
	}
	defer func() { _ = open.Close() }()
	var out []string
	for _, addr := range open.State().Select(nil) {
		out = append(out, addr.String())
	}
	return out
}

// outputsOfState returns the names of the outputs in the state.
func outputsOfState(ctx context.Context, app *App, _ string) []string {
	open := stateOf(ctx, app)
	if open == nil {
		return nil
	}
	defer func() { _ = open.Close() }()
	return open.State().OutputNames()
}

// stateOf returns the state of the current workspace, or nil if it has no state.
func stateOf(ctx context.Context, app *App) *session.OpenedState {
	open, err := app.OpenState(ctx, session.StateRequest{})
	if err != nil {
		return nil
	}
	if !open.Exists() {
		_ = open.Close()
		return nil
	}
	return open
}

// rootNames returns the names of the root modules below the working directory.
func rootNames(ctx context.Context, app *App, _ string) []string {
	estate, _ := loadEstate(ctx, app, nil)
	if estate == nil {
		return nil
	}
	var out []string
	for _, r := range estate.Roots {
		out = append(out, r.Name)
	}
	return out
}

// providerNames returns the providers that the lock file names.
func providerNames(context.Context, *App, string) []string {
	locks, _ := depsfile.Load(depsfile.FileName, tfdiags.Drop)
	if locks == nil {
		return nil
	}
	var out []string
	for _, p := range locks.Providers() {
		out = append(out, p.ForDisplay())
	}
	return out
}

// planFiles returns the plan files in the directory of word.
func planFiles(_ context.Context, _ *App, word string) []string {
	dir := word[:strings.LastIndexByte(word, filepath.Separator)+1]
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if path := dir + e.Name(); e.Type().IsRegular() && isPlanFile(path) {
			out = append(out, path)
		}
	}
	return out
}

// isPlanFile reports whether a file is a plan of one or many root modules. Encrypted plans are not
// recognized.
func isPlanFile(path string) bool {
	if fleet.IsFile(path) {
		return true
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		return false
	}
	defer archive.Close()
	return slices.ContainsFunc(archive.File, func(f *zip.File) bool { return f.Name == "tfplan" })
}
