package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/provided"
	"tofu/internal/configs"
	"tofu/internal/configs/blocks"
	"tofu/internal/configschema"
	"tofu/internal/depsfile"
	"tofu/internal/tfdiags"
)

// stateStore is a state store of a provider. Its settings are those of the store, and under
// storeProvider those of the provider.
type stateStore struct {
	session  *Session
	provider addrs.Provider
	typ      string
	own      *configschema.Block // schema of the store
	config   *configschema.Block // schema of the provider
}

// storeProvider is the name of the block with the settings of the provider.
const storeProvider = "provider"

// storeName returns the name of a state store among the backends, such as
// "example.com/corp/cloud/cloud_bucket".
func storeName(p addrs.Provider, typ string) string { return p.String() + "/" + typ }

// parseStoreName parses the result of storeName. Names of other backends have no slash.
func parseStoreName(name string) (p addrs.Provider, typ string, ok bool) {
	i := strings.LastIndex(name, "/")
	if i < 0 {
		return p, "", false
	}
	p, err := addrs.ParseProvider(name[:i])
	return p, name[i+1:], err == nil
}

// Provider returns the provider that has the recorded state store. ok is false for other backends.
func (r *BackendRecord) Provider() (p addrs.Provider, ok bool) {
	p, _, ok = parseStoreName(r.Type)
	return p, ok
}

// stateStore returns the state store of a provider, without settings.
func (s *Session) stateStore(ctx context.Context, p addrs.Provider, typ string) (*BackendSettings, error) {
	running, err := s.openStoreProvider(p)
	if err != nil {
		return nil, err
	}
	schema, diags := running.Schema(ctx, p)
	if err := diags.Report(s.Warnings.Add); err != nil {
		return nil, err
	}
	found := schema.StateStores.Type(typ)
	switch {
	case found == nil && len(schema.StateStores.Names()) == 0:
		return nil, tfdiags.Errorf("The provider has no state stores", "The installed version of the provider %s has no state "+
			"stores, so it can't have %q. A newer version may have them; otherwise use a \"backend\" block.",
			p.ForDisplay(), typ)
	case found == nil:
		return nil, tfdiags.Errorf("Unknown state store", "The provider %s has no state store %q. It has: %s.", p.ForDisplay(),
			typ, strings.Join(schema.StateStores.Names(), ", "))
	case found.Invalid != nil:
		return nil, tfdiags.Errorf("Invalid provider schema", "The provider %s has an invalid schema for its state store %q: "+
			"%s.", p.ForDisplay(), typ, found.Invalid)
	}
	own, config := found.Block, schema.Provider
	if config == nil {
		config = configschema.Empty()
	}
	whole := &configschema.Block{Attributes: own.Attributes, BlockTypes: maps.Clone(own.BlockTypes)}
	if whole.BlockTypes == nil {
		whole.BlockTypes = map[string]*configschema.NestedBlock{}
	}
	whole.BlockTypes[storeProvider] = &configschema.NestedBlock{
		Block:   configschema.Block{Attributes: config.Attributes, BlockTypes: config.BlockTypes},
		Nesting: configschema.NestingSingle,
	}
	return &BackendSettings{
		Driver: &backend.Driver{Name: storeName(p, typ)}, Schema: whole,
		store: &stateStore{session: s, provider: p, typ: typ, own: own, config: config},
	}, nil
}

// openStoreProvider returns a pool for the provider of a state store. It is separate from that of
// operations, because it ends with the session, and a process can have only one store.
func (s *Session) openStoreProvider(p addrs.Provider) (*Providers, error) {
	if running := s.storeProviders[p]; running != nil {
		return running, nil
	}
	locked, err := readPackages(s, tfdiags.Drop)
	if err != nil {
		return nil, err
	}
	if err := locked.check(depsfile.Requirements{p: nil}); err != nil {
		return nil, err
	}
	running, err := s.startProviders(locked)
	if err != nil {
		return nil, err
	}
	running.Pool.Shared, running.Pool.Keep = nil, 0
	if s.storeProviders == nil {
		s.storeProviders = make(map[addrs.Provider]*Providers)
	}
	s.storeProviders[p] = running
	return running, nil
}

// decode returns the settings in a state_store block.
func (t *stateStore) decode(cfg *Config, block *configs.Backend) (cty.Value, error) {
	user := "state_store." + block.Type
	own, err := cfg.StaticBody(block.Store.Arguments, OptionalSchema(t.own), user)
	if err != nil {
		return cty.NilVal, err
	}
	config, err := cfg.StaticBody(block.Store.Config, t.config, user)
	if err != nil {
		return cty.NilVal, err
	}
	values := own.AsValueMap()
	if values == nil {
		values = map[string]cty.Value{}
	}
	values[storeProvider] = config
	return cty.ObjectVal(values), nil
}

// settings returns the settings of the store and those of the provider.
func (t *stateStore) settings(b *BackendSettings) (own, config cty.Value) {
	values := maps.Clone(b.Config.AsValueMap())
	config = values[storeProvider]
	if config.IsNull() {
		config = t.config.EmptyValue()
	}
	delete(values, storeProvider)
	return cty.ObjectVal(values), config
}

// open starts and configures the provider and its store.
func (t *stateStore) open(ctx context.Context, b *BackendSettings) (backend.Store, error) {
	for _, name := range slices.Sorted(maps.Keys(t.own.Attributes)) {
		if t.own.Attributes[name].Required && b.Config.GetAttr(name).IsNull() {
			d := tfdiags.Errorf("Missing required argument", "The state store %q requires the argument %q. Set it in the block, "+
				"or with -backend-config.", t.typ, name)
			d.Path = cty.GetAttrPath(name)
			return nil, d
		}
	}
	running, err := t.session.openStoreProvider(t.provider)
	if err != nil {
		return nil, err
	}
	p, err := running.Provider(ctx, t.provider)
	if err != nil {
		return nil, err
	}
	own, config := t.settings(b)
	diags := inside(storeProvider, p.ValidateProviderConfig(ctx, config))
	for _, step := range []func() tfdiags.Diagnostics{
		func() tfdiags.Diagnostics { return inside(storeProvider, p.Configure(ctx, config)) },
		func() tfdiags.Diagnostics { return p.ValidateStore(ctx, t.typ, own) },
		func() tfdiags.Diagnostics { return p.ConfigureStore(ctx, t.typ, own) },
	} {
		if !diags.HasErrors() {
			diags = diags.Append(step()...)
		}
	}
	if err := diags.Report(t.session.Warnings.Add); err != nil {
		_ = p.Close() // the first error matters
		return nil, err
	}
	return provided.New(p, t.typ, t.session.Warnings.Add), nil
}

// inside returns diagnostics about a body as diagnostics about the body around it.
func inside(block string, diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	return diags.Map(func(d *tfdiags.Diagnostic) {
		d.Path = slices.Concat(cty.GetAttrPath(block), d.Path)
	})
}

// Identity returns what distinguishes the state of a workspace from all others; see
// backend.Identifier. Of a state store, this is the store with all its settings that are no secrets.
func (b *BackendSettings) Identity(s *Session, workspace string) ([]string, error) {
	if b.store == nil {
		config := b.Driver.Config()
		if err := blocks.Decode(b.Config, config, s.Env, tfdiags.Drop); err != nil {
			return nil, err
		}
		return config.Identity(workspace, s.Base)
	}
	own, _ := b.store.settings(b)
	values := own.AsValueMap()
	maps.DeleteFunc(values, func(name string, v cty.Value) bool {
		attr := b.store.own.Attributes[name]
		return v.IsNull() || attr != nil && attr.Sensitive
	})
	text, err := json.Marshal(ctyjson.SimpleJSONValue{Value: cty.ObjectVal(values)})
	if err != nil {
		return nil, fmt.Errorf("encoding the settings of the state store: %w", err)
	}
	return []string{b.Driver.Name, string(text), workspace}, nil
}
