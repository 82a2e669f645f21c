package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/configs"
	"tofu/internal/diff"
	"tofu/internal/rootmoves"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdRootsSplit = &Command{
	Name: "split", Args: "ROOT", Short: "Propose how to divide a root module into several",
	Long: `
Proposes a partition of a root module, such as one with thousands of objects, and
shows it as a diff. No part needs another one that needs it, and few references
cross parts; these become outputs and terraform_remote_state data sources. The
outputs of the root module stay there.

With -write, it writes the files, with moved blocks, initializes the new root
modules and plans all parts, which must show no changes of objects. No state is
changed until "tofu roots move" or "tofu roots apply" moves the objects.`,
	New: with(func(f *rootsSplitFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.By.By = "reads"
		fs.Func("by", "Form parts along the references (reads, the default), one for each module call (module), for each "+
			"`resource type` (type), or for each value of a tag (tag:NAME).", func(text string) error {
			f.By.By, f.By.Tag, _ = strings.Cut(text, ":")
			if (f.By.By == "tag") != (f.By.Tag != "") || !slices.Contains([]string{"reads", "module", "type", "tag"}, f.By.By) {
				return errors.New("must be reads, module, type or tag:NAME")
			}
			return nil
		})
		fs.Func("parts", "Form `n` parts along the references. The default is one for each 300 objects.", func(text string) (err error) {
			f.By.Parts, err = strconv.Atoi(text)
			if err != nil || f.By.Parts < 2 {
				return errors.New("must be a whole number greater than 1")
			}
			return nil
		})
		fs.BoolVar(&f.Write, "write", false, "Write the files, initialize the new root modules and plan all parts.")
	}, runRootsSplit),
}

type rootsSplitFlags struct {
	viewFlags
	varFlags
	By    rootmoves.SplitBy
	Write bool
}

func runRootsSplit(ctx context.Context, app *App, f *rootsSplitFlags, args []string) error {
	if len(args) != 1 {
		return badUsage("One argument is required", "\"tofu roots split\" takes the name of a root module; \"tofu roots list\" "+
			"shows them.")
	}
	e, err := loadEstate(ctx, app, nil)
	if e == nil || err != nil && !e.OnlyRootErrors(err) {
		return err
	}
	r := e.ByName(filepath.ToSlash(filepath.Clean(args[0])))
	switch {
	case r == nil:
		return tfdiags.Errorf("No such root module", "There is no root module %q.%s", args[0],
			suggest.DidYouMean(args[0], e.Names()))
	case r.Err != nil:
		return r.Err
	case r.Shared():
		return tfdiags.Errorf("Several root modules have this directory", "%s shares its directory with other root modules, so "+
			"it can't be split alone.", r.Name)
	}
	defer app.ShareClients()()
	m := newRootMoves(app, e, e.Roots, nil, f.Variables, lockFlags{}.LockOptions)
	split, err := m.mover.Split(ctx, r, f.By)
	if err != nil {
		return err
	}
	if !f.Write {
		showDiff(app, split)
	}
	showGroups(app, split)
	if !f.Write {
		app.Say("\nNothing was changed. With -write, the files are written and planned.")
		return nil
	}
	if err := split.Write(); err != nil {
		return err
	}
	app.Parser = configs.NewParser(nil) // the files have changed
	only := "-only=" + strings.Join(slices.Sorted(maps.Keys(split.Dirs)), ",")
	for _, cmd := range []*Command{cmdRootsInit, cmdRootsPlan} {
		fs := newOptions(cmd.Name)
		run := cmd.New(fs)
		if err := fs.Parse([]string{only}); err != nil {
			return err
		}
		if err := run(ctx, app, nil); err != nil {
			return tfdiags.Join(err, tfdiags.Errorf("The files are written", "No state was changed. After solving the problem, run "+
				"\"tofu roots init\", \"tofu roots plan\", which must show no changes of objects, and \"tofu roots move\"."))
		}
	}
	app.Say("\nThe files are written. If the plan shows no changes of objects, run \"tofu roots move\", which moves them.")
	return nil
}

// showDiff shows how the files change.
func showDiff(app *App, s *rootmoves.Split) {
	for _, part := range slices.Sorted(maps.Keys(s.Division.Files)) {
		for _, name := range slices.Sorted(maps.Keys(s.Division.Files[part])) {
			path, old, before := filepath.ToSlash(filepath.Join(s.Dirs[part], name)), "/dev/null", ""
			if text, exists := s.Old[name]; exists && part == s.From {
				old, before = "old/"+path, string(text)
			}
			fmt.Fprint(app.Out, diff.Unified(old, "new/"+path, before, string(s.Division.Files[part][name])))
		}
	}
}

// showGroups shows the parts with their numbers of objects.
func showGroups(app *App, s *rootmoves.Split) {
	app.Say("\n%s with %s between them:", ui.Count(len(s.Groups), "root module"), ui.Count(s.Division.Crossing, "reference"))
	for _, g := range s.Groups {
		name := g.Name
		if name == "" {
			name = s.From
		}
		app.Say("  %s: %s in %s", name, ui.Count(g.Objects, "object"), ui.Count(len(g.Items), "block"))
	}
	for _, note := range s.Division.Notes {
		app.Say("Note: %s", note)
	}
}
