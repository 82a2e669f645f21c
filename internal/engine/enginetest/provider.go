package enginetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Address is the address that configurations find the provider at.
var Address = addrs.DefaultProvider("fake")

// Cloud is what all instances of the provider share: objects, and the log of calls.
type Cloud struct {
	mu      sync.Mutex
	objects map[string]cty.Value
	made    map[string]int
	log     []string
}

// Provider is an instance of the fake provider. Its resource type fake_thing has
//
//	name   required
//	id     computed: the name and how many objects of that name were made
//	v      changed in place
//	f      a change replaces the object
//	c      computed anew with every change
//	s      sensitive
//	fail   "create", "update", "delete", "plan", "read": that fails; "create-partial": it fails after making the object
//	wait   milliseconds that create, update and delete take
//
// and its data source fake_read reads the newest object of a name.
type Provider struct{ Cloud *Cloud }

// Log takes the calls made since it was last asked.
func (c *Cloud) Log() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.log
	c.log = nil
	return out
}

// Edit changes an attribute of an object behind the engine's back; an empty value deletes the object.
func (c *Cloud) Edit(id, attr, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj, ok := c.objects[id]
	switch {
	case attr == "":
		delete(c.objects, id)
	case ok:
		attrs := obj.AsValueMap()
		attrs[attr] = cty.StringVal(value)
		c.objects[id] = cty.ObjectVal(attrs)
	}
}

// Objects lists the IDs of the objects that exist.
func (c *Cloud) Objects() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for id := range c.objects {
		out = append(out, id)
	}
	return out
}

var thing = func() *configschema.Block {
	text := func(change func(*configschema.Attribute)) *configschema.Attribute {
		a := &configschema.Attribute{Type: cty.String, Optional: true}
		if change != nil {
			change(a)
		}
		return a
	}
	return &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"name": {Type: cty.String, Required: true},
		"id":   {Type: cty.String, Computed: true},
		"c":    {Type: cty.String, Computed: true},
		"v":    text(nil),
		"f":    text(nil),
		"s":    text(func(a *configschema.Attribute) { a.Sensitive = true }),
		"fail": text(nil),
		"wait": {Type: cty.Number, Optional: true},
	}}
}()

var reading = &configschema.Block{Attributes: map[string]*configschema.Attribute{
	"name": {Type: cty.String, Required: true},
	"v":    {Type: cty.String, Computed: true},
	"id":   {Type: cty.String, Computed: true},
}}

var config = &configschema.Block{Attributes: map[string]*configschema.Attribute{
	"label": {Type: cty.String, Optional: true},
}}

var schema = &providers.Schema{
	Provider:    config,
	Resources:   providers.Types{"fake_thing": {Block: thing}},
	DataSources: providers.Types{"fake_read": {Block: reading}},
	Ephemerals:  providers.Types{},
}

// Schema implements providers.Interface.
func (p *Provider) Schema(context.Context) (*providers.Schema, tfdiags.Diagnostics) {
	return schema, nil
}

// ValidateProviderConfig implements providers.Interface.
func (p *Provider) ValidateProviderConfig(context.Context, cty.Value) tfdiags.Diagnostics { return nil }

// ValidateResource implements providers.Interface.
func (p *Provider) ValidateResource(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return nil
}

// ValidateDataSource implements providers.Interface.
func (p *Provider) ValidateDataSource(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return nil
}

// ValidateEphemeral implements providers.Interface.
func (p *Provider) ValidateEphemeral(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return nil
}

// Configure implements providers.Interface.
func (p *Provider) Configure(_ context.Context, v cty.Value) tfdiags.Diagnostics {
	if label := v.GetAttr("label"); !label.IsNull() && label.IsKnown() {
		p.Cloud.note("configure " + label.AsString())
	}
	return nil
}

func (c *Cloud) note(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, line)
}

// UpgradeResourceState implements providers.Interface.
func (p *Provider) UpgradeResourceState(_ context.Context, req providers.UpgradeRequest) providers.UpgradeResponse {
	v, err := ctyjson.Unmarshal(req.JSON, thing.ImpliedType())
	return providers.UpgradeResponse{Value: v, Diagnostics: tfdiags.Diagnostics{}.Append(err)}
}

// UpgradeResourceIdentity implements providers.Interface.
func (p *Provider) UpgradeResourceIdentity(context.Context, providers.UpgradeRequest) providers.UpgradeResponse {
	return providers.UpgradeResponse{}
}

// ReadResource implements providers.Interface.
func (p *Provider) ReadResource(_ context.Context, req providers.ReadRequest) providers.ReadResponse {
	if textOf(req.Prior, "fail") == "read" {
		return providers.ReadResponse{Diagnostics: failure("read", req.Prior)}
	}
	p.Cloud.mu.Lock()
	defer p.Cloud.mu.Unlock()
	v, ok := p.Cloud.objects[textOf(req.Prior, "id")]
	if !ok {
		v = cty.NullVal(thing.ImpliedType())
	}
	return providers.ReadResponse{State: v, Private: req.Private}
}

// PlanResourceChange implements providers.Interface.
func (p *Provider) PlanResourceChange(_ context.Context, req providers.PlanRequest) providers.PlanResponse {
	if req.Proposed.IsNull() {
		return providers.PlanResponse{Planned: req.Proposed}
	}
	if textOf(req.Config, "fail") == "plan" {
		return providers.PlanResponse{Diagnostics: failure("plan", req.Config)}
	}
	out := providers.PlanResponse{Planned: req.Proposed, Private: req.Private}
	attrs := req.Proposed.AsValueMap()
	switch {
	case req.Prior.IsNull():
		attrs["id"], attrs["c"] = cty.UnknownVal(cty.String), cty.UnknownVal(cty.String)
	case !req.Proposed.RawEquals(req.Prior):
		attrs["c"] = cty.UnknownVal(cty.String)
		for _, name := range []string{"f", "name"} {
			if !attrs[name].RawEquals(req.Prior.GetAttr(name)) {
				out.RequiresReplace = append(out.RequiresReplace, cty.GetAttrPath(name))
			}
		}
	}
	out.Planned = cty.ObjectVal(attrs)
	return out
}

// ApplyResourceChange implements providers.Interface.
func (p *Provider) ApplyResourceChange(ctx context.Context, req providers.ApplyRequest) providers.ApplyResponse {
	op, subject := "update", req.Planned
	switch {
	case req.Prior.IsNull():
		op = "create"
	case req.Planned.IsNull():
		op, subject = "delete", req.Prior
	}
	if wait := subject.GetAttr("wait"); !wait.IsNull() {
		ms, _ := wait.AsBigFloat().Int64()
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
			return providers.ApplyResponse{New: req.Prior, Diagnostics: failure(op+" interrupted", subject)}
		}
	}
	fail := textOf(subject, "fail")
	if fail == op {
		p.Cloud.note("fail " + op + " " + textOf(subject, "name"))
		return providers.ApplyResponse{New: req.Prior, Diagnostics: failure(op, subject)}
	}
	c := p.Cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	if op == "delete" {
		id := textOf(req.Prior, "id")
		delete(c.objects, id)
		c.log = append(c.log, "delete "+id)
		return providers.ApplyResponse{New: req.Planned}
	}
	attrs := req.Planned.AsValueMap()
	if op == "create" {
		name := textOf(subject, "name")
		if c.made == nil {
			c.made, c.objects = map[string]int{}, map[string]cty.Value{}
		}
		c.made[name]++
		attrs["id"] = cty.StringVal(fmt.Sprintf("%s-%d", name, c.made[name]))
	}
	if !attrs["c"].IsKnown() {
		attrs["c"] = cty.StringVal(strings.Repeat("x", len(c.log)%7+1))
	}
	v := cty.ObjectVal(attrs)
	c.objects[textOf(v, "id")] = v
	c.log = append(c.log, op+" "+textOf(v, "id"))
	if fail == op+"-partial" {
		return providers.ApplyResponse{New: v, Diagnostics: failure(op, subject)}
	}
	return providers.ApplyResponse{New: v}
}

// ImportResourceState implements providers.Interface.
func (p *Provider) ImportResourceState(_ context.Context, req providers.ImportRequest) providers.ImportResponse {
	attrs := thing.EmptyValue().AsValueMap()
	attrs["id"] = cty.StringVal(req.ID)
	return providers.ImportResponse{Imported: []providers.ImportedObject{{Type: req.Type, State: cty.ObjectVal(attrs)}}}
}

// MoveResourceState implements providers.Interface.
func (p *Provider) MoveResourceState(context.Context, providers.MoveRequest) providers.MoveResponse {
	return providers.MoveResponse{Diagnostics: tfdiags.Diagnostics{tfdiags.Errorf("Not supported", "Objects of other types can't be taken over.")}}
}

// ReadDataSource implements providers.Interface.
func (p *Provider) ReadDataSource(_ context.Context, req providers.ReadDataRequest) providers.ReadDataResponse {
	name := textOf(req.Config, "name")
	p.Cloud.mu.Lock()
	defer p.Cloud.mu.Unlock()
	for n := p.Cloud.made[name]; n > 0; n-- {
		if v, ok := p.Cloud.objects[fmt.Sprintf("%s-%d", name, n)]; ok {
			return providers.ReadDataResponse{State: cty.ObjectVal(map[string]cty.Value{
				"name": cty.StringVal(name), "v": v.GetAttr("v"), "id": v.GetAttr("id")})}
		}
	}
	return providers.ReadDataResponse{Diagnostics: tfdiags.Diagnostics{tfdiags.Errorf("Not found", "There is no object named %q.", name)}}
}

// OpenEphemeral implements providers.Interface.
func (p *Provider) OpenEphemeral(context.Context, string, cty.Value) providers.OpenResponse {
	return providers.OpenResponse{}
}

// RenewEphemeral implements providers.Interface.
func (p *Provider) RenewEphemeral(context.Context, string, []byte) providers.RenewResponse {
	return providers.RenewResponse{}
}

// CloseEphemeral implements providers.Interface.
func (p *Provider) CloseEphemeral(context.Context, string, []byte) tfdiags.Diagnostics { return nil }

// Functions implements providers.Interface.
func (p *Provider) Functions(context.Context) (map[string]*providers.Function, tfdiags.Diagnostics) {
	return nil, nil
}

// CallFunction implements providers.Interface.
func (p *Provider) CallFunction(_ context.Context, name string, _ []cty.Value) (cty.Value, error) {
	return cty.NilVal, fmt.Errorf("there is no function %q", name)
}

// Stop implements providers.Interface.
func (p *Provider) Stop(context.Context) error { return nil }

// Close implements providers.Interface.
func (p *Provider) Close() error { return nil }

func textOf(v cty.Value, attr string) string {
	if v.IsNull() {
		return ""
	}
	a := v.GetAttr(attr)
	if a.IsNull() || !a.IsKnown() {
		return ""
	}
	return a.AsString()
}

func failure(op string, v cty.Value) tfdiags.Diagnostics {
	return tfdiags.Diagnostics{tfdiags.Errorf("Asked to fail", "The %s of %q was asked to fail.", op, textOf(v, "name"))}
}
