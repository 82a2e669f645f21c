package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"tofu/internal/roots"
	"tofu/internal/tfdiags"
)

// selectFlags select some of the root modules that were found.
type selectFlags struct {
	Only, Skip, Tags []string
	With             map[string]bool
	Changed          string
}

// withWords are the allowed values of -with.
var withWords = []string{"dependents", "dependencies"}

func (f *selectFlags) addSelect(fs *options) {
	list := func(into *[]string) func(string) error {
		return func(text string) error {
			*into = append(*into, text)
			return nil
		}
	}
	fs.Func("only", "Only root modules whose names match `pattern`, such as prod/*/network or prod/**. Several "+
		"patterns are separated by commas, and this option may be used several times.", list(&f.Only))
	fs.Func("skip", "Leave out root modules whose names match `pattern`. Several patterns are separated by commas, "+
		"and this option may be used several times.", list(&f.Skip))
	fs.Func("tag", "Only root modules with `tag`. Several tags may be separated by commas; one of them must match. If "+
		"the option is used several times, each use must match.", list(&f.Tags))
	f.With = make(map[string]bool)
	fs.Func("with", "Also the root modules that need a selected one (`dependents`), or that a selected one "+
		"needs (dependencies).", func(text string) error {
		for _, word := range withWords {
			f.With[word] = f.With[word] || word == text
		}
		return oneOf(text, withWords)
	})
	fs.Func("changed", "Only root modules whose files, local modules, variable files or templates changed since a "+
		"`commit` in git, and those that need them.", func(text string) error {
		f.Changed = text
		if text == "" { // an unset variable in a script must not select everything
			return errors.New("must name a commit")
		}
		return nil
	})
}

// selects reports whether any option limits the root modules.
func (f *selectFlags) selects() bool {
	return len(f.Only)+len(f.Skip)+len(f.Tags) > 0 || f.Changed != ""
}

// cache returns the cache of an estate. Commands that need all root modules do without: they read them anyway.
func (f *selectFlags) cache(app *App, dirs []string) *roots.Cache {
	base, err := os.UserCacheDir()
	if err != nil || !f.selects() {
		return nil
	}
	return roots.OpenCache(filepath.Join(base, "tofu", "estates"), orHere(dirs), app.Environ)
}

// choose returns the selected root modules of an estate.
func (f *selectFlags) choose(ctx context.Context, e *roots.Estate) ([]*roots.Root, error) {
	s := &roots.Selection{Only: f.Only, Skip: f.Skip, Tags: f.Tags, Dependents: f.With["dependents"],
		Dependencies: f.With["dependencies"]}
	if f.Changed != "" {
		files, err := roots.ChangedFiles(ctx, ".", f.Changed)
		if err != nil {
			return nil, err
		}
		s.Changed = e.Changed(files)
	}
	return e.Select(s)
}

// find finds the root modules below some directories and selects some of them. err holds the errors
// of the selected root modules, or all errors if some of them concern the estate as a whole. The
// estate is nil if it can't be loaded, or if the selection itself is invalid.
func (f *selectFlags) find(ctx context.Context, app *App, dirs []string) (
	e *roots.Estate, selected []*roots.Root, err error) {
	e, err = loadCached(ctx, app, dirs, f.cache(app, dirs))
	if e == nil {
		return nil, nil, err
	}
	selected, selectErr := f.choose(ctx, e)
	if selectErr != nil {
		return nil, nil, selectErr
	}
	// With -changed, an empty selection is normal.
	if len(selected) == 0 && len(e.Roots) > 0 && f.Changed == "" {
		return nil, nil, tfdiags.Errorf("No root module is selected", "The options -only, -skip and -tag leave out "+
			"every root module (%d in all). \"tofu roots list\" shows their names.", len(e.Roots))
	}
	if !e.OnlyRootErrors(err) || len(selected) == len(e.Roots) {
		return e, selected, err
	}
	var errs tfdiags.Diagnostics
	for _, r := range selected {
		errs = errs.AppendError(r.Err)
	}
	return e, selected, errs.Err()
}
