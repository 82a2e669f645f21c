package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Address is the address of the provider in configurations.
var Address = addrs.DefaultProvider("fake")

// Provider is an instance of the fake provider. Its resource type fake_thing has
//
//	name   required; a change replaces the object
//	id     computed: the name and the number of objects created with that name so far
//	v      changed in place
//	f      a change replaces the object
//	c      computed again with every change
//	s      sensitive
//	w      write-only
//	tags   a map
//	rule   blocks with the argument port
//	wait   milliseconds that create, update and delete take
//
// The resource type fake_unit is like fake_thing, but has its own identity. Objects of fake_thing,
// and units of other providers, can be moved to it; the identity of moved units is set when they
// are read. The data source fake_read reads the newest object with a given name, and returns the
// object's s as secret. The data source fake_find is like fake_read, but returns an empty string if
// there is no such object. The action fake_act logs its name and text. The ephemeral resource fake_token has a value that contains its name. If
// renew is set, the engine must renew it once, immediately, and the renewal takes four times as
// long as other calls. The function echo returns its argument, count returns the number of elements
// of a list (0 for null), and merge merges maps; none of them accepts unknown values. The provider
// stores private data with each object, and returns an error if the configuration sets a computed
// attribute.
//
// The values of Cloud.Fail select how a call fails: "" is an error; "partial" an error with an
// object; "other" a result that wasn't planned; "legacy" the same, but allowed by the legacy type
// system; "unknown" an unknown result; "type" a result of the wrong type; "nothing" a response
// without a result; "null" a null result; and "deferred" a deferred response.
type Provider struct {
	providers.Basic
	Cloud *Cloud
	Type  string // type of the provider: "fake", or another name

	mu         sync.Mutex
	configured bool
	closed     bool
	host       string // the host argument of the provider configuration
}

// work records a fault if the provider is called while it is unconfigured or closed, or if it uses
// a token that is not open.
func (p *Provider) work(what string) {
	p.mu.Lock()
	configured, closed, host := p.configured, p.closed, p.host
	p.mu.Unlock()
	if !configured {
		p.Cloud.fault("%s was called on a provider that is not configured", what)
	}
	if closed {
		p.Cloud.fault("%s was called on a closed provider", what)
	}
	p.Cloud.needToken(host, what)
}

// Schema implements providers.Interface.
func (p *Provider) Schema(context.Context) (*providers.Schema, tfdiags.Diagnostics) {
	return schemas(p.Type, p.Cloud.SchemaVersion), nil
}

// ValidateProviderConfig implements providers.Interface.
func (p *Provider) ValidateProviderConfig(context.Context, cty.Value) tfdiags.Diagnostics { return nil }

// ValidateResource implements providers.Interface. The arguments old and f exclude each other.
func (p *Provider) ValidateResource(_ context.Context, _ string, v cty.Value) tfdiags.Diagnostics {
	if v.GetAttr("old").IsNull() || v.GetAttr("f").IsNull() {
		return nil
	}
	d := tfdiags.Errorf("Conflicting arguments", "Only one of \"old\" and \"f\" can be set.")
	d.Path = cty.GetAttrPath("old")
	return d.List()
}

// ValidateDataSource implements providers.Interface.
func (p *Provider) ValidateDataSource(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return nil
}

// ValidateEphemeral implements providers.Interface.
func (p *Provider) ValidateEphemeral(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return nil
}

// Configure implements providers.Interface. The call is logged if the configuration has a label.
func (p *Provider) Configure(ctx context.Context, v cty.Value) tfdiags.Diagnostics {
	what := "configure " + textOf(v, "label")
	if host := v.GetAttr("host"); !host.IsKnown() {
		what += " with unknown host"
	} else if !host.IsNull() {
		what += " with " + host.AsString()
	}
	var failed bool
	_ = p.Cloud.call(ctx, what, p.Cloud.Delay, func(_ string, asked bool) string { failed = asked; return what })
	if failed {
		return failure("configuration", v)
	}
	p.mu.Lock()
	again := p.configured
	p.configured, p.host = true, textOf(v, "host")
	p.mu.Unlock()
	if again {
		p.Cloud.fault("%s, a second time", what)
	}
	p.Cloud.needToken(textOf(v, "host"), what)
	return nil
}

// UpgradeResourceState implements providers.Interface. It appends "+" to the v of objects with an
// older schema version.
func (p *Provider) UpgradeResourceState(ctx context.Context, req providers.UpgradeRequest) providers.UpgradeResponse {
	raw := req.JSON
	p.Cloud.note(ctx, fmt.Sprintf("upgrade %s version %d", idOf(raw), req.Version))
	if req.Version < p.Cloud.SchemaVersion {
		var attrs map[string]any
		if err := json.Unmarshal(raw, &attrs); err != nil {
			return providers.UpgradeResponse{Diagnostics: tfdiags.FromError(err)}
		}
		if v, ok := attrs["v"].(string); ok {
			attrs["v"] = v + "+"
		}
		raw, _ = json.Marshal(attrs) // can't fail, because attrs come from JSON
	}
	v, err := ctyjson.Unmarshal(raw, thing.ImpliedType())
	return providers.UpgradeResponse{Value: v, Diagnostics: tfdiags.FromError(err)}
}

// UpgradeResourceIdentity implements providers.Interface.
func (p *Provider) UpgradeResourceIdentity(_ context.Context, req providers.UpgradeRequest) providers.UpgradeResponse {
	v, err := ctyjson.Unmarshal(req.JSON, identity.ImpliedType())
	return providers.UpgradeResponse{Value: v, Diagnostics: tfdiags.FromError(err)}
}

// ReadResource implements providers.Interface.
func (p *Provider) ReadResource(ctx context.Context, req providers.ReadRequest) providers.ReadResponse {
	id := textOf(req.Prior, "id")
	p.work("read " + id)
	out := providers.ReadResponse{Private: req.Private}
	_ = p.Cloud.call(ctx, "read "+id, p.Cloud.Delay, func(fail string, asked bool) string {
		v, ok := p.Cloud.objects[id]
		switch {
		case asked && fail == "deferred":
			out.Deferred = providers.DeferredAbsent
			return "read " + id
		case asked:
			out.Diagnostics = failure("read", req.Prior)
			return "fail read " + id
		case ok:
			out.State = v
		default:
			out.State = cty.NullVal(thing.ImpliedType())
		}
		out.Identity = p.identity(req.Type, id)
		return "read " + id
	})
	return out
}

func (p *Provider) identity(typ, id string) cty.Value {
	if typ != p.Type+"_unit" {
		return cty.NilVal
	}
	return cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(id)})
}

// PlanResourceChange implements providers.Interface.
func (p *Provider) PlanResourceChange(ctx context.Context, req providers.PlanRequest) providers.PlanResponse {
	if req.Proposed.IsNull() {
		return providers.PlanResponse{Planned: req.Proposed, Private: req.Private}
	}
	key := "plan "
	if p.Cloud.Applying {
		key = "final "
	}
	key += textOf(req.Config, "name")
	p.work(key)
	var out providers.PlanResponse
	_ = p.Cloud.call(ctx, key, 0, func(fail string, asked bool) string {
		switch out = planned(req); {
		case !req.Config.GetAttr("id").IsNull() || !req.Config.GetAttr("c").IsNull():
			out = providers.PlanResponse{Diagnostics: tfdiags.Errorf("Computed attribute in the configuration",
				"The configuration sets id or c, which only the provider may set (call %q).", key).List()}
		case !asked:
		case fail == "":
			out = providers.PlanResponse{Diagnostics: failure("plan", req.Config)}
		case fail == "deferred":
			out.Deferred = providers.DeferredAbsent
		default:
			out.LegacyTypes = fail == "legacy"
			out.Planned = with(out.Planned, "v", cty.StringVal("planned otherwise"))
		}
		return key + given(req)
	})
	if !req.Prior.IsNull() {
		out.Identity = p.identity(req.Type, textOf(req.Prior, "id"))
	}
	return out
}

// given describes the prior object and the private data of a plan request, for the log.
func given(req providers.PlanRequest) string {
	out := ""
	if !req.Prior.IsNull() {
		out = " from " + textOf(req.Prior, "id")
	}
	if len(req.Private) > 0 {
		out += " with " + string(req.Private)
	}
	return out
}

func planned(req providers.PlanRequest) providers.PlanResponse {
	out := providers.PlanResponse{Private: req.Private}
	attrs := req.Proposed.AsValueMap()
	attrs["w"] = cty.NullVal(cty.String) // like a real provider, don't return write-only values
	switch {
	case req.Prior.IsNull():
		attrs["id"], attrs["c"] = cty.UnknownVal(cty.String), cty.UnknownVal(cty.String)
	case !cty.ObjectVal(attrs).RawEquals(req.Prior):
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

func with(v cty.Value, attr string, value cty.Value) cty.Value {
	attrs := v.AsValueMap()
	attrs[attr] = value
	return cty.ObjectVal(attrs)
}

// ApplyResourceChange implements providers.Interface.
func (p *Provider) ApplyResourceChange(ctx context.Context, req providers.ApplyRequest) providers.ApplyResponse {
	a := applying{p: p, req: req, op: "update", subject: req.Planned}
	switch {
	case req.Prior.IsNull():
		a.op = "create"
	case req.Planned.IsNull():
		a.op, a.subject = "delete", req.Prior
	}
	a.who = textOf(req.Prior, "id")
	if a.op == "create" {
		a.who = textOf(a.subject, "name")
	}
	wait := p.Cloud.Delay
	if v := a.subject.GetAttr("wait"); !v.IsNull() {
		ms, _ := v.AsBigFloat().Int64()
		wait = time.Duration(ms) * time.Millisecond
	}
	p.work(a.op + " " + a.who)
	p.Cloud.needToken(textOf(req.Config, "w"), a.op+" "+a.who)
	_ = p.Cloud.call(ctx, a.op+" "+a.who, wait, a.do)
	return a.out
}

// applying holds the data of one call of ApplyResourceChange.
type applying struct {
	p       *Provider
	req     providers.ApplyRequest
	op, who string
	subject cty.Value
	out     providers.ApplyResponse
}

func (a *applying) do(fail string, asked bool) string {
	if asked && (fail == "" || fail == "interrupted") {
		a.out = providers.ApplyResponse{New: a.req.Prior, Diagnostics: failure(a.op, a.subject)}
		if a.op == "update" {
			a.out.New = cty.NilVal
		}
		return "fail " + a.op + " " + a.who
	}
	c := a.p.Cloud
	if a.op == "delete" {
		if asked {
			a.out = providers.ApplyResponse{New: a.req.Prior, Diagnostics: failure(a.op, a.subject)}
			return "fail delete " + a.who
		}
		delete(c.objects, a.who)
		a.out.New = a.req.Planned
		return "delete " + a.who
	}
	id := a.who
	if a.op == "create" {
		id = c.newID(a.who)
	}
	v := a.made(id)
	c.put(id, v)
	a.out = providers.ApplyResponse{New: v, Private: []byte("what " + id + " keeps"),
		Identity: a.p.identity(a.req.Type, id)}
	if asked {
		a.spoil(fail)
	}
	return a.op + " " + id
}

// made returns the object that results from applying the planned change.
func (a *applying) made(id string) cty.Value {
	attrs := a.req.Planned.AsValueMap()
	attrs["id"] = cty.StringVal(id)
	if !attrs["c"].IsKnown() {
		n, _ := strconv.Atoi(textOf(a.req.Prior, "c"))
		attrs["c"] = cty.StringVal(strconv.Itoa(n + 1))
	}
	return cty.ObjectVal(attrs)
}

// spoil replaces the correct response with a faulty one. how is a value of Cloud.Fail. The object
// has been created or updated nevertheless.
func (a *applying) spoil(how string) {
	switch how {
	case "partial":
		a.out.Diagnostics = failure(a.op, a.subject)
	case "other", "legacy":
		a.out.New = with(a.out.New, "v", cty.StringVal("made otherwise"))
		a.out.LegacyTypes = how == "legacy"
	case "unknown":
		a.out.New = with(a.out.New, "c", cty.UnknownVal(cty.String))
	case "type":
		a.out.New = cty.StringVal("no object")
	case "nothing":
		a.out.New = cty.NilVal
	case "null":
		a.out.New = cty.NullVal(thing.ImpliedType())
	default:
		panic(fmt.Sprintf("enginetest: there is no failure %q", how))
	}
}

// ImportResourceState implements providers.Interface.
func (p *Provider) ImportResourceState(_ context.Context, req providers.ImportRequest) providers.ImportResponse {
	id := req.ID
	if req.Identity != cty.NilVal {
		id = textOf(req.Identity, "key")
	}
	return providers.ImportResponse{Imported: []providers.ImportedObject{
		{Type: req.Type, State: with(thing.EmptyValue(), "id", cty.StringVal(id)), Identity: p.identity(req.Type, id)}}}
}

// MoveResourceState implements providers.Interface.
func (p *Provider) MoveResourceState(ctx context.Context, req providers.MoveRequest) providers.MoveResponse {
	what := fmt.Sprintf("move %s from %s version %d of %s with %s", idOf(req.SourceJSON), req.SourceType,
		req.SourceSchemaVersion, req.SourceProvider, req.SourcePrivate)
	if req.SourceIdentity != nil {
		what += fmt.Sprintf(" and %s version %d", req.SourceIdentity, req.SourceIdentityVersion)
	}
	p.Cloud.note(ctx, what)
	if req.TargetType != p.Type+"_unit" || req.SourceType != p.Type+"_thing" &&
		!strings.HasSuffix(req.SourceType, "_unit") {
		return providers.MoveResponse{Diagnostics: tfdiags.Errorf("Not supported",
			"Objects of other types can't be taken over.").List()}
	}
	v, err := ctyjson.Unmarshal(req.SourceJSON, thing.ImpliedType())
	if err != nil {
		return providers.MoveResponse{Diagnostics: tfdiags.FromError(err)}
	}
	out := providers.MoveResponse{State: v, Private: req.SourcePrivate}
	if req.SourceType == p.Type+"_thing" {
		out.Identity = p.identity(req.TargetType, textOf(v, "id"))
	}
	return out
}

// ReadDataSource implements providers.Interface.
func (p *Provider) ReadDataSource(ctx context.Context, req providers.ReadDataRequest) providers.ReadDataResponse {
	name := textOf(req.Config, "name")
	p.work("data " + name)
	var failed bool
	_ = p.Cloud.call(ctx, "data "+name, p.Cloud.Delay,
		func(_ string, asked bool) string { failed = asked; return "data " + name })
	if failed {
		return providers.ReadDataResponse{Diagnostics: failure("read", req.Config)}
	}
	v, ok := p.Cloud.newest(name)
	if req.Type == p.Type+"_find" {
		return providers.ReadDataResponse{State: cty.ObjectVal(map[string]cty.Value{
			"name": cty.StringVal(name),
			"text": cty.StringVal(strings.TrimSpace(textOf(v, "id") + " " + textOf(v, "v")))})}
	}
	if !ok {
		return providers.ReadDataResponse{Diagnostics: tfdiags.Errorf("Not found",
			"There is no object named %q.", name).List()}
	}
	return providers.ReadDataResponse{State: cty.ObjectVal(map[string]cty.Value{
		"name": cty.StringVal(name), "v": v.GetAttr("v"), "id": v.GetAttr("id"), "secret": v.GetAttr("s")})}
}

// tokenPrefix is the prefix of the values of tokens.
const tokenPrefix = "token of "

// OpenEphemeral implements providers.Interface.
func (p *Provider) OpenEphemeral(ctx context.Context, _ string, config cty.Value) providers.OpenResponse {
	name := textOf(config, "name")
	out := providers.OpenResponse{Private: []byte(name), Result: with(config, "value", cty.StringVal(tokenPrefix+name))}
	p.work("open " + name)
	_ = p.Cloud.call(ctx, "open "+name, p.Cloud.Delay, func(_ string, asked bool) string {
		if asked {
			out.Diagnostics = failure("open", config)
		}
		return "open " + name
	})
	if !out.Diagnostics.HasErrors() {
		p.Cloud.turnToken(name, 1)
	}
	if textOf(config, "renew") != "" {
		out.RenewAt = time.Now()
	}
	return out
}

// RenewEphemeral implements providers.Interface.
func (p *Provider) RenewEphemeral(ctx context.Context, _ string, private []byte) providers.RenewResponse {
	what := "renew " + string(private)
	p.work(what)
	out := providers.RenewResponse{Private: private}
	_ = p.Cloud.call(ctx, what, 4*p.Cloud.Delay, func(_ string, asked bool) string {
		if asked {
			out.Diagnostics = tfdiags.Errorf("Not renewed", "The token was not renewed.").List()
		}
		return what
	})
	return out
}

// CloseEphemeral implements providers.Interface.
func (p *Provider) CloseEphemeral(ctx context.Context, _ string, private []byte) tfdiags.Diagnostics {
	what := "close " + string(private)
	p.work(what)
	p.Cloud.turnToken(string(private), -1)
	_ = p.Cloud.call(ctx, what, p.Cloud.Delay, func(string, bool) string { return what })
	return nil
}

// ValidateAction implements providers.Interface. An action can't have an empty name.
func (p *Provider) ValidateAction(_ context.Context, _ string, config cty.Value) tfdiags.Diagnostics {
	if name := config.GetAttr("name"); name.IsKnown() && name.AsString() == "" {
		d := tfdiags.Errorf("Invalid name", "The name is empty.")
		d.Path = cty.GetAttrPath("name")
		return d.List()
	}
	return nil
}

// PlanAction implements providers.Interface.
func (p *Provider) PlanAction(ctx context.Context, _ string, config cty.Value) providers.PlanActionResponse {
	var out providers.PlanActionResponse
	key := "plan action " + textOf(config, "name")
	p.work(key)
	_ = p.Cloud.call(ctx, key, 0, func(fail string, asked bool) string {
		switch {
		case asked && fail == "deferred":
			out.Deferred = providers.DeferredAbsent
		case asked:
			out.Diagnostics = failure("plan", config)
		}
		return key
	})
	return out
}

// InvokeAction implements providers.Interface. With the failure "nothing", it doesn't say how the action ended.
func (p *Provider) InvokeAction(
	ctx context.Context, _ string, config cty.Value, progress func(string),
) providers.InvokeResponse {
	var out providers.InvokeResponse
	key := "invoke " + textOf(config, "name")
	p.work(key)
	p.Cloud.needToken(textOf(config, "text"), key)
	_ = p.Cloud.call(ctx, key, p.Cloud.Delay, func(fail string, asked bool) string {
		text := strings.TrimSpace(key + " " + textOf(config, "text"))
		if asked {
			out.Diagnostics, out.Unanswered = failure("invocation", config), fail == "nothing"
			return "fail " + text
		}
		progress("halfway")
		return text
	})
	return out
}

// Functions implements providers.Interface.
func (p *Provider) Functions(context.Context) (map[string]*providers.Function, tfdiags.Diagnostics) {
	return functions, nil
}

// CallFunction implements providers.Interface.
func (p *Provider) CallFunction(_ context.Context, name string, args []cty.Value) (cty.Value, error) {
	if slices.ContainsFunc(args, func(v cty.Value) bool { return !v.IsWhollyKnown() }) {
		return cty.NilVal, fmt.Errorf("an argument of the function %q is not wholly known", name)
	}
	switch name {
	case "echo":
		return args[0], nil
	case "count":
		if args[0].IsNull() {
			return cty.Zero, nil
		}
		return args[0].Length(), nil
	case "merge":
		all := map[string]cty.Value{}
		for _, arg := range args {
			maps.Copy(all, arg.AsValueMap())
		}
		return cty.MapVal(all), nil
	}
	return cty.NilVal, fmt.Errorf("there is no function %q", name)
}

// AllowDeferral implements providers.Interface.
func (p *Provider) AllowDeferral() {}

// Stop implements providers.Interface. Running calls complete nevertheless.
func (p *Provider) Stop(context.Context) error { return nil }

// Close implements providers.Interface.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return nil
}

// idOf returns the id of an object in JSON.
func idOf(raw []byte) string {
	var attrs struct{ ID string }
	if err := json.Unmarshal(raw, &attrs); err != nil {
		return "?"
	}
	return attrs.ID
}

func textOf(v cty.Value, attr string) string {
	if v == cty.NilVal || v.IsNull() || !v.Type().HasAttribute(attr) {
		return ""
	}
	a := v.GetAttr(attr)
	if a.IsNull() || !a.IsKnown() || a.Type() != cty.String {
		return ""
	}
	return a.AsString()
}

func failure(op string, v cty.Value) tfdiags.Diagnostics {
	name := textOf(v, "name") + textOf(v, "label")
	return tfdiags.Errorf("Asked to fail", "The %s of %q was asked to fail.", op, name).List()
}
