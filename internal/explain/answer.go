package explain

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/valuediff"
)

// Answer is the answer about one address. Its JSON form is the document of `explain -json`.
type Answer struct {
	FormatVersion string    `json:"format_version"`
	Address       string    `json:"address"`
	InPlan        bool      `json:"in_plan"` // some object changes
	Objects       []*Object `json:"objects,omitempty"`
	// Output explains the change of an output of the root module, for an address such as
	// output.url.
	Output *Attribute `json:"output,omitempty"`
	// Value explains a variable, a local, an output of a module, or a data source. Then InPlan says
	// that some change uses it.
	Value *NamedValue `json:"value,omitempty"`
	// LastChange is that of what is at the address, if nothing there is in the plan.
	LastChange *LastChange `json:"last_change,omitempty"`
	Omitted    int         `json:"omitted_objects,omitempty"` // changes that are not among Objects
	WhyNot     []*Ground   `json:"why_not,omitempty"`
}

// NamedValue explains a variable, a local, an output of a module, or what a data source returned.
type NamedValue struct {
	Kind        string     `json:"kind"`            // variable, local, output or data
	Place       *Place     `json:"place,omitempty"` // of the declaration
	Description string     `json:"description,omitempty"`
	Origin      string     `json:"origin,omitempty"`    // how it was set
	SetAt       *Place     `json:"set_at,omitempty"`    // the argument of the module call
	Instances   []*Content `json:"instances,omitempty"` // by module instance, or by instance of a data source
	Problem     string     `json:"problem,omitempty"`
	Sources     []*Source  `json:"sources,omitempty"`
	Readers     []*Reader  `json:"readers,omitempty"`
	Changes     []*Other   `json:"changes,omitempty"` // planned changes that use it, directly or through others
}

// Content is the value of something in one instance.
type Content struct {
	Address string `json:"address"`
	// Value is an expression, without sensitive values. It is "" if it can't be evaluated.
	Value   string `json:"value,omitempty"`
	Unknown bool   `json:"known_after_apply,omitempty"`
}

// Reader is a block that refers to a value.
type Reader struct {
	Address string `json:"address"` // without instance keys
	Kind    string `json:"kind"`    // as in the documents of package graphview
	Place   *Place `json:"place,omitempty"`
}

// Object explains the change of one object.
type Object struct {
	Address         string       `json:"address"`
	Deposed         string       `json:"deposed,omitempty"`
	PreviousAddress string       `json:"previous_address,omitempty"`
	Action          string       `json:"action"`
	Reason          string       `json:"action_reason,omitempty"`
	Summary         string       `json:"summary"`
	Notes           []string     `json:"notes,omitempty"`
	Place           *Place       `json:"place,omitempty"` // of the block
	Attributes      []*Attribute `json:"attributes,omitempty"`
	WaitsFor        []*Other     `json:"waits_for,omitempty"`
	WaitedForBy     []*Other     `json:"waited_for_by,omitempty"`
	TakesAlong      []*Other     `json:"takes_along,omitempty"` // objects that change because this one is destroyed
	Provider        *Provider    `json:"provider"`
	Conditions      *Conditions  `json:"conditions,omitempty"`
	CheckedBy       []*Condition `json:"checked_by,omitempty"`  // conditions of other blocks that read the object
	LastChange      *LastChange  `json:"last_change,omitempty"` // nil if no history of the state has it

	change *plans.InstanceChange
}

// LastChange is the latest change of an object that the history of the state has.
type LastChange struct {
	statemgr.ByRun
	Address    string   `json:"address"`
	Action     string   `json:"action"`               // create, update or delete
	Attributes []string `json:"attributes,omitempty"` // that an update changed
}

// Place is a line of a file.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

func (p *Place) String() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

func placeOf(at *hcl.Range) *Place {
	if at == nil || at.Filename == "" {
		return nil
	}
	return &Place{at.Filename, at.Start.Line}
}

// Attribute explains why an attribute or a block changes.
type Attribute struct {
	Name    string    `json:"name"`
	Before  string    `json:"before,omitempty"` // as an expression; sensitive values are hidden
	After   string    `json:"after,omitempty"`
	Parts   []string  `json:"parts,omitempty"` // the members of an object that change
	Forces  bool      `json:"forces_replacement,omitempty"`
	Unknown bool      `json:"known_after_apply,omitempty"`
	Place   *Place    `json:"place,omitempty"` // where the configuration sets it
	Cause   string    `json:"cause,omitempty"`
	Sources []*Source `json:"sources,omitempty"`
}

// valueText returns a value as an expression, without sensitive and ephemeral parts.
func valueText(v cty.Value) string {
	if bare, marks := v.Unmark(); bare.IsNull() && len(marks) == 0 {
		return "null"
	}
	return ui.FormatValue(v)
}

// inlineText returns a value on one line, for a sentence.
func inlineText(v cty.Value) string {
	text := []rune(planview.Inline((&valuediff.Differ{}).Value(v, v)))
	if len(text) > maxInline {
		return string(text[:maxInline-1]) + "…"
	}
	return string(text)
}

// maxInline is the number of characters of a value in a sentence.
const maxInline = 120

// Certainty says whether a source changed.
type Certainty string

const (
	Changed  Certainty = "changed"
	Possible Certainty = "possible" // the plan doesn't say what the value was before
	Same     Certainty = "unchanged"
)

// Source is something that a value comes from.
type Source struct {
	Reference string    `json:"reference"`
	Place     *Place    `json:"place,omitempty"` // where it is referred to
	Text      string    `json:"text,omitempty"`  // what is known about it
	Changed   Certainty `json:"changed"`
	Sources   []*Source `json:"sources,omitempty"` // what its own value comes from
}

// Other is another object, or several objects of one resource with the same action.
type Other struct {
	Address string `json:"address"`
	Count   int    `json:"count"`
	Action  string `json:"action"`
	// Part is the part of this object's replacement that waits for the other object, or for which that
	// one waits: create or delete. It is empty if the object isn't replaced, or if it is both parts.
	Part string `json:"part,omitempty"`
}

// Provider is the provider that makes a change.
type Provider struct {
	Address string `json:"address"` // of the provider configuration
	Version string `json:"version,omitempty"`
	Place   *Place `json:"place,omitempty"` // of the provider block
}

// Conditions are the conditions of an object and their result.
type Conditions struct {
	Status   string   `json:"status"`
	Messages []string `json:"messages,omitempty"` // the error messages of the conditions that failed
	Places   []*Place `json:"places"`
}

// Condition is what another block checks about an object: a check block, or a precondition or
// postcondition of a resource or an output.
type Condition struct {
	Address  string   `json:"address"` // of the block
	Status   string   `json:"status"`  // of all conditions of the block
	Messages []string `json:"messages,omitempty"`
	Place    *Place   `json:"place"`
}

// Ground is why something is not in the plan.
type Ground struct {
	Code  string `json:"code"`
	Text  string `json:"text"`
	Place *Place `json:"place,omitempty"`
}
