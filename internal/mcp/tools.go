package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/configschema"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/page"
	"tofu/internal/ui/planview"
	"tofu/internal/version"
	"tofu/internal/warm"
)

// tools lists the tools.
var tools = []tool{
	{"validate", "Checks the configuration: syntax, names, types, the rules of providers.", reads, calling(validate)},
	{"plan", "Plans: what an apply would change and why, attribute by attribute. Changes nothing.", reads, calling(plan)},
	{"explain", "Says why something is in the plan: which attributes cause a change, and where their new values come from.",
		reads, calling(explain)},
	{"why_not", "Says why something is not in the plan.", reads, calling(explain)},
	{"drift", "Reads the objects and says what was changed outside. Changes nothing.", reads, calling(drift)},
	{"state", "Lists the objects in the state, with their attributes if addresses are given, and the outputs.", reads,
		calling(state)},
	{"schema", "Documents a provider's types of resources and data sources: their arguments and attributes. Without a type it " +
		"lists the types.", reads, calling(schema)},
	{"propose_apply", "Makes a plan to be applied, and returns its digest and a page that shows it. A person must look at " +
		"the page and approve the digest with `tofu approve DIGEST` at a terminal.", stores, calling(propose)},
	{"apply", "Applies exactly the proposed plan with a digest, once, if it was approved outside of this protocol.", changes,
		calling(apply)},
}

func validate(c *call, _ where) (any, error) {
	c.secrets.AddLoaded(c.ctx, c.module)
	found, err := c.module.Diagnose(c.ctx)
	return map[string]any{"problems": problems(found.Diagnostics)}, err
}

// planning are the parameters of a plan.
type planning struct {
	where
	warm.PlanRequest
	Offset int `json:"offset,omitempty" jsonschema:"number of changes to leave out"`
	Limit  int `json:"limit,omitempty" jsonschema:"greatest number of changes in the answer; default: 50"`
}

func plan(c *call, p planning) (any, error) {
	opts, err := p.Options()
	if err != nil {
		return nil, err
	}
	made, err := c.module.Plan(c.ctx, opts)
	if err != nil {
		return nil, err
	}
	return c.planned(made, p), nil
}

// planned is a plan as an answer.
type planned struct {
	Counts   *planview.Counts `json:"counts,omitempty"`
	Changes  []change         `json:"changes"`
	Left     int              `json:"more_changes,omitempty"`
	Outputs  []field          `json:"outputs,omitempty"`
	Deferred []string         `json:"deferred,omitempty"`
	Problems []problem        `json:"problems"`
}

type change struct {
	Address string  `json:"address"`
	Action  string  `json:"action"`
	Why     string  `json:"why,omitempty"`
	Place   string  `json:"place,omitempty"`
	Fields  []field `json:"fields,omitempty"`
}

// field is a difference. Its values are expressions, in which sensitive parts are hidden.
type field struct {
	Path    string `json:"path"`
	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
	Unknown bool   `json:"known_after_apply,omitempty"`
	Forces  bool   `json:"forces_replacement,omitempty"`
}

func (c *call) planned(made *warm.Plan, p planning) *planned {
	out := &planned{Changes: []change{}, Problems: problems(made.Diagnostics)}
	if made.View == nil {
		c.secrets.AddLoaded(c.ctx, c.module)
		return out
	}
	c.secrets.AddPlan(made.View)
	view := planview.New(made.View.Source(), planview.Options{})
	out.Counts = &view.Counts
	for _, o := range view.Outputs {
		out.Outputs = append(out.Outputs, fields(o.Fields)...)
	}
	for _, d := range made.View.Plan.Deferred {
		out.Deferred = append(out.Deferred, d.Addr.String()+": "+d.Because())
	}
	limit := p.Limit
	if limit <= 0 {
		limit = 50
	}
	shown := view.Changes[min(max(p.Offset, 0), len(view.Changes)):]
	out.Left = max(0, len(shown)-limit)
	for _, one := range shown[:len(shown)-out.Left] {
		list, _ := one.Fields()
		heading, _ := planview.Heading(one.InstanceChange, false)
		at := ""
		if rng := one.At(); rng.Filename != "" {
			at = tfdiags.Place(rng)
		}
		out.Changes = append(out.Changes, change{one.Name(), one.Action.String(), heading, at, fields(list)})
	}
	return out
}

func fields(list []planview.Field) []field {
	var out []field
	for _, f := range list {
		one := field{f.Path, f.Before, f.After, f.Unknown, f.Forces}
		if len(f.Lines) > 0 {
			one.After = "(a text of several lines changes)"
		}
		out = append(out, one)
	}
	return out
}

type about struct {
	where
	Address string `json:"address" jsonschema:"address of a module, a resource, an instance, a variable, a local or an output"`
}

func explain(c *call, p about) (any, error) {
	made, err := c.module.Present(c.ctx)
	if err != nil {
		return nil, err
	}
	if made.View != nil {
		c.secrets.AddPlan(made.View)
	} else {
		c.secrets.AddLoaded(c.ctx, c.module)
	}
	why, err := made.Explain(c.ctx, p.Address)
	if err != nil {
		return nil, err
	}
	return document(why.WriteJSON)
}

// document returns the JSON document that write writes.
func document(write func(io.Writer) error) (any, error) {
	var b bytes.Buffer
	err := write(&b)
	return json.RawMessage(b.Bytes()), err
}

func drift(c *call, _ where) (any, error) {
	c.readSecrets()
	found, err := c.module.Drift(c.ctx, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"problems": problems(found.Diagnostics)}
	if found.Report != nil {
		out["drift"], err = document(found.Report.JSON)
	}
	return out, err
}

// readSecrets adds the secrets of the configuration and of the state.
func (c *call) readSecrets() *warm.State {
	c.secrets.AddLoaded(c.ctx, c.module)
	st, err := c.module.State(c.ctx)
	if err == nil && st.View != nil {
		c.secrets.AddState(st.View.State, st.View.Schemas)
	}
	return st
}

type selecting struct {
	where
	Addresses []string `json:"addresses,omitempty" jsonschema:"addresses of modules, resources or instances whose attributes to return"`
	Offset    int      `json:"offset,omitempty" jsonschema:"number of objects to leave out"`
	Limit     int      `json:"limit,omitempty" jsonschema:"greatest number of objects in the answer; default: 200"`
}

type object struct {
	Address    string            `json:"address"`
	Deposed    bool              `json:"deposed,omitempty"`
	Provider   string            `json:"provider"`
	Attributes *ui.ValueDocument `json:"attributes,omitempty"`
}

func state(c *call, p selecting) (any, error) {
	only, err := warm.Targets(p.Addresses)
	if err != nil {
		return nil, err
	}
	st := c.readSecrets()
	objects, left := []object{}, 0
	out := map[string]any{"problems": problems(st.Diagnostics)}
	if st.View == nil {
		return out, nil
	}
	limit := p.Limit
	if limit <= 0 {
		limit = 200
	}
	n := 0
	for r := range st.View.State.Resources() {
		sch := st.View.Schemas.Resource(r.Provider.Provider, r.Addr.Resource)
		for _, key := range r.SortedKeys() {
			addr := r.Addr.Instance(key)
			if len(only) > 0 && !slices.ContainsFunc(only, func(t addrs.Target) bool { return t.ContainsInstance(addr) }) {
				continue
			}
			if n++; n <= p.Offset {
				continue
			}
			if len(objects) >= limit {
				left++
				continue
			}
			inst := r.Instances[key]
			one := object{Address: addr.String(), Provider: r.Provider.Provider.ForDisplay(), Deposed: inst.Current == nil}
			if inst.Current != nil && len(only) > 0 {
				if v, ok := warm.DecodeObject(inst.Current, sch, r.Provider.Provider, r.Addr.Resource); ok {
					doc := ui.DescribeValue(v)
					one.Attributes = &doc
				}
			}
			objects = append(objects, one)
		}
	}
	outputs := ui.DescribeOutputs(st.View.State.Outputs())
	out["objects"], out["more_objects"], out["outputs"], out["serial"] = objects, left, outputs, st.Serial
	return out, nil
}

type documented struct {
	where
	Provider string `json:"provider,omitempty" jsonschema:"source of the provider, such as hashicorp/aws; default: all that the configuration uses"`
	Type     string `json:"type,omitempty" jsonschema:"type of resources or data sources, or empty for a list of types"`
	Kind     string `json:"kind,omitempty" jsonschema:"resource (the default), data, ephemeral, action or provider"`
}

var kinds = map[string]addrs.ResourceMode{"": addrs.Managed, "resource": addrs.Managed, "data": addrs.Data,
	"ephemeral": addrs.Ephemeral, "action": addrs.Action, "provider": 0}

func schema(c *call, p documented) (any, error) {
	loaded, err := c.module.Load(c.ctx)
	if err != nil {
		return nil, err
	}
	mode, known := kinds[p.Kind]
	if !known {
		return nil, tfdiags.Errorf("Unknown kind", "The kind must be resource, data, ephemeral, action or provider, not %q.", p.Kind)
	}
	if loaded.Config == nil || loaded.Schemas == nil {
		return nil, tfdiags.Join(loaded.Diagnostics.Err(), tfdiags.Errorf("No schemas",
			"The schemas of the providers are not available. Run \"tofu init\" first."))
	}
	types := map[string][]string{}
	for provider := range loaded.Config.ProviderRequirements() {
		s := loaded.Schemas(provider)
		name := provider.ForDisplay()
		if s == nil || p.Provider != "" && p.Provider != name && p.Provider != provider.String() {
			continue
		}
		switch {
		case p.Kind == "provider":
			if s.Provider != nil {
				return map[string]any{"provider": name, "content": describe(s.Provider, 0)}, nil
			}
		case p.Type == "":
			if table := s.Table(mode); table != nil {
				types[name] = table.Names()
			}
		default:
			if found := typeIn(s, mode, p.Type); found != nil {
				return map[string]any{"provider": name, "type": p.Type, "content": describe(found.Block, 0)}, nil
			}
		}
	}
	if p.Type != "" || p.Kind == "provider" {
		return nil, tfdiags.Errorf("No such type", "No provider of the configuration has it. Without a type, this tool lists the types.")
	}
	return map[string]any{"types": types}, nil
}

func typeIn(s *providers.Schema, mode addrs.ResourceMode, name string) *providers.ResourceSchema {
	if table := s.Table(mode); table != nil {
		return table.Type(name)
	}
	return nil
}

// argument documents an attribute or a nested block.
type argument struct {
	Name        string     `json:"name"`
	Type        string     `json:"type"`
	Required    bool       `json:"required,omitempty"`
	Computed    bool       `json:"computed,omitempty"`
	Sensitive   bool       `json:"sensitive,omitempty"`
	Description string     `json:"description,omitempty"`
	Deprecated  string     `json:"deprecated,omitempty"`
	Content     []argument `json:"content,omitempty"` // of a block
}

func describe(b *configschema.Block, depth int) []argument {
	out := []argument{}
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		a := b.Attributes[name]
		out = append(out, argument{name, a.ImpliedType().FriendlyName(), a.Required, a.Computed, a.Sensitive, a.Description,
			a.DeprecationMessage, nil})
	}
	for _, name := range slices.Sorted(maps.Keys(b.BlockTypes)) {
		n := b.BlockTypes[name]
		one := argument{Name: name, Type: "block, " + n.Nesting.String(), Required: n.MinItems > 0, Description: n.Description,
			Deprecated: n.DeprecationMessage}
		if depth < 8 {
			one.Content = describe(&n.Block, depth+1)
		}
		out = append(out, one)
	}
	return out
}

func propose(c *call, p planning) (any, error) {
	opts, err := p.Options()
	if err != nil {
		return nil, err
	}
	made, err := c.module.Propose(c.ctx, opts)
	if err != nil {
		return nil, err
	}
	out := struct {
		*planned
		Digest  string     `json:"digest,omitempty"`
		Expires *time.Time `json:"expires,omitempty"`
		Page    string     `json:"page,omitempty"`
		Next    string     `json:"next,omitempty"`
	}{planned: c.planned(made.Plan, p), Digest: made.Digest}
	if made.Digest == "" {
		return out, nil
	}
	out.Expires = &made.Expires
	out.Next = "A person must look at the page and run: tofu approve " + made.Digest
	out.Page, err = c.page(made)
	return out, err
}

// page writes the page about a proposed plan beside the plan, and returns its path.
func (c *call) page(made *warm.Proposal) (string, error) {
	g, err := made.Graph(c.ctx)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := page.Write(&b, &page.Content{Title: made.Digest, Graph: g, View: made.View, Program: version.Build()}); err != nil {
		return "", err
	}
	name := filepath.Join(made.Dir, made.Digest+".html")
	return name, atomicfile.Write(name, b.Bytes(), 0o600)
}

type applying struct {
	where
	Digest string `json:"digest" jsonschema:"the digest that propose_apply has returned"`
}

func apply(c *call, p applying) (any, error) {
	c.readSecrets()
	done, err := c.module.Apply(c.ctx, strings.TrimSpace(p.Digest), nil, nil)
	if done != nil && done.View != nil {
		c.secrets.AddPlan(done.View)
		c.readSecrets() // those that the apply has made
	}
	if err != nil && !done.Begun {
		return nil, err
	}
	if !done.Begun {
		return nil, tfdiags.Join(done.Diagnostics.Err(), err)
	}
	return map[string]any{"counts": done.Counts, "more_to_plan": done.Defers, "problems": problems(done.Diagnostics)}, err
}
