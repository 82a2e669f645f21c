package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/provided"
	"tofu/internal/configschema"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

// backendInit sets up the backend of a root module.
type backendInit struct {
	session *session.Session
	flags   *initFlags
}

// run starts using the backend that the configuration declares: it copies states if necessary, and
// records the backend. It returns an error if the backend has changed, unless the user chose to
// migrate or to reconfigure.
func (b *backendInit) run(ctx context.Context, root *session.Config) error {
	s, f := b.session, b.flags
	defer s.Timings.Phase("backend")()
	wanted, hasBlock, err := s.DecodeBackend(ctx, root)
	if err != nil {
		return err
	}
	if root.Module.Cloud != nil && len(f.BackendConfig) > 0 {
		return tfdiags.Errorf("Invalid command-line option", "-backend-config is only for a \"backend\" block, not "+
			"for a \"cloud\" block. Change the block, or set the environment variables TF_CLOUD_ORGANIZATION, "+
			"TF_CLOUD_HOSTNAME, TF_CLOUD_PROJECT and TF_WORKSPACE.").At(root.Module.Cloud.Range)
	}
	record, recordErr := s.ReadBackendRecord()
	if recordErr != nil && !f.Reconfigure {
		return recordErr
	}
	if !hasBlock && len(f.BackendConfig) > 0 {
		s.Warnings.Add(tfdiags.Warningf("Missing backend configuration",
			"-backend-config has no effect, because the configuration has no \"backend\" block. Add one, such "+
				"as `backend \"pg\" {}`."))
	}
	if hasBlock {
		if err := b.mergeOptions(wanted); err != nil {
			return err
		}
	}
	var current *session.BackendSettings // nil if nothing was initialized before
	if record != nil && !f.Reconfigure {
		current, err = s.RecordedBackend(ctx, record)
		if err != nil {
			return err
		}
	}
	switch {
	case f.Reconfigure:
	case current == nil && !hasBlock:
		return nil
	case current == nil:
		m := &migration{session: s, flags: f, move: true}
		err = inBackendBlock(m.run(ctx, root, session.LocalSettings(), wanted), root)
	case hasBlock && b.same(record, current, wanted):
		wanted.Config = current.Config
	case !f.Migrate && hasBlock && current.Driver.Name == wanted.Driver.Name:
		changes := wanted.ChangesFrom(current.Config, root.Module)
		return tfdiags.Errorf("Backend configuration changed", "The backend was set up with other settings than it has "+
			"in the configuration%s. %s", changes, changes.Advice("tofu init"))
	case !f.Migrate:
		return tfdiags.Errorf("Backend configuration changed",
			"The directory was initialized for another backend, or with other settings for this one. "+
				"Run \"tofu init -migrate-state\" to copy the state to the new one, or \"tofu init -reconfigure\" to "+
				"leave it where it is.")
	default:
		s.Say("Backend configuration changed. Looking for existing state...")
		m := &migration{session: s, flags: f}
		err = m.run(ctx, root, current, wanted)
	}
	if err != nil {
		return err
	}
	if f.Reconfigure || current != nil && b.same(record, current, wanted) {
		if err := b.keepWorkspace(ctx, root, wanted); err != nil {
			return err
		}
	}
	if !hasBlock {
		return s.WriteBackendRecord(nil)
	}
	return b.record(ctx, root, wanted, record)
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

// record checks that the wanted backend can be used, and records it as the backend to use from now
// on. old is the record that it replaces, or nil.
func (b *backendInit) record(
	ctx context.Context, root *session.Config, wanted *session.BackendSettings, old *session.BackendRecord,
) error {
	s := b.session
	p, err := s.OpenSettings(ctx, root, wanted, backend.DefaultWorkspace, session.StateRequest{})
	if err != nil {
		return inBackendBlock(err, root)
	}
	if err := ping(ctx, p.Store); err != nil && !errors.Is(err, backend.ErrNoWorkspaces) {
		return tfdiags.Errorf("Failed to use the backend", "The backend %q can't be used. %s", wanted.Driver.Name,
			tfdiags.Sentence(err))
	}
	if warnings := wanted.Warnings(s.Env); len(warnings) > 0 {
		s.Warnings.Add(placeInBackend(warnings, root)...)
	}
	if err := selectExisting(ctx, s, p); err != nil {
		return err
	}
	if err := b.createDefault(ctx, p); err != nil {
		return err
	}
	record, err := session.NewBackendRecord(wanted.Driver.Name, wanted.Block, wanted.Config)
	if err == nil {
		err = s.WriteBackendRecord(record)
	}
	if err != nil {
		return err
	}
	if old == nil || old.Type != record.Type || string(old.Config) != string(record.Config) {
		s.Success(fmt.Sprintf("\nThe backend %q is set up and will be used from now on.", record.Type))
	}
	return nil
}

// ping checks whether a store can be read.
func ping(ctx context.Context, s backend.Store) error {
	if p, ok := s.(backend.Pinger); ok { // thousands of root modules may have their workspaces in one store
		return p.Ping(ctx)
	}
	_, err := s.List(ctx)
	return err
}

// createDefault creates the default workspace in the state store of a provider, as Terraform does, so
// that the store lists it and its first write is tried.
func (b *backendInit) createDefault(ctx context.Context, p *session.Location) error {
	if _, ok := p.Store.(*provided.Store); !ok {
		return nil
	}
	names, err := p.Store.List(ctx)
	if err != nil || slices.Contains(names, p.Workspace) {
		return err
	}
	open, err := b.session.ReadState(ctx, p, session.StateRequest{Lock: b.flags.LockOptions, Operation: "init"})
	if err != nil {
		return err
	}
	defer b.session.Release(open)
	if !open.Exists() {
		if _, err := open.Create(ctx, b.session.Warnings.Add); err != nil {
			return err
		}
	}
	if exists, err := p.Exists(ctx); err != nil || exists {
		return err
	}
	return tfdiags.Errorf("The state store doesn't keep states", "The store %q has accepted the state of the workspace %q, and "+
		"doesn't have it now. This is a fault of the provider; use another store.", p.Settings.Driver.Name, p.Workspace)
}

// keepWorkspace makes sure that the selected workspace exists in a backend to which no states are
// copied. Otherwise the next apply would create everything again, in a new workspace. It selects the
// only workspace, or asks which one to select instead.
func (b *backendInit) keepWorkspace(
	ctx context.Context, root *session.Config, wanted *session.BackendSettings,
) error {
	s := b.session
	selected, err := s.Workspace()
	chosen := s.Env("TF_WORKSPACE") != "" || s.Preset.Workspace != "" // then it is created when it is needed
	if err != nil || chosen || selected == backend.DefaultWorkspace {
		return err
	}
	p, err := s.OpenSettings(ctx, root, wanted, selected, session.StateRequest{})
	if err != nil {
		return inBackendBlock(err, root)
	}
	if _, without := p.Store.(backend.Undefaulted); without {
		return nil // see selectExisting
	}
	names, err := p.Store.List(ctx)
	if err != nil || slices.Contains(names, selected) {
		return nil // record reports the error
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == backend.DefaultWorkspace })
	names = slices.Insert(names, 0, backend.DefaultWorkspace)
	if len(names) == 1 {
		s.Say("The workspace %q doesn't exist in this backend. Selected the only one, %q.", selected, names[0])
		return s.SelectWorkspace(names[0])
	}
	missing := tfdiags.Errorf("The selected workspace doesn't exist", "The backend %q has no workspace %q, which is "+
		"selected. It has: %s. Set TF_WORKSPACE to the name of the workspace to use, which is created if it doesn't "+
		"exist, or run the command without -input=false to choose one.",
		wanted.Driver.Name, selected, strings.Join(names, ", "))
	if !s.Input {
		return missing
	}
	text := "Which of these workspaces is to be selected instead? Enter a name or a number."
	for i, name := range names {
		text += fmt.Sprintf("\n%d. %s", i+1, name)
	}
	answer, err := s.Ask(ctx, terminal.Question{
		Title: fmt.Sprintf("The selected workspace %q does not exist in this backend.", selected), Text: text})
	if err != nil {
		return missing
	}
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(names) && !slices.Contains(names, answer) {
		answer = names[n-1]
	}
	if !slices.Contains(names, answer) {
		return tfdiags.Errorf("There is no such workspace", "The answer %q is neither the name nor the number of a "+
			"workspace in the backend %q. It has: %s.", answer, wanted.Driver.Name, strings.Join(names, ", "))
	}
	return s.SelectWorkspace(answer)
}

// selectExisting selects a workspace in a backend that has no default workspace, if the selected
// one doesn't exist there. It selects the only workspace. If there are several or none, it only
// warns that the user must select or create one. It does nothing if TF_WORKSPACE is set.
func selectExisting(ctx context.Context, s *session.Session, p *session.Location) error {
	only, ok := p.Store.(backend.Undefaulted)
	if !ok || s.Env("TF_WORKSPACE") != "" {
		return nil
	}
	selected, err := s.Workspace()
	if err != nil {
		return err
	}
	if name := only.Only(); name != "" {
		if name == selected {
			return nil
		}
		return s.SelectWorkspace(name)
	}
	names, err := p.Store.List(ctx)
	switch {
	case err != nil:
		return tfdiags.Errorf("Failed to list workspaces", "%s", tfdiags.Sentence(err))
	case slices.Contains(names, selected):
		return nil
	case len(names) == 1:
		s.Say("Selected the only workspace, %q.", names[0])
		return s.SelectWorkspace(names[0])
	case len(names) == 0:
		s.Warnings.Add(tfdiags.Warningf("No workspaces", "The backend has no workspaces that match its settings. "+
			"Create one with \"tofu workspace new\"."))
		return nil
	}
	s.Warnings.Add(tfdiags.Warningf("No workspace is selected", "The workspace %q doesn't exist in this backend. "+
		"Select one of these with \"tofu workspace select\": %s.", selected, strings.Join(names, ", ")))
	return nil
}

// same reports whether the wanted backend is the recorded one. Unless the command line or the
// preset has settings, the recorded settings of the command line still apply.
func (b *backendInit) same(record *session.BackendRecord, current, wanted *session.BackendSettings) bool {
	given := len(b.flags.BackendConfig)+len(b.session.Preset.Backend) > 0
	if current.Driver.Name != wanted.Driver.Name {
		return false
	}
	if !given && record.Hash == session.BackendHash(record.Type, wanted.Block) {
		return true
	}
	return current.Config.RawEquals(wanted.Config)
}

// mergeOptions adds the settings of the preset and of -backend-config to those of the block. Later
// settings override earlier ones.
func (b *backendInit) mergeOptions(s *session.BackendSettings) error {
	errs := tfdiags.FromError(s.Preset(b.session.Preset))
	for _, option := range b.flags.BackendConfig {
		if option == "" {
			continue // a script passed an unset variable
		}
		if name, text, isPair := strings.Cut(option, "="); isPair {
			errs = errs.AppendError(s.Override(name, text, "-backend-config"))
			continue
		}
		inFile, err := b.optionFile(s.Schema, option)
		errs = errs.AppendError(err)
		values := s.Config.AsValueMap()
		maps.Copy(values, inFile)
		s.Config = cty.ObjectVal(values)
	}
	return errs.Err()
}

// optionFile reads a file of backend settings and returns them.
func (b *backendInit) optionFile(schema *configschema.Block, path string) (map[string]cty.Value, error) {
	file, err := b.session.Parser.ParseFile(path)
	if err != nil {
		return nil, err
	}
	v, diags := session.OptionalSchema(schema).Decode(file.Body, nil)
	if err := tfdiags.FromHCL(diags).Report(b.session.Warnings.Add); err != nil {
		return nil, err
	}
	values := v.AsValueMap()
	maps.DeleteFunc(values, func(_ string, v cty.Value) bool {
		return v.IsNull() || v.CanIterateElements() && v.LengthInt() == 0
	})
	return values, nil
}
