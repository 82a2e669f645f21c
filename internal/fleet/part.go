package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"tofu/internal/dag"
	"tofu/internal/engine"
	"tofu/internal/lang/marks"
	"tofu/internal/roots"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/driftview"
)

// Part is the work on the selected root module of a run, while other processes work on the others.
type Part struct {
	Run *Run
	// InRun reports whether the whole run has a root module.
	InRun func(name string) bool
	// Given are the outputs of root modules that others have planned or applied, by name, as Plan and Apply
	// return them.
	Given map[string][]byte
}

// partOutputs are the outputs of a root module that others have planned or applied.
type partOutputs struct {
	storedInputs
	Undecided []string `json:"undecided,omitempty"`
	Enforced  bool     `json:"enforced,omitempty"`
}

// encode returns the outputs as bytes.
func (o *outputs) encode() ([]byte, error) {
	to := partOutputs{Undecided: o.undecided, Enforced: o.enforced}
	plain := make(map[string]cty.Value, len(o.values))
	for name, v := range o.values {
		if marks.Contains(v, marks.Sensitive) {
			to.Sensitive = append(to.Sensitive, name)
		}
		plain[name], _ = v.UnmarkDeep()
	}
	var err error
	if to.Values, err = msgpack.Marshal(cty.ObjectVal(plain), cty.DynamicPseudoType); err != nil {
		return nil, fmt.Errorf("encoding outputs: %w", err)
	}
	return json.Marshal(to)
}

// given decodes the outputs of the other root modules.
func (p *Part) given() (map[string]*outputs, error) {
	out := make(map[string]*outputs, len(p.Given))
	for name, text := range p.Given {
		var from partOutputs
		err := json.Unmarshal(text, &from)
		var in *input
		if err == nil {
			in, err = from.input()
		}
		if err != nil {
			return nil, fmt.Errorf("decoding the outputs of %s: %w", name, err)
		}
		out[name] = &outputs{values: in.values, undecided: from.Undecided, enforced: from.Enforced}
	}
	return out, nil
}

// Plan plans the root module like [Run.Plan]. It also returns the planned outputs; nil after a failure.
func (p *Part) Plan(ctx context.Context, opts engine.PlanOptions, into *Archive) (*Result, []byte, error) {
	given, err := p.given()
	if err != nil {
		return nil, nil, err
	}
	r := p.Run.Selected[0]
	planning := p.Run.planning(opts, into)
	for _, other := range p.Run.Estate.Roots {
		planning.selected[other] = p.InRun(other.Name)
		if o := given[other.Name]; o != nil {
			planning.outputs[other] = o
		}
	}
	results := planning.all(ctx)
	if err := into.Close(p.Run, results); err != nil || results[0].Failed() {
		return results[0], nil, err
	}
	out, err := planning.planned(r).encode()
	return results[0], out, err
}

// Apply applies the plan of the root module in an archive like [Run.Apply]. It also returns the outputs of the
// root module; nil after a failure.
func (p *Part) Apply(ctx context.Context, opts engine.ApplyOptions, from *Saved, rec *Record) (*Result, []byte, error) {
	given, err := p.given()
	if err != nil {
		return nil, nil, err
	}
	a := newApplying(p.Run, opts, from, rec)
	for name, o := range given {
		a.keep(name, o.values)
	}
	result := a.all(ctx)[0]
	r := p.Run.Selected[0]
	if result.Failed() {
		return result, nil, nil
	}
	out := &outputs{values: a.outputs[r.Name]}
	if out.values == nil { // nothing was applied
		if out, err = p.Run.storedOutputs(ctx, r); err != nil || out == nil {
			return result, nil, err
		}
	}
	text, err := out.encode()
	return result, text, err
}

// NewRecord returns a record for the part of an archive with one root module. begun says that an earlier try
// has begun to apply it. begins is called before objects change; after an error, nothing changes.
func NewRecord(root string, begun bool, begins func() error) *Record {
	rec := NoRecord()
	rec.begins = begins
	if begun {
		rec.done[root] = stepStarted
	}
	return rec
}

// storedResult is a Result as bytes.
type storedResult struct {
	Skipped    bool               `json:"skipped,omitempty"`
	Why        string             `json:"why,omitempty"`
	Because    string             `json:"because,omitempty"`
	Unplanned  bool               `json:"unplanned,omitempty"`
	Done       bool               `json:"done,omitempty"`
	Applying   bool               `json:"applying,omitempty"`
	Elapsed    time.Duration      `json:"elapsed"`
	Plan       *PlanSummary       `json:"plan,omitempty"`
	Applied    *ui.Applied        `json:"applied,omitempty"`
	Incomplete *ui.Incomplete     `json:"incomplete,omitempty"`
	Drift      *driftview.Stored  `json:"drift,omitempty"`
	Errors     []storedDiagnostic `json:"errors,omitempty"`
}

// storedDiagnostic is a diagnostic as bytes.
type storedDiagnostic struct {
	Warning bool       `json:"warning,omitempty"`
	Summary string     `json:"summary"`
	Detail  string     `json:"detail,omitempty"`
	Address string     `json:"address,omitempty"`
	Subject *hcl.Range `json:"subject,omitempty"`
	Context *hcl.Range `json:"context,omitempty"`
	Extra   string     `json:"extra,omitempty"`
	Check   string     `json:"check,omitempty"`
}

// EncodeDiagnostics returns diagnostics as bytes, without the values of their expressions.
func EncodeDiagnostics(list tfdiags.Diagnostics) ([]byte, error) {
	return json.Marshal(storeDiagnostics(list))
}

// DecodeDiagnostics is the inverse of EncodeDiagnostics.
func DecodeDiagnostics(text []byte) (tfdiags.Diagnostics, error) {
	var stored []storedDiagnostic
	err := json.Unmarshal(text, &stored)
	return restoreDiagnostics(stored), err
}

func storeDiagnostics(list tfdiags.Diagnostics) (out []storedDiagnostic) {
	for _, d := range list {
		s := storedDiagnostic{Warning: d.Severity == tfdiags.Warning, Summary: d.Summary, Detail: d.Detail,
			Address: d.Address, Subject: d.Subject, Context: d.Context}
		switch extra := d.Extra.(type) {
		case tfdiags.Interrupted:
			s.Extra = "interrupted"
		case tfdiags.StalePlan:
			s.Extra = "stale"
		case tfdiags.CheckRule:
			s.Extra, s.Check = "check", extra.Address
		}
		out = append(out, s)
	}
	return out
}

func restoreDiagnostics(stored []storedDiagnostic) (out tfdiags.Diagnostics) {
	for _, s := range stored {
		d := tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: s.Summary, Detail: s.Detail, Address: s.Address,
			Subject: s.Subject, Context: s.Context}
		if s.Warning {
			d.Severity = tfdiags.Warning
		}
		switch s.Extra {
		case "interrupted":
			d.Extra = tfdiags.Interrupted{}
		case "stale":
			d.Extra = tfdiags.StalePlan{}
		case "check":
			d.Extra = tfdiags.CheckRule{Address: s.Check}
		}
		out = append(out, d)
	}
	return out
}

// Encode returns the result as bytes. The root module isn't part of them.
func (r *Result) Encode() ([]byte, error) {
	return json.Marshal(storedResult{Skipped: r.Skipped, Why: r.Why, Because: r.Because, Unplanned: r.Unplanned, Done: r.Done,
		Applying: r.applying, Elapsed: r.Elapsed, Plan: r.Plan, Applied: r.Applied, Incomplete: r.Incomplete,
		Drift: r.Drift.Store(), Errors: storeDiagnostics(tfdiags.FromError(r.Err))})
}

// DecodeResult returns the result of a root module from the bytes that Encode returned.
func DecodeResult(root *roots.Root, text []byte) (*Result, error) {
	var s storedResult
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("decoding the result of %s: %w", root.Name, err)
	}
	return &Result{Root: root, Skipped: s.Skipped, Why: s.Why, Because: s.Because, Unplanned: s.Unplanned, Done: s.Done,
		applying: s.Applying, Elapsed: s.Elapsed, Plan: s.Plan, Applied: s.Applied, Incomplete: s.Incomplete,
		Drift: s.Drift.Restore(), Err: restoreDiagnostics(s.Errors).Err()}, nil
}

// Left reports whether something can be planned only after the plan is applied.
func (r *Result) Left() bool { return r.Plan != nil && r.Plan.left() }

// Order returns the selected root modules in the order of a run, and for each of them the indexes of those that
// must have ended first, and of those of these that must have succeeded.
func (run *Run) Order(reverse bool) (list []*roots.Root, needs, uses [][]int) {
	q := run.order(reverse)
	indexes := func(ids []dag.ID) (out []int) {
		for _, id := range ids {
			out = append(out, int(id))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	for i := range q.list {
		needs, uses = append(needs, indexes(q.graph.Needs(dag.ID(i)))), append(uses, indexes(q.uses[i]))
	}
	return q.list, needs, uses
}
