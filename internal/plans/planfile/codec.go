package planfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/version"
)

func writePlan(w io.Writer, f *File) error {
	p := f.Plan
	e := &encoder{types: make(map[string]int), recent: make(map[string][]numbered),
		providers: make(map[string]int), prior: p.Prior}
	head, err := e.head(f)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	out := msgpack.NewEncoder(buffered)
	out.UseCompactInts(true)
	out.UseArrayEncodedStructs(true)
	out.SetSortMapKeys(true)
	if err := out.EncodeInt(format); err != nil {
		return err
	}
	if err := out.Encode(head); err != nil {
		return err
	}
	var changes []*plans.InstanceChange
	if p.Changes != nil {
		changes = p.Changes.Instances
	}
	for _, list := range [][]*plans.InstanceChange{changes, p.Drift} {
		for _, c := range list {
			wire, err := e.change(c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Addr, err)
			}
			if err := out.Encode(wire); err != nil {
				return err
			}
		}
	}
	if p.Changes != nil {
		for _, o := range p.Changes.Outputs {
			wire, err := e.output(o)
			if err != nil {
				return fmt.Errorf("output value %q: %w", o.Name, err)
			}
			if err := out.Encode(wire); err != nil {
				return err
			}
		}
	}
	for _, d := range p.Deferred {
		wire, err := e.deferred(d)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Addr, err)
		}
		if err := out.Encode(wire); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

func (e *encoder) head(f *File) (*wirePlan, error) {
	p := f.Plan
	out := &wirePlan{
		Program: version.Build(), ID: f.ID, Backend: f.Backend,
		Mode: p.Mode, Errored: p.Errored, Applyable: p.Applyable, Complete: p.Complete, Timestamp: p.Timestamp,
		EphemeralVariables: p.EphemeralVariables, GeneratedConfig: p.GeneratedConfig,
		HasChanges: p.Changes != nil, Drift: len(p.Drift), Deferred: len(p.Deferred),
	}
	for _, m := range p.DeferredModules {
		out.DeferredModules = append(out.DeferredModules, string(m))
	}
	if p.Changes != nil {
		out.Changes, out.Outputs = len(p.Changes.Instances), len(p.Changes.Outputs)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		_, paths := p.Variables[name].UnmarkDeepWithPaths()
		secret, err := toMarks(paths)
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", name, err)
		}
		out.Variables = append(out.Variables, wireVariable{name, p.VariableSources[name], secret})
	}
	var err error
	for _, list := range []struct {
		from []addrs.Target
		to   *[]wireTarget
	}{{p.Targets, &out.Targets}, {p.Excludes, &out.Excludes}} {
		for _, t := range list.from {
			wire, terr := toTarget(t)
			err = errors.Join(err, terr)
			*list.to = append(*list.to, wire)
		}
	}
	for _, a := range p.ForceReplace {
		wire, ierr := toInstance(a)
		err = errors.Join(err, ierr)
		out.ForceReplace = append(out.ForceReplace, wire)
	}
	for _, list := range []struct {
		to   *[]wireRelevant
		from []plans.RelevantAttribute
	}{{&out.Relevant, p.RelevantAttributes}, {&out.Read, p.Read}} {
		for _, r := range list.from {
			target, terr := toTarget(r.Resource)
			path, perr := toPath(r.Attr)
			err = errors.Join(err, terr, perr)
			*list.to = append(*list.to, wireRelevant{Target: target, Path: path})
		}
	}
	if p.Changes != nil {
		invoked, ierr := e.invocations(p.Changes.Invoked)
		out.Invoked, err = invoked, errors.Join(err, ierr)
	}
	out.HasChecks = p.Checks != nil
	for _, b := range p.Checks.Sorted() {
		check := wireCheck{Kind: b.Kind, Config: b.Config, Status: b.Status}
		for _, o := range b.SortedObjects() {
			check.Objects = append(check.Objects, *o)
		}
		out.Checks = append(out.Checks, check)
	}
	return out, err
}

func (e *encoder) provider(p addrs.ProviderInstance) (wireProvider, error) {
	key, err := toKey(p.Key)
	text := p.Config.String()
	number, ok := e.providers[text]
	if ok {
		return wireProvider{Number: number, Key: key}, err
	}
	number = len(e.providers)
	e.providers[text] = number
	return wireProvider{Number: number, Config: text, Key: key}, err
}

func (e *encoder) change(c *plans.InstanceChange) (*wireChange, error) {
	out := &wireChange{
		Deposed: c.Deposed, Action: c.Action, Reason: c.Reason, Private: c.Private, ReplaceDeposed: c.ReplaceDeposed,
		Generated: c.GeneratedConfig, NeededBy: c.NeededBy,
	}
	var err error
	out.Addr, err = toInstance(c.Addr)
	if err != nil {
		return nil, err
	}
	if c.MovedFrom != nil {
		prev, err := toInstance(*c.MovedFrom)
		if err != nil {
			return nil, err
		}
		out.PrevAddr = &prev
	}
	out.Provider, err = e.provider(c.Provider)
	if err != nil {
		return nil, err
	}
	hint := c.Addr.Resource.Type
	obj := e.prior.Object(c.Addr, c.Deposed)
	out.Before, err = e.value(c.Before, hint, obj)
	if err != nil {
		return nil, err
	}
	if c.Action == plans.NoOp && c.Before != cty.NilVal && c.After != cty.NilVal && c.After.RawEquals(c.Before) {
		out.After.From = asBefore
	} else if out.After, err = e.value(c.After, hint, nil); err != nil {
		return nil, err
	}
	out.BeforeIdentity, err = e.value(c.BeforeIdentity, "identity "+hint, nil)
	if err != nil {
		return nil, err
	}
	out.AfterIdentity, err = e.value(c.AfterIdentity, "identity "+hint, nil)
	if err != nil {
		return nil, err
	}
	if c.Restored != cty.NilVal {
		restored, err := e.value(c.Restored, hint, nil)
		if err != nil {
			return nil, err
		}
		out.Restored = &restored
	}
	for _, p := range c.RequiredReplace {
		path, err := toPath(p)
		if err != nil {
			return nil, err
		}
		out.Replace = append(out.Replace, path)
	}
	if c.Importing != nil {
		identity, err := e.value(c.Importing.Identity, "identity "+hint, nil)
		if err != nil {
			return nil, err
		}
		out.Importing = &wireImport{ID: c.Importing.ID, Identity: identity}
	}
	for _, read := range c.Reads {
		key, err := toKey(read.Key)
		if err != nil {
			return nil, err
		}
		out.Reads = append(out.Reads, wireRead{read.Resource.Mode, read.Resource.Type, read.Resource.Name, key})
	}
	out.Invocations, err = e.invocations(c.Invocations)
	return out, err
}

func (e *encoder) invocations(list []*plans.Invocation) ([]wireInvocation, error) {
	var out []wireInvocation
	for _, inv := range list {
		addr, err := toInstance(inv.Addr)
		provider, perr := e.provider(inv.Provider)
		config, verr := e.value(inv.Config, inv.Addr.Resource.String(), nil)
		wire := wireInvocation{Addr: addr, Provider: provider, Config: config}
		by := inv.Caller
		if on := inv.Trigger; on != nil {
			by, wire.Event, wire.Block, wire.Index = on.Caller, on.Event, on.Block, on.Index
			wire.OnFailure, wire.Undecided = on.OnFailure, on.Undecided
		}
		if by != (addrs.AbsInstance{}) {
			caller, cerr := toInstance(by)
			wire.Caller, err = &caller, errors.Join(err, cerr)
		}
		if err = errors.Join(err, perr, verr); err != nil {
			return nil, fmt.Errorf("%s: %w", inv.Addr, err)
		}
		out = append(out, wire)
	}
	return out, nil
}

func (e *encoder) output(o *plans.OutputChange) (*wireOutput, error) {
	before, err := e.value(o.Before, "", nil)
	if err != nil {
		return nil, err
	}
	after, err := e.value(o.After, "", nil)
	return &wireOutput{Name: o.Name, Action: o.Action, Before: before, After: after, Sensitive: o.Sensitive,
		Deprecated: o.Deprecated}, err
}

// decoder decodes changes. It keeps the types and providers that it has read so far, because
// changes refer to them by number.
type decoder struct {
	types     []cty.Type
	providers []addrs.AbsProviderConfig
	modules   map[string]addrs.ModuleInstance
	prior     *states.State
	variables map[string]cty.Value // without marks
}

func readPlan(in *msgpack.Decoder, f *File, prior *states.State, variables map[string]cty.Value) error {
	d := &decoder{modules: map[string]addrs.ModuleInstance{"": addrs.RootInstance}, prior: prior,
		variables: variables}
	return d.read(in, f)
}

// openPlan returns the decoder of a plan, after the format number.
func openPlan(r io.Reader) (*msgpack.Decoder, error) {
	in := msgpack.NewDecoder(bufio.NewReaderSize(r, 64<<10))
	n, err := in.DecodeInt()
	if err == nil && n != format {
		err = errFormat
	}
	return in, err
}

func (d *decoder) read(in *msgpack.Decoder, f *File) error {
	var head wirePlan
	if err := in.Decode(&head); err != nil {
		return err
	}
	if err := d.head(&head, f); err != nil {
		return err
	}
	p := f.Plan
	for range head.Changes {
		c, err := d.nextChange(in)
		if err != nil {
			return err
		}
		p.Changes.Instances = append(p.Changes.Instances, c)
	}
	for range head.Drift {
		c, err := d.nextChange(in)
		if err != nil {
			return err
		}
		p.Drift = append(p.Drift, c)
	}
	for range head.Outputs {
		var wire wireOutput
		if err := in.Decode(&wire); err != nil {
			return err
		}
		o, err := d.output(&wire)
		if err != nil {
			return err
		}
		p.Changes.AddOutput(o)
	}
	for range head.Deferred {
		c, err := d.nextDeferred(in)
		if err != nil {
			return err
		}
		p.Deferred = append(p.Deferred, c)
	}
	p.Changes.Sort()
	return nil
}

func (d *decoder) head(in *wirePlan, f *File) error {
	f.ID, f.Backend = in.ID, in.Backend
	p := &plans.Plan{
		Mode: in.Mode, Errored: in.Errored, Applyable: in.Applyable, Complete: in.Complete,
		Timestamp:          in.Timestamp.UTC(),
		EphemeralVariables: in.EphemeralVariables, GeneratedConfig: in.GeneratedConfig,
	}
	f.Plan = p
	if in.HasChanges {
		p.Changes = &plans.Changes{}
	} else if in.Changes+in.Outputs+len(in.Invoked) > 0 {
		return errors.New("the plan counts changes that it does not contain")
	}
	for _, wire := range in.Variables {
		v, ok := d.variables[wire.Name]
		if !ok {
			return fmt.Errorf("variable %q has no value", wire.Name)
		}
		v, err := withMarks(v, wire.Marks)
		if err != nil {
			return fmt.Errorf("variable %q: %w", wire.Name, err)
		}
		if p.Variables == nil {
			p.Variables, p.VariableSources = make(map[string]cty.Value), make(map[string]string)
		}
		p.Variables[wire.Name], p.VariableSources[wire.Name] = v, wire.Source
	}
	for _, m := range in.DeferredModules {
		p.DeferredModules = append(p.DeferredModules, addrs.Module(m))
	}
	var err error
	for _, list := range []struct {
		from []wireTarget
		to   *[]addrs.Target
	}{{in.Targets, &p.Targets}, {in.Excludes, &p.Excludes}} {
		for _, wire := range list.from {
			t, terr := d.target(wire)
			err = errors.Join(err, terr)
			*list.to = append(*list.to, t)
		}
	}
	for _, wire := range in.ForceReplace {
		a, ierr := d.instance(wire)
		err = errors.Join(err, ierr)
		p.ForceReplace = append(p.ForceReplace, a)
	}
	for _, list := range []struct {
		from []wireRelevant
		to   *[]plans.RelevantAttribute
	}{{in.Relevant, &p.RelevantAttributes}, {in.Read, &p.Read}} {
		for _, wire := range list.from {
			target, terr := d.target(wire.Target)
			path, perr := wire.Path.path()
			err = errors.Join(err, terr, perr)
			*list.to = append(*list.to, plans.RelevantAttribute{Resource: target, Attr: path})
		}
	}
	if in.HasChanges {
		invoked, ierr := d.invocations(in.Invoked)
		p.Changes.Invoked, err = invoked, errors.Join(err, ierr)
	}
	if in.HasChecks {
		p.Checks = &checks.Results{}
	}
	for _, wire := range in.Checks {
		block := p.Checks.Declare(wire.Kind, wire.Config)
		block.Status = wire.Status
		for _, o := range wire.Objects {
			block.Objects[o.Addr] = &o
		}
	}
	return err
}

func (d *decoder) nextChange(in *msgpack.Decoder) (*plans.InstanceChange, error) {
	var wire wireChange
	if err := in.Decode(&wire); err != nil {
		return nil, err
	}
	return d.change(&wire)
}

func (d *decoder) change(in *wireChange) (*plans.InstanceChange, error) {
	out := &plans.InstanceChange{
		Deposed: in.Deposed, Action: in.Action, Reason: in.Reason, Private: in.Private,
		ReplaceDeposed:  in.ReplaceDeposed,
		GeneratedConfig: in.Generated, NeededBy: in.NeededBy,
	}
	var err error
	out.Addr, err = d.instance(in.Addr)
	if err != nil {
		return nil, err
	}
	if in.PrevAddr != nil {
		from, err := d.instance(*in.PrevAddr)
		if err != nil {
			return nil, err
		}
		out.MovedFrom = &from
	}
	out.Provider, err = d.provider(in.Provider)
	if err != nil {
		return nil, err
	}
	if !in.Action.Valid() {
		return nil, fmt.Errorf("unknown action %d", in.Action)
	}
	obj := d.prior.Object(out.Addr, out.Deposed)
	out.Before, err = d.value(in.Before, cty.NilVal, obj)
	if err != nil {
		return nil, err
	}
	out.After, err = d.value(in.After, out.Before, nil)
	if err != nil {
		return nil, err
	}
	out.BeforeIdentity, err = d.value(in.BeforeIdentity, cty.NilVal, nil)
	if err != nil {
		return nil, err
	}
	out.AfterIdentity, err = d.value(in.AfterIdentity, cty.NilVal, nil)
	if err != nil {
		return nil, err
	}
	if in.Restored != nil {
		out.Restored, err = d.value(*in.Restored, cty.NilVal, nil)
		if err != nil {
			return nil, err
		}
	}
	for _, wire := range in.Replace {
		path, err := wire.path()
		if err != nil {
			return nil, err
		}
		out.RequiredReplace = append(out.RequiredReplace, path)
	}
	if in.Importing != nil {
		identity, err := d.value(in.Importing.Identity, cty.NilVal, nil)
		if err != nil {
			return nil, err
		}
		out.Importing = &plans.Importing{ID: in.Importing.ID, Identity: identity}
	}
	for _, wire := range in.Reads {
		key, err := wire.Key.key()
		if err != nil {
			return nil, err
		}
		if wire.Mode > addrs.Ephemeral {
			return nil, fmt.Errorf("unknown resource mode %d", wire.Mode)
		}
		out.Reads = append(out.Reads, plans.InstanceRead{
			Resource: addrs.Resource{Mode: wire.Mode, Type: wire.Type, Name: wire.Name}, Key: key,
		})
	}
	out.Invocations, err = d.invocations(in.Invocations)
	return out, err
}

func (d *decoder) invocations(list []wireInvocation) ([]*plans.Invocation, error) {
	var out []*plans.Invocation
	for _, in := range list {
		addr, err := d.instance(in.Addr)
		provider, perr := d.provider(in.Provider)
		config, verr := d.value(in.Config, cty.NilVal, nil)
		inv := &plans.Invocation{Addr: addr, Provider: provider, Config: config}
		if in.Caller != nil {
			caller, cerr := d.instance(*in.Caller)
			inv.Caller, err = caller, errors.Join(err, cerr)
		}
		if in.Event != "" {
			inv.Trigger = &plans.Trigger{Caller: inv.Caller, Event: in.Event, Block: in.Block, Index: in.Index,
				OnFailure: in.OnFailure, Undecided: in.Undecided}
			inv.Caller = addrs.AbsInstance{}
		}
		if config == cty.NilVal && verr == nil {
			verr = errors.New("an action has no configuration")
		}
		if err = errors.Join(err, perr, verr); err != nil {
			return nil, err
		}
		out = append(out, inv)
	}
	return out, nil
}

func (d *decoder) provider(in wireProvider) (addrs.ProviderInstance, error) {
	if in.Config != "" {
		p, err := addrs.ParseProviderInstanceText(in.Config)
		if err != nil {
			return p, err
		}
		d.providers = append(d.providers, p.Config)
	}
	if in.Number < 0 || in.Number >= len(d.providers) {
		return addrs.ProviderInstance{}, fmt.Errorf("unknown provider number %d", in.Number)
	}
	key, err := in.Key.key()
	return addrs.ProviderInstance{Config: d.providers[in.Number], Key: key}, err
}

func (d *decoder) output(in *wireOutput) (*plans.OutputChange, error) {
	out := &plans.OutputChange{Name: in.Name, Action: in.Action, Sensitive: in.Sensitive, Deprecated: in.Deprecated}
	if !in.Action.Valid() {
		return nil, fmt.Errorf("unknown action %d", in.Action)
	}
	var err error
	out.Before, err = d.value(in.Before, cty.NilVal, nil)
	if err != nil {
		return nil, err
	}
	out.After, err = d.value(in.After, out.Before, nil)
	return out, err
}
