package roots

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/all"
	"tofu/internal/configs"
	"tofu/internal/configs/blocks"
	"tofu/internal/lang"
	"tofu/internal/memo"
	"tofu/internal/outputuse"
	"tofu/internal/session"
)

// Read is a use of one root module by another. The user is an instance of a terraform_remote_state
// data source, or a reference in roots.tofu.hcl.
type Read struct {
	Kind  ReadKind
	User  string    // address of the data source or variable; "" for After
	Range hcl.Range // range of the block or the reference
	State StateID   // the state that a data source reads
	// Outputs are the used outputs; empty for After.
	Outputs Outputs
	// Root is the root module that is used; nil if the state belongs to no root module of the
	// estate.
	Root *Root

	place *place // of State, if a data source reads it
}

// ReadKind is a way in which one root module uses another. Its text appears in JSON documents.
type ReadKind string

const (
	RemoteState ReadKind = "remote_state" // a data source reads its state
	Variable    ReadKind = "variable"     // a variable is set from its outputs
	After       ReadKind = "after"        // the argument "after" lists it
)

// errDynamic is the error for data source settings that are not known before planning.
var errDynamic = errors.New("the settings are not known before planning")

// remoteStates finds the states that a configuration reads, and the outputs of each state that it
// uses. It skips data sources whose settings are not known before planning.
func (r *Root) remoteStates(s *session.Session, cfg *configs.Config, uses *memo.Map[string, map[string]Outputs]) {
	r.used = make(map[string]Outputs)
	for module := range cfg.AllModules() {
		used, _ := uses.Do(module.Module.Dir, func() (map[string]Outputs, error) {
			return outputuse.Find(s.Parser, module.Module), nil
		})
		for name := range used {
			data := module.Module.Resources[outputuse.DataSource(name)]
			user := data.Addr.In(module.Path).String()
			r.used[user] = used[name]
			repeated, err := instances(module, data)
			if err != nil {
				continue
			}
			for _, each := range repeated {
				at, err := each.state(module, data)
				if err != nil {
					continue
				}
				id, err := at.identify(s)
				if err != nil {
					r.opaque = true // the environment may be the reason
					continue
				}
				read := Read{Kind: RemoteState, User: user, Range: data.Range, State: id, Outputs: used[name], place: at}
				r.Reads = append(r.Reads, read)
			}
		}
	}
}

// repetition holds the values of each.key, each.value and count.index for one instance.
type repetition map[addrs.Referenceable]cty.Value

// instances returns a repetition for each instance of a resource.
func instances(module *configs.Config, r *configs.Resource) ([]repetition, error) {
	user := r.Addr.String()
	switch {
	case r.ForEach != nil:
		v, err := module.StaticEval(r.ForEach, cty.DynamicPseudoType, user)
		if err != nil {
			return nil, err
		}
		elements, err := lang.ForEach(v)
		var out []repetition
		key, value := addrs.ForEachAttr{Name: "key"}, addrs.ForEachAttr{Name: "value"}
		for _, e := range elements {
			out = append(out, repetition{key: e.Key, value: e.Value})
		}
		return out, err
	case r.Count != nil:
		v, err := module.StaticEval(r.Count, cty.Number, user)
		if err != nil || v.IsNull() || !v.IsKnown() {
			return nil, errors.Join(err, errDynamic)
		}
		n, _ := v.AsBigFloat().Int64()
		var out []repetition
		for i := range n {
			out = append(out, repetition{addrs.CountAttr{Name: "index"}: cty.NumberIntVal(i)})
		}
		return out, nil
	}
	return []repetition{nil}, nil
}

// repeated is static data extended with the repetition values of an instance.
type repeated struct {
	lang.Data
	values repetition
}

// Value implements lang.Data.
func (d repeated) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	if v, ok := d.values[subject]; ok {
		return v, nil
	}
	return d.Data.Value(subject, rng)
}

var remoteStateBody = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "backend"}, {Name: "config"}, {Name: "workspace"},
}}

// state returns the state that one instance reads.
func (v repetition) state(module *configs.Config, r *configs.Resource) (*place, error) {
	content, _, diags := r.Config.PartialContent(remoteStateBody)
	if diags.HasErrors() {
		return nil, diags
	}
	scope := module.StaticScope(r.Addr.String(), r.Range)
	scope.Data = repeated{scope.Data, v}
	values := map[string]cty.Value{"backend": cty.NullVal(cty.String), "config": cty.EmptyObjectVal,
		"workspace": cty.NullVal(cty.String)}
	secret := false
	for name, attr := range content.Attributes {
		given, err := scope.EvalExpr(attr.Expr, cty.DynamicPseudoType)
		if err != nil {
			return nil, err
		}
		value, valueMarks := given.UnmarkDeep()
		secret = secret || len(valueMarks) > 0
		if !value.IsWhollyKnown() {
			return nil, errDynamic
		}
		values[name] = value
	}
	if values["backend"].IsNull() || values["backend"].Type() != cty.String {
		return nil, errDynamic
	}
	driver, err := all.Driver(values["backend"].AsString())
	if err != nil {
		return nil, err
	}
	config := values["config"]
	if config.IsNull() {
		config = cty.EmptyObjectVal
	}
	config, err = blocks.Schema(driver.Config()).CoerceValue(config)
	if err != nil {
		return nil, err
	}
	workspace := backend.DefaultWorkspace
	if w := values["workspace"]; !w.IsNull() && w.Type() == cty.String && w.AsString() != "" {
		workspace = w.AsString()
	}
	return &place{driver: driver, config: config, workspace: workspace, secret: secret}, nil
}
