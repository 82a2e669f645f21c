package ui

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/ui/planview"
	"tofu/internal/version"
)

const (
	planFormat  = "1.2"
	stateFormat = "1.0"
)

// resourceAddress holds the fields for the address of an object in JSON documents.
type resourceAddress struct {
	Address         string          `json:"address"`
	PreviousAddress string          `json:"previous_address,omitempty"`
	ModuleAddress   string          `json:"module_address,omitempty"`
	Mode            string          `json:"mode"`
	Type            string          `json:"type"`
	Name            string          `json:"name"`
	Index           json.RawMessage `json:"index,omitempty"`
	IndexUnknown    bool            `json:"index_unknown,omitempty"` // only set for deferred changes
	ProviderName    string          `json:"provider_name"`
}

type resourceChange struct {
	resourceAddress
	Deposed string `json:"deposed,omitempty"`
	Change  change `json:"change"`
	Reason  string `json:"action_reason,omitempty"`
}

type change struct {
	Actions         []string          `json:"actions"`
	Before          json.RawMessage   `json:"before"`
	After           json.RawMessage   `json:"after,omitempty"`
	AfterUnknown    json.RawMessage   `json:"after_unknown"`
	BeforeSensitive json.RawMessage   `json:"before_sensitive"`
	AfterSensitive  json.RawMessage   `json:"after_sensitive"`
	ReplacePaths    []json.RawMessage `json:"replace_paths,omitempty"`
	Importing       *importing        `json:"importing,omitempty"`
	GeneratedConfig string            `json:"generated_config,omitempty"`
	BeforeIdentity  json.RawMessage   `json:"before_identity,omitempty"`
	AfterIdentity   json.RawMessage   `json:"after_identity,omitempty"`
}

type importing struct {
	ID       string          `json:"id,omitempty"`
	Identity json.RawMessage `json:"identity,omitempty"`
}

// plannedObject is an object and its sort key. Planned objects are sorted by their address as a
// string, so integer keys are not in numerical order.
type plannedObject struct {
	address string
	change  *plans.InstanceChange
}

type plannedOutput struct {
	Sensitive bool            `json:"sensitive"`
	Type      json.RawMessage `json:"type,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
}

type variableValue struct {
	Value json.RawMessage `json:"value"`
}

type relevantAttribute struct {
	Resource  string          `json:"resource"`
	Attribute json.RawMessage `json:"attribute"`
}

// planWriter writes one plan document.
type planWriter struct {
	*stream
	*PlanView
}

// WritePlan writes the document of `show -json` for a plan. compatible is the compatible version of
// OpenTofu, and engine is this program.
func WritePlan(w io.Writer, view *PlanView, compatible string, engine version.Info) error {
	p := &planWriter{stream: newStream(w), PlanView: view}
	p.object(func() {
		p.field("format_version", planFormat)
		p.field("terraform_version", compatible)
		p.variables()
		p.name("planned_values")
		p.plannedValues()
		p.changes("resource_drift", p.Source().ShownDrift(), false)
		p.changes("resource_changes", p.Source().Listed(), true)
		p.invocations()
		p.takenAlong()
		p.deferredChanges()
		if p.Plan.Past != nil {
			p.field("against", pastJSON(p.Plan.Past))
		}
		if p.Plan.Looked != nil {
			p.field("looked_at", p.Plan.Looked)
		}
		p.outputChanges()
		if prior := p.priorState(); !prior.Empty() {
			p.name("prior_state")
			writeState(p.stream, &StateView{State: prior, Schemas: p.Schemas}, compatible)
		}
		p.name("configuration")
		writeConfig(p.stream, p.Config, p.Schemas)
		p.relevantAttributes()
		if blocks := p.Plan.Checks.Sorted(); len(blocks) > 0 {
			p.name("checks")
			writeChecks(p.stream, blocks)
		}
		p.field("timestamp", p.Plan.Timestamp.UTC().Format(time.RFC3339))
		p.field("errored", p.Plan.Errored)
		p.field("engine", engine)
	})
	return p.finish()
}

// variables writes the values of root variables, including defaults. Plans don't contain
// ephemeral values, so ephemeral variables are treated as if they were not set.
func (p *planWriter) variables() {
	values := make(map[string]variableValue)
	for name, decl := range p.Config.Module.Variables {
		if decl.Default.Set {
			values[name] = variableValue{valueJSON(decl.Default.Value)}
		}
	}
	for name, v := range p.Plan.Variables {
		values[name] = variableValue{valueJSON(v)}
	}
	if len(values) > 0 {
		p.field("variables", values)
	}
}

// plannedValues writes the planned state, as far as it is known.
func (p *planWriter) plannedValues() {
	var planned []plannedObject
	for _, c := range p.Plan.Changes.Instances {
		if c.Deposed == addrs.NotDeposed && c.Action != plans.Delete {
			planned = append(planned, plannedObject{c.Addr.String(), c})
		}
	}
	slices.SortFunc(planned, func(a, b plannedObject) int { return strings.Compare(a.address, b.address) })
	tree := newModuleTree[*plans.InstanceChange]()
	for _, o := range planned {
		tree.add(o.change.Addr.Module, o.change)
	}
	p.object(func() {
		outputs := make(map[string]plannedOutput)
		for _, o := range p.Plan.Changes.Outputs {
			if o.Action == plans.Delete {
				continue
			}
			out := plannedOutput{Sensitive: o.Sensitive}
			if o.After.IsWhollyKnown() {
				ty := o.After.Type()
				// The output stays null, so there is neither a value nor a type to write.
				if o.After.IsNull() && o.Action == plans.NoOp {
					ty = cty.DynamicPseudoType
				}
				out.Type, out.Value = typeJSON(ty), valueJSON(o.After)
			}
			outputs[o.Name] = out
		}
		if len(outputs) > 0 {
			p.field("outputs", outputs)
		}
		p.name("root_module")
		tree.write(p.stream, func(c *plans.InstanceChange) { p.item(p.plannedResource(c)) })
	})
}

func (p *planWriter) plannedResource(c *plans.InstanceChange) *stateResource {
	sch := p.Schemas.Resource(c.Provider.Config.Provider, c.Addr.Resource)
	after := c.After
	// For replacements and reads, OpenTofu does not mark attributes that only the schema
	// declares sensitive.
	if !c.Action.IsReplace() && c.Action != plans.Read {
		after = planview.MarkSecrets(after, sch)
	}
	out := &stateResource{
		resourceAddress: objectAddress(c.Addr, c.Provider.Config.Provider),
		Values:          valueJSON(after),
		SensitiveValues: objectSensitive(after),
	}
	out.plain()
	if sch != nil {
		out.SchemaVersion = sch.Version
	}
	out.Identity = identityJSON(c.AfterIdentity)
	if out.Identity != nil && sch != nil {
		out.IdentitySchemaVersion = &sch.IdentityVersion
	}
	return out
}

func objectAddress(addr addrs.AbsInstance, provider addrs.Provider) resourceAddress {
	out := resourceAddress{
		Address:       addr.String(),
		ModuleAddress: string(addr.Module),
		Mode:          addr.Resource.Mode.String(),
		Type:          addr.Resource.Type,
		Name:          addr.Resource.Name,
		ProviderName:  provider.String(),
	}
	switch addr.Key {
	case addrs.NoKey:
	case addrs.UnknownKey:
		out.IndexUnknown = true
	default:
		out.Index = valueJSON(addr.Key.Value())
	}
	return out
}

// identityJSON returns the JSON form of an identity, or nil if none exists or it isn't known
// yet.
func identityJSON(v cty.Value) json.RawMessage {
	if v == cty.NilVal || v.IsNull() || !v.IsWhollyKnown() {
		return nil
	}
	return valueJSON(v)
}

// changes writes a list of changes. It writes nothing if the list is empty.
func (p *planWriter) changes(name string, list []*plans.InstanceChange, planned bool) {
	if len(list) == 0 {
		return
	}
	p.name(name)
	p.list(func() {
		for _, c := range list {
			out := p.resourceChange(c)
			if planned && c.Action == plans.Delete && out.Change.AfterIdentity == nil {
				// An object keeps its identity when it is destroyed.
				out.Change.AfterIdentity = out.Change.BeforeIdentity
			}
			p.item(out)
		}
	})
}

// actionInvocation is an action that the plan invokes.
type actionInvocation struct {
	Address         string            `json:"address"`
	Type            string            `json:"type"`
	Name            string            `json:"name"`
	ConfigValues    json.RawMessage   `json:"config_values,omitempty"`
	ConfigSensitive json.RawMessage   `json:"config_sensitive,omitempty"`
	ConfigUnknown   json.RawMessage   `json:"config_unknown,omitempty"`
	ProviderName    string            `json:"provider_name"`
	Lifecycle       *lifecycleTrigger `json:"lifecycle_action_trigger,omitempty"`
	Requested       *requestedTrigger `json:"invoke_action_trigger,omitempty"`
}

// requestedTrigger says for which object an action was requested, if it refers to caller.
type requestedTrigger struct {
	Caller string `json:"caller_address,omitempty"`
}

// lifecycleTrigger says which change triggers an action, and by which action_trigger block.
type lifecycleTrigger struct {
	Resource  string `json:"triggering_resource_address"`
	Event     string `json:"action_trigger_event"`
	Block     int    `json:"action_trigger_block_index"`
	Index     int    `json:"actions_list_index"`
	OnFailure string `json:"on_failure,omitempty"` // "" for halt
	Undecided bool   `json:"condition_unknown,omitempty"`
}

func invocationJSON(inv *plans.Invocation) actionInvocation {
	out := actionInvocation{Address: inv.Addr.String(), Type: inv.Addr.Resource.Type, Name: inv.Addr.Resource.Name,
		ProviderName: inv.Provider.Config.Provider.String(), ConfigValues: valueJSON(inv.Config),
		ConfigSensitive: objectSensitive(inv.Config)}
	if !inv.Config.IsWhollyKnown() {
		out.ConfigUnknown = unknownJSON(inv.Config)
	}
	on := inv.Trigger
	if on == nil {
		out.Requested = &requestedTrigger{}
		if inv.Caller != (addrs.AbsInstance{}) {
			out.Requested.Caller = inv.Caller.String()
		}
		return out
	}
	out.Lifecycle = &lifecycleTrigger{Resource: on.Caller.String(), Event: on.Event, Block: on.Block, Index: on.Index,
		Undecided: on.Undecided}
	if on.OnFailure != "halt" {
		out.Lifecycle.OnFailure = on.OnFailure
	}
	return out
}

// invocations writes the actions that the plan invokes. It writes nothing if there are none.
func (p *planWriter) invocations() {
	begun := false
	write := func() {
		for inv := range p.Plan.Changes.Invocations() {
			p.item(invocationJSON(inv))
		}
	}
	for range p.Plan.Changes.Invocations() {
		begun = true
		break
	}
	if begun {
		p.name("action_invocations")
		p.list(write)
	}
}

// takenAlong is a change that no target names, with the reason why the plan contains it.
type takenAlong struct {
	Address  string `json:"address"`
	Deposed  string `json:"deposed,omitempty"`
	NeededBy string `json:"needed_by"`
}

// takenAlong writes the changes that no target names, with their reasons. It writes nothing if
// there are no such changes. The reasons have a section of their own, so that resource_changes is
// the same as in OpenTofu.
func (p *planWriter) takenAlong() {
	var out []takenAlong
	for _, c := range p.Source().Listed() {
		if c.NeededBy != "" {
			out = append(out, takenAlong{c.Addr.String(), string(c.Deposed), c.NeededBy})
		}
	}
	if len(out) > 0 {
		p.field("taken_along", out)
	}
}

// deferredChange is a change that is deferred. Chain lists the steps from the unknown value to the
// argument that requires it.
type deferredChange struct {
	Reason plans.DeferReason    `json:"reason"`
	Change *resourceChange      `json:"resource_change"`
	Via    string               `json:"deferred_by,omitempty"`
	Chain  []plans.DeferralStep `json:"chain,omitempty"`
}

// deferredChanges writes the deferred changes and whether the plan can be applied. It writes
// nothing if no changes are deferred.
func (p *planWriter) deferredChanges() {
	if !p.Plan.Defers() {
		return
	}
	p.name("deferred_changes")
	p.list(func() {
		for _, d := range p.Source().Deferred() {
			p.item(&deferredChange{d.Why, p.resourceChange(&d.InstanceChange), d.Via, d.Chain})
		}
	})
	p.field("applyable", p.Plan.Applyable)
	p.field("complete", p.Plan.Complete)
}

// against describes the earlier state that a plan goes back to, and what the plan can't
// restore.
type against struct {
	At   string       `json:"at,omitempty"` // "" if the plan undoes what was changed outside
	Run  string       `json:"run,omitempty"`
	Undo string       `json:"undo,omitempty"`
	Lost []lostObject `json:"lost"`
}

type lostObject struct {
	Address    string           `json:"address"`
	Reason     plans.LostReason `json:"reason"`
	Attributes []string         `json:"attributes,omitempty"`
	MovedTo    string           `json:"moved_to,omitempty"`
	Text       string           `json:"-"`
}

func pastJSON(past *plans.Past) against {
	out := against{Run: past.Run, Undo: past.Undo, Lost: []lostObject{}}
	if !past.At.IsZero() {
		out.At = past.At.UTC().Format(time.RFC3339Nano)
	}
	for _, lost := range past.Lost {
		entry := lostObject{Address: lost.Addr.String(), Reason: lost.Why,
			Attributes: lost.Attributes, Text: lost.Text()}
		if lost.MovedTo != nil {
			entry.MovedTo = lost.MovedTo.String()
		}
		out.Lost = append(out.Lost, entry)
	}
	return out
}

func (p *planWriter) resourceChange(c *plans.InstanceChange) *resourceChange {
	sch := p.Schemas.Resource(c.Provider.Config.Provider, c.Addr.Resource)
	out := &resourceChange{
		resourceAddress: objectAddress(c.Addr, c.Provider.Config.Provider),
		Deposed:         string(c.Deposed),
		Reason:          string(c.Reason),
		Change: change{
			Actions:         c.Action.Names(),
			Before:          valueJSON(c.Before),
			After:           valueJSON(c.After),
			AfterUnknown:    jsonEmpty,
			BeforeSensitive: objectSensitive(planview.MarkSecrets(c.Before, sch)),
			AfterSensitive:  objectSensitive(planview.MarkSecrets(c.After, sch)),
			GeneratedConfig: c.GeneratedConfig,
			BeforeIdentity:  identityJSON(c.BeforeIdentity),
			AfterIdentity:   identityJSON(c.AfterIdentity),
		},
	}
	if c.MovedFrom != nil {
		out.PreviousAddress = c.MovedFrom.String()
	}
	if !c.After.IsWhollyKnown() {
		out.Change.AfterUnknown = unknownJSON(c.After)
	}
	for _, path := range c.RequiredReplace {
		out.Change.ReplacePaths = append(out.Change.ReplacePaths, pathJSON(path))
	}
	if c.Importing != nil {
		out.Change.Importing = &importing{ID: c.Importing.ID, Identity: identityJSON(c.Importing.Identity)}
	}
	return out
}

func objectSensitive(v cty.Value) json.RawMessage {
	if v.IsNull() {
		return jsonFalse
	}
	return sensitiveJSON(v)
}

func (p *planWriter) outputChanges() {
	if len(p.Plan.Changes.Outputs) == 0 {
		return
	}
	p.name("output_changes")
	p.object(func() {
		for _, o := range p.Plan.Changes.Outputs {
			c := change{
				Actions: o.Action.Names(), Before: valueJSON(o.Before), AfterUnknown: jsonFalse,
				BeforeSensitive: jsonFalse, AfterSensitive: jsonFalse,
			}
			if o.Sensitive { // on both sides, because a value that becomes sensitive must not be shown any more
				c.BeforeSensitive, c.AfterSensitive = jsonTrue, jsonTrue
			}
			if o.After.IsKnown() {
				c.After = valueJSON(o.After)
			}
			if !o.After.IsWhollyKnown() {
				c.AfterUnknown = unknownJSON(o.After)
			}
			p.field(o.Name, c)
		}
	})
}

// priorState returns the state before the changes. As in OpenTofu's documents, it has the
// planned values of root outputs, as far as they are known. It has no check results, because
// they belong to the plan.
func (p *planWriter) priorState() *states.State {
	prior := p.Plan.Prior.Clone()
	prior.Checks = nil
	for _, o := range p.Plan.Changes.Outputs {
		switch {
		case o.Action == plans.Delete || !o.After.IsWhollyKnown():
		case o.After.IsNull():
			prior.SetOutput(o.Name, nil)
		default:
			out := &states.Output{Value: o.After, Deprecated: o.Deprecated}
			if decl := p.Config.Module.Outputs[o.Name]; decl != nil {
				out.Sensitive = decl.Sensitive.Value
			}
			prior.SetOutput(o.Name, out)
		}
	}
	return prior
}

func (p *planWriter) relevantAttributes() {
	if len(p.Plan.RelevantAttributes) == 0 {
		return
	}
	p.name("relevant_attributes")
	p.list(func() {
		for _, r := range p.Plan.RelevantAttributes {
			p.item(relevantAttribute{r.Resource.String(), pathJSON(r.Attr)})
		}
	})
}
