package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/configs/configschema"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// initBackend starts using the backend that the configuration declares, and records it.
func (a *App) initBackend(ctx context.Context, root *session.Config, f *initFlags) error {
	defer a.Timings.Phase("backend")()
	wanted, hasBlock, err := session.DecodeBackend(root)
	if err != nil {
		return err
	}
	if root.Module.Cloud != nil && len(f.BackendConfig) > 0 {
		return tfdiags.Errorf("Invalid command-line option", "-backend-config is only for a \"backend\" block, not "+
			"for a \"cloud\" block. Change the block, or set the environment variables TF_CLOUD_ORGANIZATION, "+
			"TF_CLOUD_HOSTNAME, TF_CLOUD_PROJECT and TF_WORKSPACE.").At(root.Module.Cloud.Range)
	}
	record, recordErr := a.ReadBackendRecord()
	if recordErr != nil && !f.Reconfigure {
		return recordErr
	}
	if !hasBlock && len(f.BackendConfig) > 0 {
		a.Warnings.Add(tfdiags.Warningf("Missing backend configuration",
			"-backend-config has no effect, because the configuration has no \"backend\" block. Add one, such "+
				"as `backend \"pg\" {}`."))
	}
	if hasBlock {
		if err := a.mergeBackendConfig(wanted, f.BackendConfig); err != nil {
			return err
		}
	}
	var current *session.BackendSettings // nil if nothing was initialized before
	if record != nil && !f.Reconfigure {
		if current, err = recordedSettings(record); err != nil {
			return err
		}
	}
	switch {
	case f.Reconfigure:
	case current == nil && !hasBlock:
		return nil
	case current == nil:
		m := &migration{app: a, flags: f, move: true}
		err = inBackendBlock(m.run(ctx, root, session.LocalSettings(), wanted), root)
	case hasBlock && sameBackend(record, current, wanted, len(f.BackendConfig)+len(a.Preset.Backend) > 0):
		wanted.Config = current.Config
	case !f.Migrate:
		return tfdiags.Errorf("Backend configuration changed",
			"The directory was initialized for another backend or other settings of it. "+
				"Run \"tofu init -migrate-state\" to copy the state to the new one, or \"tofu init -reconfigure\" to "+
				"leave it where it is.")
	default:
		a.Say("Backend configuration changed. Looking for existing state...")
		m := &migration{app: a, flags: f}
		err = m.run(ctx, root, current, wanted)
	}
	if err != nil {
		return err
	}
	return a.recordBackend(ctx, root, wanted, hasBlock, record)
}

// inBackendBlock sets the range of each diagnostic about an argument to that argument in the
// backend block.
func inBackendBlock(err error, root *session.Config) error {
	if root.Module.BackendOrCloud() == nil {
		return err
	}
	return tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
		return placeInBackend(diags, root)
	})
}

func placeInBackend(diags tfdiags.Diagnostics, root *session.Config) tfdiags.Diagnostics {
	return diags.Map(func(d *tfdiags.Diagnostic) {
		if d.Path != nil {
			*d = d.List().InConfigBody(root.Module.BackendOrCloud().Config, "")[0]
		}
	})
}

// recordBackend records which backend is used from now on, after checking that it can be used.
func (a *App) recordBackend(
	ctx context.Context, root *session.Config, wanted *session.BackendSettings, hasBlock bool,
	old *session.BackendRecord,
) error {
	if !hasBlock {
		return a.WriteBackendRecord(nil)
	}
	p, err := a.OpenSettings(ctx, root, wanted, backend.DefaultWorkspace, session.StateRequest{})
	if err != nil {
		return inBackendBlock(err, root)
	}
	if _, err := p.Store.List(ctx); err != nil && !errors.Is(err, backend.ErrNoWorkspaces) {
		return tfdiags.Errorf("Failed to use the backend", "The backend %q can't be used: %s.", wanted.Driver.Name,
			err)
	}
	if warnings := wanted.Warnings(a.Env); len(warnings) > 0 {
		a.Warnings.Add(placeInBackend(warnings, root)...)
	}
	if err := a.selectExisting(ctx, p); err != nil {
		return err
	}
	record, err := session.NewBackendRecord(wanted.Driver.Name, wanted.Block, wanted.Config)
	if err == nil {
		err = a.WriteBackendRecord(record)
	}
	if err != nil {
		return err
	}
	if old == nil || old.Type != record.Type || string(old.Config) != string(record.Config) {
		a.Success(fmt.Sprintf("\nThe backend %q is set up and will be used from now on.", record.Type))
	}
	return nil
}

// selectExisting selects a workspace if the backend has no default workspace and no existing
// workspace is selected. It selects the only workspace. If there are several, the user has to
// select one.
func (a *App) selectExisting(ctx context.Context, p *session.Location) error {
	only, ok := p.Store.(backend.Undefaulted)
	if !ok || a.Env("TF_WORKSPACE") != "" {
		return nil
	}
	selected, err := a.Workspace()
	if err != nil {
		return err
	}
	if name := only.Only(); name != "" {
		if name == selected {
			return nil
		}
		return a.SelectWorkspace(name)
	}
	names, err := p.Store.List(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("listing the workspaces: %w", err)
	case slices.Contains(names, selected):
		return nil
	case len(names) == 1:
		a.Say("Selected the only workspace, %q.", names[0])
		return a.SelectWorkspace(names[0])
	case len(names) == 0:
		a.Warnings.Add(tfdiags.Warningf("No workspaces", "The backend has no workspaces that match its settings. "+
			"Create one with \"tofu workspace new\"."))
		return nil
	}
	a.Warnings.Add(tfdiags.Warningf("No workspace is selected", "The workspace %q doesn't exist in this backend. "+
		"Select one of these with \"tofu workspace select\": %s.", selected, strings.Join(names, ", ")))
	return nil
}

// sameBackend reports whether the wanted backend is the recorded one. Unless the command line
// has new settings, the recorded settings of the command line still apply.
func sameBackend(record *session.BackendRecord, current, wanted *session.BackendSettings, given bool) bool {
	if current.Driver != wanted.Driver {
		return false
	}
	if !given && record.Hash == session.BackendHash(record.Type, wanted.Block) {
		return true
	}
	return current.Config.RawEquals(wanted.Config)
}

// mergeBackendConfig adds the settings of the preset and of -backend-config to those of the block.
// Later ones override earlier ones.
func (a *App) mergeBackendConfig(s *session.BackendSettings, options []string) error {
	errs := tfdiags.FromError(s.Preset(a.Preset))
	for _, option := range options {
		if option == "" {
			continue // a script passed an unset variable
		}
		if name, text, isPair := strings.Cut(option, "="); isPair {
			errs = errs.AppendError(s.Override(name, text, "-backend-config"))
			continue
		}
		inFile, err := a.backendConfigFile(s.Schema, option)
		errs = errs.AppendError(err)
		values := s.Config.AsValueMap()
		maps.Copy(values, inFile)
		s.Config = cty.ObjectVal(values)
	}
	return errs.Err()
}

// backendConfigFile reads a file of backend settings and returns them.
func (a *App) backendConfigFile(schema *configschema.Block, path string) (map[string]cty.Value, error) {
	file, err := a.Parser.ParseFile(path)
	if err != nil {
		return nil, err
	}
	v, diags := session.OptionalSchema(schema).Decode(file.Body, nil)
	if err := tfdiags.FromHCL(diags).Report(a.Warnings.Add); err != nil {
		return nil, err
	}
	values := v.AsValueMap()
	maps.DeleteFunc(values, func(_ string, v cty.Value) bool {
		return v.IsNull() || v.CanIterateElements() && v.LengthInt() == 0
	})
	return values, nil
}
