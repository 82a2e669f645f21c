package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/encryption"
	"tofu/internal/plans"
	"tofu/internal/plans/planfile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// EncodePlan returns the content of a plan file, with everything that is needed to apply the
// plan.
func (op *Operation) EncodePlan(ctx context.Context, plan *plans.Plan) ([]byte, error) {
	file, err := op.planFile(plan)
	if err != nil {
		return nil, err
	}
	var found tfdiags.Diagnostics
	schemas := shownSchemas(op.Config.Config, plan, op.Providers.Schemas(ctx, found.Add))
	if found.Err() == nil { // without the schemas in the file, show starts the providers
		file.Schemas = schemas
	}
	var text bytes.Buffer
	if err := planfile.Write(&text, file); err != nil {
		return nil, err
	}
	if target := op.Session.Encryption.Evaluated.Plan(); target != nil {
		return target.Encrypt(text.Bytes())
	}
	return text.Bytes(), nil
}

func (op *Operation) planFile(plan *plans.Plan) (*planfile.File, error) {
	settings := op.Location.Settings
	config, err := ctyjson.Marshal(settings.Config, settings.Config.Type())
	if err != nil {
		return nil, fmt.Errorf("encoding the backend settings: %w", err)
	}
	snapshot, err := packSnapshot(op.Config.Snapshot())
	if err != nil {
		return nil, err
	}
	plan.Warnings = op.Session.Warnings.planned()
	return &planfile.File{
		Plan: plan, Serial: op.State.Snapshot.Serial, Lineage: op.State.Snapshot.Lineage, Config: snapshot,
		LockFile: op.Providers.Locks.Bytes(),
		Backend: planfile.Backend{
			Type: settings.Driver.Name, Config: config, Workspace: op.Location.Workspace,
			State: op.Location.Paths.State, StateOut: op.Location.Paths.StateOut, Backup: op.Location.Paths.Backup,
		},
	}, nil
}

// SavedPlan is a plan file together with the configuration that it contains.
type SavedPlan struct {
	*planfile.File
	Name          string // name of the file, without its directory
	Configuration *Config
	// Moved is the checksum of the state from which the plan was made, if moves between root modules come before
	// the plan; see StateSum.
	Moved string
}

// ReadPlanFile returns the content of a plan file.
func ReadPlanFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tfdiags.Errorf("Failed to load the plan file", "There is no file %s.", path)
	}
	if err != nil {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil, tfdiags.Errorf("Failed to load the plan file",
				"%s is a directory, not a saved plan. To work with the configuration "+
					"in it, write the global option -chdir=%s before the command.", path, path)
		}
		return nil, tfdiags.Errorf("Failed to load the plan file", "%s.", err)
	}
	return data, nil
}

// DecodePlan decodes the content of a plan file. path is its path, for messages.
func (s *Session) DecodePlan(ctx context.Context, path string, data []byte, vars Variables) (*SavedPlan, error) {
	given, collectErr := s.Collect(vars)
	var file *planfile.File
	var err error
	if planfile.Is(data) {
		file, err = parsePlan(path, data)
		if err != nil {
			return nil, err
		}
		maps.Copy(given, storedVariables(file.Plan)) // keys may depend on them
	}
	crypt, err := s.fileEncryptionWith(ctx, given)
	err = tfdiags.Join(collectErr, err)
	if err != nil && planfile.Is(data) && s.Env("TF_ENCRYPTION") == "" {
		// The plan contains its own configuration, so errors in the directory's configuration don't
		// matter.
		crypt, err = &encryption.Config{}, nil
		s.Warnings.Take()
	}
	if err != nil {
		return nil, err
	}
	if planfile.Is(data) || encryption.IsEncrypted(data) {
		data, err = DecryptFile(ctx, crypt.Plan(), data)
		if err != nil {
			return nil, tfdiags.Errorf("Failed to load the plan file", "%s: %s.", path, err)
		}
	}
	if !planfile.Is(data) {
		return nil, notAPlan(path, data)
	}
	if file == nil {
		file, err = parsePlan(path, data)
		if err != nil {
			return nil, err
		}
	}
	snapshot, err := unpackSnapshot(file.Config)
	if err != nil {
		return nil, tfdiags.Errorf("Failed to load the plan file", "%s can't be used: %s.", path, err)
	}
	s.Snapshot = snapshot.Files
	given = storedVariables(file.Plan)
	cfg, err := configs.LoadSnapshot(ctx, snapshot, &configs.LoadOptions{Variables: given,
		Workspace: file.Backend.Workspace, WorkDir: s.WorkDir,
		Base: s.Base, Parser: s.Parser}, s.Warnings.Add)
	if err != nil {
		return nil, err
	}
	return &SavedPlan{File: file, Name: filepath.Base(path), Configuration: &Config{Config: cfg, Given: given}}, nil
}

// parsePlan parses a plan file that is not encrypted.
func parsePlan(path string, data []byte) (*planfile.File, error) {
	file, err := planfile.Parse(data)
	if err != nil {
		return nil, tfdiags.Errorf("Failed to load the plan file", "%s can't be used: %s.", path, err)
	}
	return file, nil
}

// storedVariables returns the values of variables in a plan.
func storedVariables(plan *plans.Plan) map[string]configs.Given {
	given := make(map[string]configs.Given, len(plan.Variables))
	for name, v := range plan.Variables {
		given[name] = configs.Given{Val: v, From: "the plan"}
	}
	return given
}

func notAPlan(path string, data []byte) error {
	if encryption.IsEncrypted(data) {
		return tfdiags.Errorf("Encrypted plan",
			"%s is encrypted, and neither the configuration nor TF_ENCRYPTION says how to decrypt plans.", path)
	}
	return tfdiags.Errorf("Not a saved plan", "%s is not a plan that was saved with \"tofu plan -out\".", path)
}

// Open opens the operation that applies the plan. It returns an error if the state has changed
// since the plan was created. opts contains the values of variables that plans don't store. The
// caller must close the operation.
func (p *SavedPlan) Open(ctx context.Context, s *Session, opts OperationOptions) (*Operation, error) {
	given, err := s.CollectFor(p.Plan, opts.Variables)
	if err != nil {
		return nil, err
	}
	op := &Operation{Name: OperationApply, Session: s, options: opts,
		Config: &Config{Config: p.Configuration.Config, Given: given}}
	op.Variables, err = op.Config.PlanVariables(ctx, s, p.Plan)
	if err != nil {
		return nil, err
	}
	op.Location, err = p.location(ctx, s, StateRequest{Paths: opts.Paths})
	if err != nil {
		return nil, err
	}
	if err := p.samePackages(s.LockFile(), s.Warnings.Add); err != nil {
		return nil, err
	}
	req := StateRequest{Paths: op.Location.Paths, Lock: opts.Lock, Operation: OperationApply}
	if err := op.Open(ctx, req); err != nil {
		return nil, err
	}
	if err := notStale(op, p); err != nil {
		op.Close()
		return nil, err
	}
	if p.Moved != "" && p.Plan.Footprint != nil {
		p.Plan.Footprint.Revision = op.State.Snapshot.Revision // the moves have made it
	}
	return op, nil
}

// location opens the backend with which the plan was created.
func (p *SavedPlan) location(ctx context.Context, s *Session, req StateRequest) (*Location, error) {
	workspace, err := s.Workspace()
	if err != nil {
		return nil, err
	}
	if workspace != p.Backend.Workspace {
		return nil, tfdiags.Errorf("The plan is for another workspace",
			"The plan was made for the workspace %q, and the workspace %q is "+
				"selected now. Select the plan's workspace to apply it.", p.Backend.Workspace, workspace)
	}
	settings, err := s.RecordedBackend(ctx, &BackendRecord{Type: p.Backend.Type, Config: p.Backend.Config})
	if err != nil {
		return nil, err
	}
	if req.Paths == (StatePaths{}) {
		req.Paths = StatePaths{State: p.Backend.State, StateOut: p.Backend.StateOut, Backup: p.Backend.Backup}
	}
	return s.OpenSettings(ctx, p.Configuration, settings, workspace, req)
}

// samePackages returns an error unless the lock file at a path contains the providers with which
// the plan was created.
func (p *SavedPlan) samePackages(lockFile string, warn tfdiags.Sink) error {
	now, err := depsfile.Load(lockFile, warn)
	if err != nil {
		return err
	}
	then, err := depsfile.Parse(p.LockFile, "the plan's "+depsfile.FileName, warn)
	if err != nil {
		return err
	}
	if !now.Equal(then) {
		return tfdiags.Errorf("Inconsistent dependency lock file",
			"The providers in the lock file differ from those that the plan "+
				"was made with, and a saved plan can be applied only with the same ones. Make a new plan.")
	}
	return nil
}

// notStale returns an error if the plan was already applied, or if the state has changed since the
// plan was created. In a statemgr.Ledger, it compares only the lineages; Begin then checks what the
// plan depends on.
func notStale(op *Operation, saved *SavedPlan) error {
	now := op.State.Snapshot
	applied, err := statemgr.Applied(op.Session.DataDir, saved.ID)
	switch {
	case err != nil:
		return err
	case applied:
		return stale("Saved plan is stale",
			"Saved plan was applied before, and a plan can be applied once. Make a new plan to see what is left to do.")
	case saved.Moved != "" && (saved.Lineage == "" || saved.Lineage == now.Lineage):
		sum, err := StateSum(op.State.Current())
		if err == nil && sum != saved.Moved {
			return stale("Saved plan is stale", "The state is not as the plan expects it after the moves between root modules. "+
				"Make a new plan.")
		}
		return err
	case saved.Lineage == "" && op.State.Shared():
		// The plan was created before the state existed, and another run has created the state
		// since. Begin checks whether anything has changed on which the plan depends.
	case saved.Lineage == "" && now.Lineage != "":
		return stale("Saved plan is stale",
			"There was no state when the plan was made, and another run has created one since. Make a new plan.")
	case now.Lineage == "" && saved.Lineage != "":
		return stale("Saved plan does not match the given state",
			"The plan was made from a state that is gone: there is none now. Make a new plan.")
	case now.Lineage != saved.Lineage:
		return stale("Saved plan does not match the given state",
			"The plan was made from a state of another lineage than this one, so it is not about the same "+
				"objects. Make a new plan.")
	case op.State.Shared(): // Begin checks whether anything has changed on which the plan depends
	case now.Serial != saved.Serial:
		return stale("Saved plan is stale",
			"The state was changed after the plan was made, so the plan may no longer match it. Make a new plan.")
	}
	return nil
}

func stale(summary, detail string) tfdiags.Diagnostic {
	d := tfdiags.Errorf(summary, "%s", detail)
	d.Extra = tfdiags.StalePlan{}
	return d
}
