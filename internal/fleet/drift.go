package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/driftview"
	"tofu/internal/ui/review"
	"tofu/internal/ui/termtext"
)

// DriftOf returns what was changed outside in one root module. It returns both a report and an error
// if only a part of it could be found out. progress is told of the reads.
func DriftOf(
	ctx context.Context, op *session.Operation, opts engine.PlanOptions, showSensitive bool, progress func(engine.Event),
) (*driftview.Report, error) {
	opts.Mode, opts.NotSaved = plans.RefreshOnly, true
	op.Env.Observe = progress
	plan, err := op.PlanUnseen(ctx, &opts)
	if plan == nil {
		return nil, err
	}
	// Outputs of the root module may need objects that are gone, and none of the objects needs the outputs.
	outputs := op.Config.Config.Module.Outputs
	err = tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
		return diags.Filter(func(d tfdiags.Diagnostic) bool {
			for _, o := range outputs {
				if d.Subject != nil && o.Expr.Range().Overlaps(*d.Subject) {
					return false
				}
			}
			return true
		})
	})
	report := driftview.New(&ui.PlanView{Plan: plan, Config: op.Config.Config,
		Schemas: op.Providers.Schemas(ctx, tfdiags.Drop)}, showSensitive)
	for _, d := range tfdiags.FromError(err) {
		report.Fail(d.Summary + ": " + d.Detail)
	}
	return report, err
}

var readingRoots = activity{"Reading the objects of root modules", "Reading"}

// DriftReport says what was changed outside in many root modules. It is also the JSON document.
type DriftReport struct {
	FormatVersion string      `json:"format_version"`
	Drifted       bool        `json:"drifted"`
	Roots         []RootDrift `json:"roots"`
}

// RootDrift is the drift of one root module.
type RootDrift struct {
	Name   string            `json:"name"`
	Drift  *driftview.Report `json:"drift,omitempty"` // nil if the root module could not be read
	Errors []ReportedError   `json:"errors,omitempty"`
}

// Drift finds out what was changed outside in all root modules of the run. It takes no locks. Root
// modules are read with the outputs that the states of others have now.
func (run *Run) Drift(ctx context.Context, opts engine.PlanOptions, showSensitive bool) []*Result {
	p := run.planning(opts, nil)
	return run.each(ctx, readingRoots, false, func(ctx context.Context, s *session.Session, r *roots.Root) *Result {
		result := &Result{Root: r, Err: r.Err}
		if r.Err != nil {
			return result
		}
		if result.Err = p.setVariables(ctx, s, r, &inputs{}); result.Err != nil {
			return result
		}
		op, err := s.StartOperation(ctx, run.Options, session.OperationRead)
		if err != nil {
			result.Err = err
			return result
		}
		defer op.Close()
		report, err := DriftOf(ctx, op, opts, showSensitive,
			func(e engine.Event) { run.Session.Live.RootEvent(r.Name, e) })
		result.Drift, result.Err = report, err
		if report == nil {
			return result
		}
		if err == nil && len(report.Unread) > 0 {
			result.Err = tfdiags.Errorf("Objects could not be read", "Of the objects of %s, %d could not be read, such as "+
				"%s. The others were compared.", r.Name, len(report.Unread), report.Unread[0])
		}
		if report.Drifted || len(report.Unread) > 0 {
			result.Err = tfdiags.Join(result.Err, report.Text(s.Out, termtext.Style{}))
		}
		return result
	})
}

// NewDriftReport returns the report of the results of [Run.Drift].
func NewDriftReport(results []*Result) *DriftReport {
	out := &DriftReport{FormatVersion: reportFormat}
	for _, result := range results {
		of := result.Drift
		out.Roots = append(out.Roots, RootDrift{Name: result.Root.Name, Drift: of, Errors: reportedErrors(result.Err)})
		out.Drifted = out.Drifted || of != nil && of.Drifted
	}
	return out
}

// JSON writes the report as a JSON document.
func (r *DriftReport) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Markdown writes the report, without the root modules that have no drift.
func (r *DriftReport) Markdown(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "**%s**\n", review.Escape(r.Summary())); err != nil {
		return err
	}
	for _, root := range r.Roots {
		switch {
		case root.Drift != nil && (root.Drift.Drifted || len(root.Drift.Unread)+len(root.Errors) > 0):
			if _, err := fmt.Fprintf(w, "\n## %s\n\n", review.Code(root.Name)); err != nil {
				return err
			}
			if err := root.Drift.Markdown(w); err != nil {
				return err
			}
		case len(root.Errors) > 0:
			text := fmt.Sprintf("\n## %s\n\n**Error:** %s\n", review.Code(root.Name), review.Escape(root.Errors[0].Summary))
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// Summary returns a sentence about all root modules.
func (r *DriftReport) Summary() string {
	drifted, failed := 0, 0
	for _, root := range r.Roots {
		if root.Drift != nil && root.Drift.Drifted {
			drifted++
		}
		if len(root.Errors) > 0 {
			failed++
		}
	}
	return fmt.Sprintf("Of %s: %d with drift, %d with errors.", ui.Count(len(r.Roots), "root module"), drifted, failed)
}
