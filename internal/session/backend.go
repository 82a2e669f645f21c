package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/all"
	"tofu/internal/backend/local"
	"tofu/internal/cliconfig"
	"tofu/internal/configs"
	"tofu/internal/configs/blocks"
	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/registry"
	"tofu/internal/tfdiags"
)

// BackendSettings holds a backend driver and the settings of the backend.
type BackendSettings struct {
	Driver *backend.Driver
	Schema *configschema.Block // for a state store, including the block "provider"
	Block  cty.Value           // settings in the backend block; all attributes are null if there is no block
	Config cty.Value           // settings in the backend block, overridden by those on the command line

	store *stateStore // nil unless a provider has the store
}

// LocalSettings returns the settings of the local backend for a root module without a backend
// block.
func LocalSettings() *BackendSettings {
	schema := blocks.Schema(local.Driver.Config())
	return &BackendSettings{Driver: local.Driver, Schema: schema, Block: schema.EmptyValue(),
		Config: schema.EmptyValue()}
}

// DecodeBackend returns the settings in the configuration's backend or cloud block. It ignores the
// command line. If there is no block, hasBlock is false, and the settings are those of the local
// backend.
func (s *Session) DecodeBackend(ctx context.Context, cfg *Config) (settings *BackendSettings, hasBlock bool, err error) {
	block := cfg.Module.Backend
	switch {
	case cfg.Module.Cloud != nil:
		block = cfg.Module.Cloud
	case block == nil:
		return LocalSettings(), false, nil
	case block.Type == "cloud":
		return nil, true, tfdiags.Errorf("Unsupported backend type",
			"The settings of a cloud service belong in a \"cloud\" block, not in a \"backend\" "+
				"block.").At(block.TypeRange)
	}
	settings, err = s.DecodeBlock(ctx, cfg, block)
	return settings, true, err
}

// DecodeBlock returns the settings in a backend, cloud or state_store block of a configuration.
func (s *Session) DecodeBlock(ctx context.Context, cfg *Config, block *configs.Backend) (*BackendSettings, error) {
	name := block.Type
	if block.Store != nil {
		name = storeName(block.Store.Provider, block.Type)
	}
	settings, err := s.Backend(ctx, name)
	if err != nil {
		return nil, tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
			return diags.Map(func(d *tfdiags.Diagnostic) { d.Subject = &block.TypeRange })
		})
	}
	var value cty.Value
	if block.Store != nil {
		value, err = settings.store.decode(cfg, block)
	} else {
		value, err = cfg.StaticBody(block.Config, OptionalSchema(settings.Schema), "backend."+block.Type)
	}
	if err != nil {
		return nil, err
	}
	if marks.Contains(value, marks.Sensitive) || marks.Contains(value, marks.Ephemeral) {
		return nil, tfdiags.Errorf("Backend settings may not be secret",
			"The settings of a backend are stored in the data directory, so they must not contain sensitive or "+
				"ephemeral values. Set secrets in environment variables that the backend reads. Values of "+
				"-backend-config are stored, too.").At(block.Range)
	}
	value, _ = value.UnmarkDeep()
	settings.Block, settings.Config = value, value
	return settings, nil
}

// Backend returns a backend without settings. The name is that of a driver or of a state store, whose
// provider must be installed.
func (s *Session) Backend(ctx context.Context, name string) (*BackendSettings, error) {
	if provider, typ, ok := parseStoreName(name); ok {
		return s.stateStore(ctx, provider, typ)
	}
	driver, err := all.Driver(name)
	if err != nil {
		return nil, err
	}
	return &BackendSettings{Driver: driver, Schema: blocks.Schema(driver.Config())}, nil
}

// RecordedBackend returns the backend with recorded settings.
func (s *Session) RecordedBackend(ctx context.Context, record *BackendRecord) (*BackendSettings, error) {
	settings, err := s.Backend(ctx, record.Type)
	if err != nil {
		return nil, err
	}
	settings.Block, err = record.Value(settings.Schema)
	settings.Config = settings.Block
	return settings, err
}

// stores opens the stores of backends.
type stores struct {
	base   string // see Dirs.Base
	getenv func(string) string
	cli    *cliconfig.Config
}

func newStores(s *Session) *stores { return &stores{base: s.Base, getenv: s.Env, cli: s.CLI} }

// open opens the store of a backend. It adds the clients that the store shares with other stores to
// l. Only the local backend uses paths.
func (o *stores) open(
	ctx context.Context, b *BackendSettings, paths StatePaths, l *backend.Lease,
) (backend.Store, error) {
	if b.store != nil {
		return b.store.open(ctx, b)
	}
	config := b.Driver.Config()
	if err := blocks.Decode(b.Config, config, o.getenv, tfdiags.Drop); err != nil {
		return nil, err
	}
	if user, ok := config.(backend.ServiceUser); ok {
		user.UseServices(registry.New(o.cli))
	}
	if user, ok := config.(backend.ClientUser); ok {
		user.UseClients(l)
	}
	if c, ok := config.(*local.Config); ok {
		if v := b.Config.GetAttr("path"); !v.IsNull() && v.AsString() == "" {
			d := tfdiags.Errorf("Invalid path of the state file",
				"The \"path\" attribute value must not be empty. Remove it to use the default, terraform.tfstate.")
			d.Path = cty.GetAttrPath("path")
			return nil, d
		}
		options := &local.Options{Dir: o.base, State: paths.State, StateOut: paths.StateOut, Backup: paths.Backup}
		return local.New(c, options), nil
	}
	store, err := b.Driver.Open(ctx, config)
	var own tfdiags.Diagnostic
	if errors.As(err, &own) {
		return nil, err // the error already says that opening the backend failed
	}
	if err != nil {
		return nil, tfdiags.Errorf("Failed to open the backend", "%s",
			tfdiags.Sentence(fmt.Errorf("the backend %q could not be opened: %w", b.Driver.Name, err)))
	}
	return store, nil
}

// Warnings returns warnings about the settings, with attribute paths.
func (s *BackendSettings) Warnings(getenv func(string) string) tfdiags.Diagnostics {
	var warnings tfdiags.Diagnostics
	if s.store != nil {
		return nil // the provider has them when the store is opened
	}
	// Ignore errors, because opening the store will return them.
	_ = blocks.Decode(s.Config, s.Driver.Config(), getenv, warnings.Add)
	return warnings
}

// CurrentBackend returns the settings of the backend for which the directories are initialized,
// including those of the preset. It returns an error if the configuration's backend block differs
// from the recorded one.
func (s *Session) CurrentBackend(ctx context.Context, cfg *Config) (*BackendSettings, error) {
	d := &s.Dirs
	settings, hasBlock, err := s.WantedBackend(ctx, cfg)
	if err != nil {
		return nil, err
	}
	record, err := d.ReadBackendRecord()
	if err != nil {
		return nil, err
	}
	switch {
	case record == nil && !hasBlock:
		return settings, nil
	case record == nil:
		return nil, tfdiags.Errorf(d.initRequired(), "The backend %q is not set up in this directory. Run %q to set it "+
			"up.", settings.Driver.Name, d.InitCommand)
	case !hasBlock:
		return nil, d.needInit("The backend %q was set up, but the configuration no longer has a backend", record.Type)
	case record.Type != settings.Driver.Name:
		return nil, d.needInit("The backend %q was set up, and the configuration has %q", record.Type,
			settings.Driver.Name)
	}
	stored, err := record.Value(settings.Schema)
	if err != nil {
		return nil, fmt.Errorf("%w; run \"%s -reconfigure\" to replace these settings", err, d.InitCommand)
	}
	changed := record.Hash != BackendHash(record.Type, settings.Block) && !stored.RawEquals(settings.Block)
	if len(s.Preset.Backend) > 0 {
		changed = !stored.RawEquals(settings.Config)
	}
	if changed {
		changes := settings.ChangesFrom(stored, cfg.Module)
		return nil, tfdiags.Errorf(d.initRequired(), "The backend was set up with other settings than it has in the "+
			"configuration%s. %s", changes, changes.Advice(d.InitCommand))
	}
	settings.Config = stored
	return settings, nil
}

// initRequired returns the summary of errors that advise to run init.
func (d *Dirs) initRequired() string {
	return fmt.Sprintf("Backend initialization required, please run %q", d.InitCommand)
}

// needInit returns the error of a command that needs another backend than init has set up.
func (d *Dirs) needInit(reason string, args ...any) error {
	return tfdiags.Errorf(d.initRequired(), "%s. %s", fmt.Sprintf(reason, args...),
		BackendChanges{}.Advice(d.InitCommand))
}

// OptionalSchema returns a copy of schema in which all arguments are optional, because
// arguments that a block omits may be set elsewhere.
func OptionalSchema(schema *configschema.Block) *configschema.Block {
	out := &configschema.Block{Attributes: make(map[string]*configschema.Attribute, len(schema.Attributes)),
		BlockTypes: schema.BlockTypes}
	for name, attr := range schema.Attributes {
		relaxed := *attr
		relaxed.Required, relaxed.Optional = false, true
		out.Attributes[name] = &relaxed
	}
	return out
}
