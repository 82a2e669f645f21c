package configs

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// ActionTrigger is an action_trigger block in the lifecycle block of a resource.
type ActionTrigger struct {
	Events    []ActionEvent  // without repetitions
	Condition hcl.Expression // nil if absent
	Actions   []ActionRef
	OnFailure OnFailure
	Range     hcl.Range
}

// ActionRef is a reference to an action, or to one of its instances.
type ActionRef struct {
	Action addrs.Resource // of the same module
	Key    hcl.Expression // nil if the reference has no index
	Range  hcl.Range
}

// ActionEvent is the moment at which a change of an object triggers an action, such as "after_create".
type ActionEvent string

const (
	BeforeCreate  ActionEvent = "before_create"
	AfterCreate   ActionEvent = "after_create"
	BeforeUpdate  ActionEvent = "before_update"
	AfterUpdate   ActionEvent = "after_update"
	BeforeDestroy ActionEvent = "before_destroy"
	AfterDestroy  ActionEvent = "after_destroy"
)

var actionEvents = []string{string(BeforeCreate), string(AfterCreate), string(BeforeUpdate), string(AfterUpdate),
	string(BeforeDestroy), string(AfterDestroy)}

// Destroys reports whether the event belongs to the destruction of an object.
func (e ActionEvent) Destroys() bool { return e == BeforeDestroy || e == AfterDestroy }

// OnFailure says what follows from the failure of an action.
type OnFailure string

const (
	Halt     OnFailure = "halt"     // the change fails
	Continue OnFailure = "continue" // the failure is a warning
	Taint    OnFailure = "taint"    // like Halt, and the object that was created is tainted
)

// Has reports whether an event triggers the actions.
func (t *ActionTrigger) Has(event ActionEvent) bool { return slices.Contains(t.Events, event) }

var actionKind = &resourceKind{addrs.Action, "action", "action", "actions", &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "count"}, {Name: "for_each"}, {Name: "provider"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "config"}},
}}

// decodeAction decodes an action block. Its arguments for the provider are in a config block.
func decodeAction(d *decoder, block *hcl.Block) {
	content := d.content(block.Body, actionKind.schema)
	a := d.resourceHead(actionKind, block)
	a.Config = &hclsyntax.Body{SrcRange: block.DefRange, EndRange: block.DefRange}
	d.oneRepetition(d.resourceArguments(a, content), actionKind.plural)
	var config once
	for _, inner := range content.Blocks {
		if config.accept(d, inner, "Duplicate config block", "This action") {
			a.Config = inner.Body
		}
	}
	d.file.actions = append(d.file.actions, a)
}

var triggerSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "events", Required: true}, {Name: "actions", Required: true}, {Name: "condition"}, {Name: "on_failure"},
}}

// actionTrigger decodes an action_trigger block.
func (d *decoder) actionTrigger(kind *resourceKind, block *hcl.Block) *ActionTrigger {
	if kind.mode != addrs.Managed {
		d.errorf(block.DefRange, "Invalid action_trigger block", "Only changes of managed resources (\"resource\" blocks) "+
			"trigger actions, so %s can't have action_trigger blocks.", kind.plural)
		return nil
	}
	content := d.content(block.Body, triggerSchema)
	t := &ActionTrigger{OnFailure: Halt, Range: block.DefRange}
	for name, attr := range content.Attributes {
		switch name {
		case "condition":
			t.Condition = attr.Expr
		case "events":
			t.Events = d.actionEvents(attr)
		case "actions":
			t.Actions = d.actionRefs(attr)
		case "on_failure":
			t.OnFailure = OnFailure(d.keyword(attr.Expr))
			if !slices.Contains([]OnFailure{Halt, Continue, Taint}, t.OnFailure) {
				d.errorf(attr.Expr.Range(), "Invalid \"on_failure\" keyword",
					"The \"on_failure\" argument must be one of the keywords halt, continue and taint.")
			}
		}
	}
	return t
}

// list decodes a list that must not be empty.
func (d *decoder) list(attr *hcl.Attribute) []hcl.Expression {
	exprs, diags := hcl.ExprList(attr.Expr)
	d.addHCL(diags)
	if len(exprs) == 0 && !diags.HasErrors() {
		d.errorf(attr.Expr.Range(), "Empty list in action_trigger block",
			"The argument %q must have at least one element; otherwise, remove the block.", attr.Name)
	}
	return exprs
}

func (d *decoder) actionEvents(attr *hcl.Attribute) []ActionEvent {
	var out []ActionEvent
	for _, expr := range d.list(attr) {
		name := d.keyword(expr)
		switch event := ActionEvent(name); {
		case !slices.Contains(actionEvents, name):
			d.errorf(expr.Range(), "Invalid event in action_trigger block", "An event is one of the keywords before_create, "+
				"after_create, before_update, after_update, before_destroy and after_destroy.%s",
				suggest.DidYouMean(name, actionEvents))
		case slices.Contains(out, event):
			d.errorf(expr.Range(), "Duplicate event in action_trigger block", "The event %s is already in the list.", name)
		default:
			out = append(out, event)
		}
	}
	return out
}

func (d *decoder) actionRefs(attr *hcl.Attribute) []ActionRef {
	var out []ActionRef
	for _, expr := range d.list(attr) {
		if expr = d.nativeExpr(expr); expr == nil {
			continue
		}
		ref := ActionRef{Range: expr.Range()}
		if index, ok := expr.(*hclsyntax.IndexExpr); ok {
			expr, ref.Key = index.Collection, index.Key
		}
		tr, diags := hcl.AbsTraversalForExpr(d.unquote(expr, "references"))
		if !diags.HasErrors() && len(tr) == 4 && ref.Key == nil {
			if index, ok := tr[3].(hcl.TraverseIndex); ok {
				tr, ref.Key = tr[:3], &hclsyntax.LiteralValueExpr{Val: index.Key, SrcRange: index.SrcRange}
			}
		}
		if diags.HasErrors() || len(tr) != 3 || tr.RootName() != "action" {
			d.errorf(ref.Range, "Invalid action reference", "Each element of \"actions\" must refer to an action of this module, "+
				"as action.TYPE.NAME, followed by a key in brackets if the action has count or for_each.")
			continue
		}
		ref.Action = addrs.Resource{Mode: addrs.Action, Type: addrs.StepName(tr[1]), Name: addrs.StepName(tr[2])}
		out = append(out, ref)
	}
	return out
}

// checkActions checks that the actions to which action_trigger blocks refer exist, and that references to
// their instances have keys.
func (mb *moduleBuilder) checkActions() {
	for _, addr := range mb.sorted {
		for _, t := range mb.Resources[addr].Lifecycle.ActionTriggers {
			for _, ref := range t.Actions {
				mb.checkActionRef(ref)
			}
		}
	}
}

func (mb *moduleBuilder) checkActionRef(ref ActionRef) {
	a := mb.Actions[ref.Action]
	if a == nil {
		var names []string
		for other := range mb.Actions {
			names = append(names, other.String())
		}
		slices.Sort(names)
		mb.errorf(ref.Range, "Reference to undeclared action", "There is no action %q %q in this module.%s",
			ref.Action.Type, ref.Action.Name, suggest.DidYouMean(ref.Action.String(), names))
		return
	}
	switch repeats := a.Count != nil || a.ForEach != nil; {
	case repeats && ref.Key == nil:
		key := "count.index"
		if a.ForEach != nil {
			key = "each.key"
		}
		mb.errorf(ref.Range, "Missing action instance key", "%s has \"count\" or \"for_each\", so the reference must "+
			"select one of its instances, for example %s[%s].", ref.Action, ref.Action, key)
	case !repeats && ref.Key != nil:
		mb.errorf(ref.Range, "Unexpected action instance key", "%s has neither \"count\" nor \"for_each\". Refer to it "+
			"without an index.", ref.Action)
	}
}

// FindAction returns an error if a target is not an action of the configuration. It ignores instance keys.
func (c *Config) FindAction(t addrs.Target) error {
	if m := c.Descendant(t.Module.Module()); m != nil && m.Module.Actions[t.Resource] != nil {
		return nil
	}
	var all []string
	for m := range c.AllModules() {
		for addr := range m.Module.Actions {
			all = append(all, addr.In(m.Path).String())
		}
	}
	slices.Sort(all)
	return tfdiags.Errorf("Action doesn't exist", "The configuration has no action %s.%s", t,
		suggest.DidYouMean(t.Resource.In(t.Module.Module()).String(), all))
}
