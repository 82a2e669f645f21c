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

// Answer is the answer to a question about one address. Its JSON form is the document that `explain
// -json` prints.
type Answer struct {
	FormatVersion string    `json:"format_version"`
	Address       string    `json:"address"`
	InPlan        bool      `json:"in_plan"` // whether some object at the address changes
	Objects       []*Object `json:"objects,omitempty"`
	// Output explains the change of an output of the root module, for an address such as
	// output.url.
	Output *Attribute `json:"output,omitempty"`
	// Value explains a variable, a local, an output of a module, or a data source. If it is set,
	// InPlan says whether some change uses the value.
	Value *NamedValue `json:"value,omitempty"`
	// LastChange is the last change of an object at the address, if none of them is in the plan.
	LastChange *LastChange `json:"last_change,omitempty"`
	Omitted    int         `json:"omitted_objects,omitempty"` // number of changes that are not in Objects
	WhyNot     []*Ground   `json:"why_not,omitempty"`
}

// NamedValue explains a variable, a local, an output of a module, or what a data source returned.
type NamedValue struct {
	Kind        string     `json:"kind"`            // variable, local, output or data
	Place       *Place     `json:"place,omitempty"` // place of the declaration
	Description string     `json:"description,omitempty"`
	Origin      string     `json:"origin,omitempty"`    // how the variable was set
	SetAt       *Place     `json:"set_at,omitempty"`    // place of the argument of the module call
	Instances   []*Content `json:"instances,omitempty"` // by module instance, or by instance of a data source
	Problem     string     `json:"problem,omitempty"`
	Sources     []*Source  `json:"sources,omitempty"`
	Readers     []*Reader  `json:"readers,omitempty"`
	Changes     []*Other   `json:"changes,omitempty"` // planned changes that use the value, directly or through others
}

// Content is the value of a NamedValue in one instance.
type Content struct {
	Address string `json:"address"`
	// Value is the value written as an expression, without sensitive parts. It is "" if the value
	// can't be evaluated.
	Value   string `json:"value,omitempty"`
	Unknown bool   `json:"known_after_apply,omitempty"`
}

// Reader is a block that refers to a value.
type Reader struct {
	Address string `json:"address"` // address without instance keys
	Kind    string `json:"kind"`    // the same as in the documents of package graphview
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
	Place           *Place       `json:"place,omitempty"` // place of the resource block
	Attributes      []*Attribute `json:"attributes,omitempty"`
	WaitsFor        []*Other     `json:"waits_for,omitempty"`
	WaitedForBy     []*Other     `json:"waited_for_by,omitempty"`
	TakesAlong      []*Other     `json:"takes_along,omitempty"` // objects that change because this object is destroyed
	Provider        *Provider    `json:"provider"`
	Conditions      *Conditions  `json:"conditions,omitempty"`
	CheckedBy       []*Condition `json:"checked_by,omitempty"`  // conditions of other blocks that read the object
	LastChange      *LastChange  `json:"last_change,omitempty"` // nil if the history of the state has none

	change *plans.InstanceChange
}

// LastChange is the latest change of an object in the history of the state.
type LastChange struct {
	statemgr.ByRun
	Address    string   `json:"address"`
	Action     string   `json:"action"`               // create, update or delete
	Attributes []string `json:"attributes,omitempty"` // attributes that an update changed
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
	Parts   []string  `json:"parts,omitempty"` // changed members, if the attribute is an object
	Forces  bool      `json:"forces_replacement,omitempty"`
	Unknown bool      `json:"known_after_apply,omitempty"`
	Place   *Place    `json:"place,omitempty"` // where the configuration sets it
	Cause   string    `json:"cause,omitempty"`
	Sources []*Source `json:"sources,omitempty"`
}

// valueText returns a value as an expression. Sensitive and ephemeral parts are hidden.
func valueText(v cty.Value) string {
	if bare, marks := v.Unmark(); bare.IsNull() && len(marks) == 0 {
		return "null"
	}
	return ui.FormatValue(v)
}

// inlineText returns a value on one line, for use in a sentence.
func inlineText(v cty.Value) string {
	text := []rune(planview.Inline((&valuediff.Differ{}).Value(v, v)))
	if len(text) > maxInline {
		return string(text[:maxInline-1]) + "…"
	}
	return string(text)
}

// maxInline limits the number of characters of a value in a sentence.
const maxInline = 120

// Certainty says whether a source changed.
type Certainty string

const (
	Changed  Certainty = "changed"
	Possible Certainty = "possible" // the plan doesn't say what the value was before
	Same     Certainty = "unchanged"
)

// Source is something that a value is computed from, such as a variable or an attribute of an
// object.
type Source struct {
	Reference string    `json:"reference"`
	Place     *Place    `json:"place,omitempty"` // place of the reference to the source
	Text      string    `json:"text,omitempty"`  // what is known about the source
	Changed   Certainty `json:"changed"`
	Sources   []*Source `json:"sources,omitempty"` // what the value of the source is computed from
}

// Other is an object other than the explained one, several objects of one resource with the same
// action, or a root output.
type Other struct {
	Address string `json:"address"`
	Count   int    `json:"count"`
	Action  string `json:"action"`
	// Indirect says that another object in the same list comes between.
	Indirect bool `json:"indirect,omitempty"`
	// Part is the part of the explained object's replacement that waits for the other object, or
	// that the other object waits for, such as create or delete. It is empty if the explained
	// object isn't replaced, or if both parts are meant.
	Part string `json:"part,omitempty"`
}

// Provider is the provider that makes a change.
type Provider struct {
	Address string `json:"address"` // address of the provider configuration
	Version string `json:"version,omitempty"`
	Place   *Place `json:"place,omitempty"` // place of the provider block
}

// Conditions holds the conditions in the block of an object, and their result.
type Conditions struct {
	Status   string   `json:"status"`
	Messages []string `json:"messages,omitempty"` // the error messages of the conditions that failed
	Places   []*Place `json:"places"`
}

// Condition is a condition of another block that reads an object: of a check block, or a
// precondition or postcondition of a resource or an output.
type Condition struct {
	Address  string   `json:"address"` // address of the block
	Status   string   `json:"status"`  // status of all conditions of the block
	Messages []string `json:"messages,omitempty"`
	Place    *Place   `json:"place"`
}

// Ground is a reason why something is not in the plan.
type Ground struct {
	Code  string `json:"code"`
	Text  string `json:"text"`
	Place *Place `json:"place,omitempty"`
}
