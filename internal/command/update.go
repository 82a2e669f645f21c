package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/upgrade"
)

var cmdUpdate = &Command{
	Name: "update", Own: true, Args: "[DIR…]", Short: "Raise version constraints in configuration files",
	Long: `
Raises the version constraints of the providers and modules that the options
name, and of tofu itself, in the configuration files of the given directories
(by default the current one). Everything else in the files stays as it is.

An option names the source address of a provider or module. It may contain the
wildcard "*": -provider="*" selects all providers. A version may follow after an
"@": "5.7.0" raises each constraint to that version and keeps its style ("5.6.0"
becomes "5.7.0", and "~> 5.6" becomes "~> 5.7"); a constraint, such as "~> 5.7",
replaces the old one. The default is the newest release. A version never lowers
a constraint. The version of a module from a git repository is the one at the
end of its ref.

The lock files do not change: run "tofu providers lock -recursive" with the
same directories afterwards, or "tofu init -upgrade" in each of them.`,
	New: with(func(f *updateFlags, fs *options) {
		f.addJSON(fs)
		fs.Var((*list)(&f.Providers), "provider",
			"Raise the constraints of this provider: `source[@version]`. May be repeated.")
		fs.Var((*list)(&f.Modules), "module", "Raise the constraints of this module: `source[@version]`. May "+
			"be repeated.")
		fs.StringVar(&f.Required, "required-version", "",
			"Raise required_version to this `version`, or replace it by a constraint.")
		fs.BoolVar(&f.Recursive, "recursive", false,
			"Include subdirectories, other than hidden ones and symbolic links.")
		fs.Var((*list)(&f.Ignore), "ignore",
			"Leave out files whose path matches this `pattern`, such as \"**/legacy/**\". May be repeated.")
		fs.BoolVar(&f.Check, "check", false, "Write nothing, and fail when a constraint would be raised.")
	}, func(ctx context.Context, app *App, f *updateFlags, args []string) error {
		if len(args) == 0 {
			args = []string{"."}
		}
		return runUpdate(ctx, app.Session, f, args)
	}),
}

type updateFlags struct {
	viewFlags
	Providers, Modules []string
	Required           string
	Ignore             []string
	Recursive, Check   bool
}

// runUpdate raises the constraints in the configuration files of some directories.
func runUpdate(ctx context.Context, s *session.Session, f *updateFlags, dirs []string) error {
	requests, err := parseRequests(f)
	if err != nil {
		return err
	}
	byDir, err := configFiles(dirs, f)
	if len(byDir) == 0 && err != nil {
		return err
	}
	errs := tfdiags.FromError(err)
	u := &updateRun{
		session: s, requests: requests, chosen: &releases{cli: s.CLI}, check: f.Check,
		tally: updateTally{sources: make(map[upgrade.Kind]map[string]bool), unknown: make(map[string]bool)},
	}
	for _, dir := range sortedKeys(byDir) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = errs.AppendError(u.dir(ctx, byDir[dir]))
	}
	return errs.AppendError(u.report(dirs)).Err()
}

// updateRun is one run of the command.
type updateRun struct {
	session  *session.Session
	requests []*upgradeRequest
	chosen   *releases
	check    bool // whether to write no files (-check)
	tally    updateTally
}

// report prints what was raised in dirs. With -check, it returns an error if anything would be
// raised.
func (u *updateRun) report(dirs []string) error {
	for _, w := range u.requests {
		if !w.met {
			u.session.Warnings.Add(u.tally.notFound(w))
		}
	}
	verb := "raised"
	if u.check {
		verb = "to be raised"
	}
	u.session.Say("\n%s in %s %s; %d up to date.", ui.Count(u.tally.raised, "constraint"),
		ui.Count(u.tally.files, "file"), verb, u.tally.current)
	switch {
	case u.check && u.tally.raised > 0:
		return tfdiags.Errorf("Constraints are out of date",
			"%s can be raised. Run the same command without -check.",
			ui.Count(u.tally.raised, "version constraint"))
	case u.tally.providers > 0 && u.tally.raised > 0:
		u.session.Say("Bring the lock files up to date: tofu providers lock -recursive %s", strings.Join(dirs, " "))
	}
	return nil
}

// updateTally counts the results of a run.
type updateTally struct {
	raised, current, files int
	providers              int // number of provider constraints that were raised
	sources                map[upgrade.Kind]map[string]bool
	unknown                map[string]bool // sources whose newest release could not be found
}

// notFound returns a warning that suggests what the user may have meant.
func (t *updateTally) notFound(w *upgradeRequest) tfdiags.Diagnostic {
	text := fmt.Sprintf("No version constraint of %s was found.", w.text)
	switch {
	case w.kind == upgrade.Program:
		text = "No required_version was found."
	case w.source == "*":
		text = fmt.Sprintf("No version constraint of any %s was found.", upgradeOptions[w.kind])
	}
	if found := sortedKeys(t.sources[w.kind]); len(found) > 0 {
		text += " There are constraints of " + someOf(found) + "."
	}
	return tfdiags.Warningf("Nothing to update", "%s", text)
}

// met records that a version constraint of the source of p was found.
func (t *updateTally) met(p upgrade.Place) {
	kind := p.Kind
	if kind == upgrade.ModuleRef {
		kind = upgrade.Module
	}
	if t.sources[kind] == nil {
		t.sources[kind] = make(map[string]bool)
	}
	t.sources[kind][p.String()] = true
}

// configFiles reads the configuration files of some directories. If a file can't be read,
// configFiles returns an error together with all other files.
func configFiles(dirs []string, f *updateFlags) (map[string][]upgrade.File, error) {
	var modules []string
	var errs tfdiags.Diagnostics
	if f.Recursive {
		found, _, err := roots.Modules(dirs, configs.NewParser(nil))
		errs = errs.AppendError(err)
		for _, m := range found {
			modules = append(modules, m.Dir)
		}
	} else {
		seen := make(map[string]bool)
		for _, dir := range dirs {
			if real := roots.Real(dir); !seen[real] {
				seen[real] = true
				modules = append(modules, filepath.Clean(dir))
			}
		}
	}
	byDir := make(map[string][]upgrade.File)
	for _, dir := range modules {
		entries, err := roots.List(dir)
		errs = errs.AppendError(err)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			matches := func(pattern string) bool { return doublestar.PathMatchUnvalidated(pattern, path) }
			if e.IsDir() || !configs.IsConfigFile(e.Name()) || slices.ContainsFunc(f.Ignore, matches) {
				continue
			}
			source, err := atomicfile.Read(path)
			if err != nil {
				errs = errs.Append(tfdiags.Errorf("Unreadable file", "The file %s can't be read: %s.", path,
					roots.WithoutPath(err)))
				continue
			}
			byDir[dir] = append(byDir[dir], upgrade.File{Name: path, Source: source})
		}
	}
	return byDir, errs.Err()
}

// dir raises the constraints in the files of one directory.
func (u *updateRun) dir(ctx context.Context, files []upgrade.File) error {
	places, err := upgrade.Places(files)
	errs := tfdiags.FromError(err)
	edits := make(map[string][]upgrade.Edit)
	for _, p := range places {
		edit, err := u.place(ctx, p)
		errs = errs.AppendError(err)
		if edit != nil {
			edits[p.Range.Filename] = append(edits[p.Range.Filename], *edit)
		}
	}
	u.tally.files += len(edits)
	if u.check {
		return errs.Err()
	}
	return errs.AppendError(writeEdits(files, edits, &u.tally)).Err()
}

// place returns the edit that raises the constraint at p, or nil if the constraint stays.
func (u *updateRun) place(ctx context.Context, p upgrade.Place) (*upgrade.Edit, error) {
	u.tally.met(p)
	w := firstRequest(u.requests, p)
	if w == nil {
		return nil, nil
	}
	w.met = true
	if p.Problem != "" {
		u.session.Warnings.Add(tfdiags.Warningf("Constraint left alone",
			"The version constraint of %s can't be raised: %s.", p, p.Problem).At(p.Range))
		return nil, nil
	}
	text, err := w.raise(ctx, p, u.chosen)
	at := fmt.Sprintf("%s: %s", tfdiags.Place(p.Range), p)
	switch {
	case errors.Is(err, upgrade.ErrNewer):
		u.tally.current++
		u.session.Say("- %s %q stays: %s", at, p.Text, err)
	case errors.As(err, new(*noNewestError)):
		if !u.tally.unknown[p.String()] {
			u.tally.unknown[p.String()] = true
			return nil, tfdiags.Errorf("Constraints not raised",
				"The version constraints of %s were left alone, here and elsewhere: %s.", p, err).At(p.Range)
		}
	case err != nil:
		return nil, tfdiags.Errorf("Constraint not raised",
			"The version constraint of %s was left alone: %s.", p, err).At(p.Range)
	case text == p.Text:
		u.tally.current++
	default:
		u.tally.raised++
		if p.Kind == upgrade.Provider {
			u.tally.providers++
		}
		u.session.Say("- %s %q -> %q", at, p.Text, text)
		return &upgrade.Edit{Place: p, Text: text}, nil
	}
	return nil, nil
}

// writeEdits writes the files that have edits. It continues after a failure.
func writeEdits(files []upgrade.File, edits map[string][]upgrade.Edit, tally *updateTally) error {
	var errs tfdiags.Diagnostics
	for _, f := range files {
		changes := edits[f.Name]
		if len(changes) == 0 {
			continue
		}
		if err := atomicfile.Rewrite(f.Name, upgrade.Apply(f.Source, changes)); err != nil {
			tally.files--
			tally.raised -= len(changes)
			errs = errs.Append(tfdiags.Errorf("Configuration not written", "The file %s stays as it was: %s.",
				f.Name, roots.WithoutPath(err)))
		}
	}
	return errs.Err()
}

// firstRequest returns the most specific request that matches a place, or nil if none matches.
func firstRequest(requests []*upgradeRequest, p upgrade.Place) *upgradeRequest {
	var found []*upgradeRequest
	for _, w := range requests {
		if w.matches(p) {
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return slices.MinFunc(found, func(a, b *upgradeRequest) int {
		return cmp.Compare(strings.Count(a.source, "*"), strings.Count(b.source, "*"))
	})
}
