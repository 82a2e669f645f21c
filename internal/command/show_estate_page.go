package command

import (
	"context"
	"io"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/fleet"
	"tofu/internal/session"
	"tofu/internal/ui/page"
	"tofu/internal/version"
)

// page writes a page with the plans of all root modules.
func (e *estateShow) page(ctx context.Context, name string, w io.Writer) error {
	about := &page.Estate{Title: filepath.Base(name), Summary: e.saved.Summary().Text(), Mode: e.saved.Mode, Plan: true,
		Program: version.Build()}
	for i := range e.saved.Moves {
		about.Moves = append(about.Moves, e.saved.Moves[i].String())
	}
	at := make(map[string]int)
	for _, p := range e.saved.Roots {
		at[p.Name] = len(at)
	}
	for _, f := range e.saved.Failed {
		at[f.Name] = len(at)
	}
	for _, p := range e.saved.Roots {
		about.Roots = append(about.Roots, e.pageRoot(ctx, p, at))
	}
	for _, f := range e.saved.Failed {
		r, err := e.failedRoot(ctx, f, at)
		if err != nil {
			return err
		}
		about.Roots = append(about.Roots, r)
	}
	return page.WriteEstate(w, about)
}

// pageRoot returns the part of the page about a root module. at maps the names of root modules
// to their positions on the page.
func (e *estateShow) pageRoot(ctx context.Context, p *fleet.Planned, at map[string]int) *page.Root {
	r := &page.Root{Name: p.Name, Dir: p.Dir, Status: page.Unchanged, Reads: pageReads(p.Reads, at)}
	switch {
	case len(p.Waits) > 0:
		r.Status, r.Why = page.Waits, p.WaitsFor()
	case p.Changes || p.Deferred > 0:
		r.Status = page.Changes
	}
	if p.Plan == "" {
		return r
	}
	r.Show = func(show func(*page.Content) error) error {
		return e.plan(ctx, p, func(at *showRun, plan *session.SavedPlan) error {
			unknown, err := e.saved.Unknown(ctx, at.app.Session, p)
			if err != nil {
				return err
			}
			return withPageContent(ctx, at.app.Session, plan, func(c *page.Content) error {
				c.Unknown = unknown
				return show(c)
			})
		})
	}
	return r
}

// failedRoot returns the part of the page about a root module that was not planned.
func (e *estateShow) failedRoot(ctx context.Context, f *fleet.Unplanned, at map[string]int) (*page.Root, error) {
	r := &page.Root{Name: f.Name, Dir: f.Dir, Status: page.Failed, Why: f.Why, Reads: pageReads(f.Reads, at)}
	if f.Skipped() {
		r.Status = page.NotPlanned
	}
	found, err := e.errors(ctx, f)
	for _, one := range found {
		r.Errors = append(r.Errors, page.Problem{Summary: one.Summary, Detail: one.Detail, At: one.At})
	}
	return r, err
}

func pageReads(list []fleet.Read, at map[string]int) []page.Read {
	var out []page.Read
	for _, read := range list {
		to, ok := at[read.Root]
		if !ok {
			continue
		}
		out = append(out, page.Read{Root: to, Kind: string(read.Kind), User: read.User,
			At:  &hcl.Range{Filename: read.File, Start: hcl.Pos{Line: read.Line}},
			All: read.All, Outputs: read.Outputs})
	}
	return out
}
