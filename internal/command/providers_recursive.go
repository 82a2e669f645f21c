package command

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/depsfile/install"
	"tofu/internal/getmodules"
	"tofu/internal/registry"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// lockRecursive runs `providers lock -recursive`.
func lockRecursive(ctx context.Context, s *session.Session, f *providersLockFlags, dirs []string) error {
	job, err := openLockJob(s, f)
	if err != nil {
		return err
	}
	defer job.close()
	progress := job.progress
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	shared := getmodules.NewShared(registry.New(s.CLI), progress.module)
	defer func() { _ = shared.Close() }()
	roots, broken, unsure, err := findRoots(ctx, dirs, shared, progress.remark)
	s.Warnings.Add(unsure...)
	if ctx.Err() != nil {
		return err
	}
	if len(roots)+len(broken) == 0 && err == nil {
		s.Warnings.Add(tfdiags.Warningf("No root modules found",
			"No configuration in or below %s needs providers. Hidden directories and symbolic links are "+
				"skipped.", someOf(dirs)))
	}
	for _, dir := range broken {
		s.Say("- %s: failed", dir)
	}
	run := &lockRun{term: s.Terminal, check: f.Check, roots: roots, lines: make([]string, len(roots)),
		progress: progress, failed: len(broken)}
	results := job.locker.LockAll(ctx, roots, job.platforms, run.finish)
	progress.end()
	return tfdiags.Join(err, run.report(results, len(roots)+len(broken)))
}

// lockRun writes the lock files of many root modules as they become ready, and prints the results
// in the order of the modules.
type lockRun struct {
	term     *terminal.Terminal
	check    bool // whether to write no files (-check)
	roots    []install.Root
	progress *downloads

	mu                       sync.Mutex // guards the fields below
	lines                    []string   // text for each module; empty until the module is done
	told, done               int
	updated, current, failed int
	errs                     tfdiags.Diagnostics
}

// report prints how many root modules have each result, and returns the errors of the run.
func (l *lockRun) report(results []install.RootResult, modules int) error {
	dirs, errs := make([]string, len(results)), make([]error, len(results))
	for i, r := range results {
		dirs[i], errs[i] = l.roots[i].Dir, r.Err
	}
	err := tfdiags.Join(l.errs.Err(), joinByDir(dirs, errs))
	verb := "updated"
	if l.check {
		verb = "to be updated"
	}
	l.term.Say("\n%s: %d %s, %d up to date, %d failed.", ui.Count(modules, "root module"), l.updated, verb, l.current,
		l.failed)
	if !l.check || l.updated == 0 {
		return err
	}
	return tfdiags.Join(err, tfdiags.Errorf("Lock files are out of date",
		"Incomplete or out of date: %s. Run \"tofu providers lock -recursive\" with the same platforms to "+
			"update what is missing.",
		ui.Count(l.updated, "lock file")))
}

// finish writes the lock file of the i-th root module and prints its line. It is called
// concurrently, because each write waits for the disk.
func (l *lockRun) finish(i int, r install.RootResult) {
	text, count, err := l.write(l.roots[i], r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = l.errs.AppendError(err)
	l.lines[i] = fmt.Sprintf("- %s: %s", l.roots[i].Dir, text)
	*count++
	l.done++
	l.progress.around(func() {
		for ; l.told < len(l.lines) && l.lines[l.told] != ""; l.told++ {
			l.term.Say("%s", l.lines[l.told])
		}
	})
	l.progress.remark(fmt.Sprintf("%d of %d root modules", l.done, len(l.roots)))
}

// write writes a lock file if it changed. It returns a description of the result, and the counter
// to increment.
func (l *lockRun) write(root install.Root, r install.RootResult) (text string, count *int, err error) {
	switch {
	case r.Err != nil:
		return "failed", &l.failed, nil
	case !r.Locks.Differs(root.LockFile()):
		return "up to date", &l.current, nil
	case l.check:
		return "needs an update (" + summary(r) + ")", &l.updated, nil
	}
	if err := r.Locks.Save(root.LockFile()); err != nil {
		return "failed", &l.failed, err
	}
	return "updated (" + summary(r) + ")", &l.updated, nil
}

// joinByDir joins the errors of the modules in dirs. An error that several modules have, such
// as an unavailable provider, is reported once with their directories.
func joinByDir(dirs []string, errs []error) error {
	type problem struct{ summary, detail, place string }
	key := func(d tfdiags.Diagnostic) problem {
		p := problem{summary: d.Summary, detail: d.Detail}
		if d.Subject != nil {
			p.place = d.Subject.String()
		}
		return p
	}
	where := make(map[problem][]string)
	var first tfdiags.Diagnostics
	for i, err := range errs {
		for _, d := range tfdiags.FromError(err) {
			p := key(d)
			if where[p] == nil {
				first = append(first, d)
			}
			if n := len(where[p]); n == 0 || where[p][n-1] != dirs[i] {
				where[p] = append(where[p], dirs[i])
			}
		}
	}
	for i, d := range first {
		if in := where[key(d)]; d.Subject == nil || len(in) > 1 {
			first[i].Detail = "In " + someOf(in) + ": " + d.Detail
		}
	}
	return first.Err()
}

// someOf returns a list of the first few names, with the number of the others.
func someOf(names []string) string {
	const few = 3
	if len(names) <= few+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// summary returns a short description of the changes in a lock file.
func summary(r install.RootResult) string {
	more := make(map[addrs.Provider]bool)
	for _, item := range r.Added {
		if item.New || item.More {
			more[item.Provider] = true
		}
	}
	var names []string
	for _, p := range r.Locks.Providers() {
		if lock, _ := r.Locks.Provider(p); more[p] {
			names = append(names, p.ForDisplay()+" "+lock.Version.String())
		}
	}
	if len(names) == 0 {
		return "constraints"
	}
	return strings.Join(names, ", ")
}
