package ui

import (
	"io"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/ui/planview"
)

// actionCounts maps actions, such as "create" or "delete-create", to numbers of objects.
type actionCounts map[string]int

// planSummary is the document of `plan -summary-json`.
type planSummary struct {
	FormatVersion string                  `json:"format_version"`
	Mode          string                  `json:"mode"`
	Errored       bool                    `json:"errored"`
	Applyable     bool                    `json:"applyable"`
	Complete      bool                    `json:"complete"`
	Actions       actionCounts            `json:"actions"`
	Types         map[string]actionCounts `json:"types"` // by resource type; "data.TYPE" for data sources
	// Counts by module address, without instance keys; the root module is "root".
	Modules  map[string]actionCounts `json:"modules"`
	Imported int                     `json:"imported"`
	Moved    int                     `json:"moved"`
	// Number of objects changed outside of OpenTofu since the last apply.
	ChangedOutside int           `json:"changed_outside"`
	Deferred       int           `json:"deferred"` // number of changes that can't be planned yet
	Outputs        actionCounts  `json:"outputs"`
	LookedAt       *plans.Looked `json:"looked_at,omitempty"` // nil if the plan has read all objects
}

const summaryFormat = "1.0"

// modeNames maps planning modes to their names in JSON documents.
var modeNames = [...]string{plans.Normal: "normal", plans.Destroy: "destroy", plans.RefreshOnly: "refresh-only"}

// WriteSummary writes how many objects a plan changes as a JSON document. It counts objects
// without a change only if they are imported or moved.
func WriteSummary(w io.Writer, plan *plans.Plan) error {
	out := planSummary{FormatVersion: summaryFormat, Mode: modeNames[plan.Mode], Errored: plan.Errored,
		Applyable: plan.Applyable, Complete: plan.Complete, Actions: actionCounts{}, Types: map[string]actionCounts{},
		Modules: map[string]actionCounts{}, Outputs: actionCounts{}}
	source := &planview.Source{Plan: plan}
	for _, c := range source.Listed() {
		if c.Importing != nil {
			out.Imported++
		}
		if c.MovedFrom != nil {
			out.Moved++
		}
		if c.Action != plans.NoOp {
			action := c.Action.String()
			out.Actions[action]++
			count(out.Types, typeName(c.Addr.Resource), action)
			count(out.Modules, moduleName(c.Addr.Module.Module()), action)
		}
	}
	for range plan.Changes.Invocations() {
		out.Actions[plans.Invoke.String()]++
	}
	for _, o := range source.ChangedOutputs() {
		out.Outputs[o.Action.String()]++
	}
	out.Deferred, out.LookedAt = len(plan.Deferred), plan.Looked
	out.ChangedOutside = len(source.RealDrift())
	return writeIndented(w, out)
}

func count(in map[string]actionCounts, key, action string) {
	if in[key] == nil {
		in[key] = actionCounts{}
	}
	in[key][action]++
}

func typeName(r addrs.Resource) string {
	if r.Mode == addrs.Data {
		return "data." + r.Type
	}
	return r.Type
}

func moduleName(m addrs.Module) string {
	if m.IsRoot() {
		return "root"
	}
	return m.String()
}
