package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/backend/all"
	"tofu/internal/configs"
	"tofu/internal/configs/blocks"
	"tofu/internal/depsfile"
	"tofu/internal/encryption"
	"tofu/internal/plans"
	"tofu/internal/plans/planfile"
	"tofu/internal/session"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// savePlan writes a plan with everything that applying it requires.
func savePlan(ctx context.Context, op *session.Operation, path string, plan *plans.Plan) error {
	file, err := planFile(op, plan)
	if err == nil {
		var found tfdiags.Diagnostics
		schemas := shownSchemas(op.Config.Config, plan, op.Providers.Schemas(ctx, found.Add))
		if found.Err() == nil { // show starts the provider if a schema is missing
			file.Schemas = schemas
		}
	}
	var text bytes.Buffer
	if err == nil {
		err = planfile.Write(&text, file)
	}
	data := text.Bytes()
	if target := op.Session.Encrypted.Plan(); err == nil && target != nil {
		data, err = target.Encrypt(data)
	}
	if err == nil {
		err = atomicfile.WriteNamed(path, data, 0o600) // a plan may contain secrets
	}
	var atPath *fs.PathError
	if errors.As(err, &atPath) {
		err = atPath.Err // err has the path of a temporary file
	}
	if err != nil {
		return notSaved(path, err)
	}
	return nil
}

func notSaved(path string, err error) error {
	return tfdiags.Errorf("Failed to write the plan file", "The plan could not be saved to %s: %s.", path, err)
}

// planTarget checks before planning, which may take long, whether the plan file can be written.
func planTarget(path string) error {
	if path == "" {
		return nil
	}
	if err := writable(path); err != nil {
		return notSaved(path, err)
	}
	return nil
}

// writable returns an error if there obviously can't be a file at a path.
func writable(path string) error {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return errors.New("it is a directory")
	case errors.Is(err, fs.ErrNotExist):
		if _, err = os.Stat(filepath.Dir(path)); err != nil {
			return errors.New("there is no such directory")
		}
	}
	return nil
}

func planFile(op *session.Operation, plan *plans.Plan) (*planfile.File, error) {
	settings := op.Location.Settings
	config, err := ctyjson.Marshal(settings.Config, settings.Config.Type())
	if err != nil {
		return nil, fmt.Errorf("encoding the backend settings: %w", err)
	}
	snapshot, err := packSnapshot(op.Config.Snapshot())
	if err != nil {
		return nil, err
	}
	return &planfile.File{
		Plan: plan, Serial: op.State.Snapshot.Serial, Lineage: op.State.Snapshot.Lineage, Config: snapshot,
		LockFile: op.Providers.Locks.Bytes(),
		Backend: planfile.Backend{
			Type: settings.Driver.Name, Config: config, Workspace: op.Location.Workspace,
			State: op.Location.Paths.State, StateOut: op.Location.Paths.StateOut, Backup: op.Location.Paths.Backup,
		},
	}, nil
}

// snapshotIndex is the file of a packed snapshot that describes the others. Files are numbered,
// because names of configuration files may lead out of the working directory.
type snapshotIndex struct {
	Modules []snapshotModule `json:"modules"`
	Files   []string         `json:"files"`
}

type snapshotModule struct {
	Path    string `json:"path"`
	Dir     string `json:"dir"`
	Source  string `json:"source,omitempty"`
	Version string `json:"version,omitempty"`
}

const snapshotIndexName = "index.json"

func packSnapshot(s *configs.Snapshot) (map[string][]byte, error) {
	out := make(map[string][]byte, len(s.Files)+1)
	var index snapshotIndex
	for _, m := range s.Modules {
		index.Modules = append(index.Modules, snapshotModule{string(m.Path), m.Dir, m.Source, m.Version})
	}
	for i, name := range sortedKeys(s.Files) {
		out[strconv.Itoa(i)] = s.Files[name]
		index.Files = append(index.Files, name)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	out[snapshotIndexName] = text
	return out, nil
}

func unpackSnapshot(files map[string][]byte) (*configs.Snapshot, error) {
	var index snapshotIndex
	if err := json.Unmarshal(files[snapshotIndexName], &index); err != nil {
		return nil, fmt.Errorf("reading the configuration in the plan: %w", err)
	}
	s := &configs.Snapshot{Files: make(map[string][]byte, len(index.Files))}
	for i, name := range index.Files {
		s.Files[name] = files[strconv.Itoa(i)]
	}
	for _, m := range index.Modules {
		s.Modules = append(s.Modules, configs.SnapshotModule{Path: addrs.Module(m.Path), Dir: m.Dir,
			Source: m.Source, Version: m.Version})
	}
	return s, nil
}

// savedPlan is a plan file with its configuration loaded.
type savedPlan struct {
	*planfile.File
	name string // of the file, without its directory
	cfg  *session.Config
}

// readPlan reads a plan file.
func (a *App) readPlan(ctx context.Context, path string, vars session.Variables) (*savedPlan, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tfdiags.Errorf("Failed to load the plan file", "There is no file %s.", path)
	}
	if err != nil {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil, tfdiags.Errorf("Failed to load the plan file",
				"%s is a directory, and not a saved plan. To work with the configuration "+
					"in it, write the global option -chdir=%s before the command.", path, path)
		}
		return nil, tfdiags.Errorf("Failed to load the plan file", "%s.", err)
	}
	crypt, err := a.FileEncryption(ctx, vars)
	if err != nil && planfile.Is(data) && a.Env("TF_ENCRYPTION") == "" {
		// The plan has its own configuration, so the one in the directory doesn't matter.
		crypt, err = &encryption.Config{}, nil
		a.Warnings.Take()
	}
	if err != nil {
		return nil, err
	}
	if planfile.Is(data) || encryption.IsEncrypted(data) {
		if data, err = session.DecryptFile(ctx, crypt.Plan(), data); err != nil {
			return nil, tfdiags.Errorf("Failed to load the plan file", "%s: %s.", path, err)
		}
	}
	if !planfile.Is(data) {
		return nil, notAPlan(path, data)
	}
	file, err := planfile.Parse(data)
	if err != nil {
		return nil, tfdiags.Errorf("Failed to load the plan file", "%s can't be used: %s.", path, err)
	}
	snapshot, err := unpackSnapshot(file.Config)
	if err != nil {
		return nil, err
	}
	a.Snapshot = snapshot.Files
	given := make(map[string]configs.Given, len(file.Plan.Variables))
	for name, v := range file.Plan.Variables {
		given[name] = configs.Given{Val: v, From: "the plan"}
	}
	cfg, err := configs.LoadSnapshot(ctx, snapshot, &configs.LoadOptions{Variables: given,
		Workspace: file.Backend.Workspace, WorkDir: a.WorkDir}, a.Warnings.Add)
	if err != nil {
		return nil, err
	}
	return &savedPlan{file, filepath.Base(path), &session.Config{Config: cfg, Given: given}}, nil
}

func notAPlan(path string, data []byte) error {
	if encryption.IsEncrypted(data) {
		return tfdiags.Errorf("Encrypted plan",
			"%s is encrypted, and neither the configuration nor TF_ENCRYPTION says how to decrypt plans.", path)
	}
	return tfdiags.Errorf("Not a saved plan", "%s is not a plan that was saved with \"tofu plan -out\".", path)
}

// agrees returns an error if an option requests something other than what the saved plan does.
// Options that can no longer change the plan, such as -refresh=false, are accepted, because
// programs pass them to every apply.
func (f *applyFlags) agrees(plan *plans.Plan, path string) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	for _, option := range []struct {
		name    string
		differs bool
	}{
		{"destroy", f.Destroy && plan.Mode != plans.Destroy},
		{"refresh-only", f.RefreshOnly && plan.Mode != plans.RefreshOnly},
		{"replace", !containsAll(plan.ForceReplace, opts.ForceReplace)},
		{"target", len(opts.Targets) > 0 && !sameElements(opts.Targets, plan.Targets)},
		{"exclude", len(opts.Excludes) > 0 && !sameElements(opts.Excludes, plan.Excludes)},
	} {
		if option.differs {
			return badUsage("Can't change a saved plan",
				"%s was made without the same -%s, and a saved plan is applied as it is. "+
					"Apply it without the option, or make a new plan with it.", path, option.name)
		}
	}
	return nil
}

// containsAll reports whether all has every element of some.
func containsAll[T comparable](all, some []T) bool {
	return !slices.ContainsFunc(some, func(e T) bool { return !slices.Contains(all, e) })
}

// sameElements reports whether two lists have the same elements in any order.
func sameElements[T comparable](a, b []T) bool { return containsAll(a, b) && containsAll(b, a) }

// applySaved applies exactly the saved plan, or nothing.
func applySaved(ctx context.Context, app *App, f *applyFlags, path string) error {
	saved, err := app.readPlan(ctx, path, f.Variables)
	if err != nil {
		return err
	}
	if err := f.agrees(saved.Plan, path); err != nil {
		return err
	}
	if saved.Plan.Errored {
		return tfdiags.Errorf("Cannot apply incomplete plan",
			"Planning failed when this plan was made, so it can be shown but not applied. Make a new plan.")
	}
	given, err := app.Collect(f.Variables)
	if err != nil {
		return err
	}
	op := &session.Operation{Name: session.OperationApply, Session: app.Session,
		Config: &session.Config{Config: saved.cfg.Config, Given: given}}
	if op.Variables, err = op.Config.PlanVariables(ctx, app.Session, saved.Plan); err != nil {
		return err
	}
	if op.Location, err = app.planLocation(ctx, saved, f.StatePaths); err != nil {
		return err
	}
	if err := app.samePackages(saved); err != nil {
		return err
	}
	if err := op.Open(ctx, session.StateRequest{Paths: op.Location.Paths, Lock: f.LockOptions,
		Operation: session.OperationApply}); err != nil {
		return err
	}
	defer op.Close()
	if err := notStale(op, saved); err != nil {
		return err
	}
	op.Env.Parallelism = f.Parallelism
	op.ShowPlan(ctx, &ui.PlanView{Plan: saved.Plan, Saved: true})
	result := ui.Applied{Destroy: f.command}
	st, err := f.applyPlan(ctx, op, saved.Plan, saved.ID, &result)
	if err != nil {
		return err
	}
	f.report(op, result, st)
	if !saved.Plan.Defers() {
		return nil
	}
	app.Say("\nNot everything is done: the plan deferred %s. Make a new plan to continue.", deferredCount(saved.Plan))
	if f.DetailedExitCode {
		return exitStatus(2)
	}
	return nil
}

// planLocation opens the backend that the plan was made with.
func (a *App) planLocation(
	ctx context.Context, saved *savedPlan, paths session.StatePaths,
) (*session.Location, error) {
	driver, err := all.Driver(saved.Backend.Type)
	if err != nil {
		return nil, err
	}
	workspace, err := a.Workspace()
	if err != nil {
		return nil, err
	}
	if workspace != saved.Backend.Workspace {
		return nil, tfdiags.Errorf("The plan is for another workspace",
			"The plan was made for the workspace %q, and the workspace %q is "+
				"selected now. Select the plan's workspace to apply it.", saved.Backend.Workspace, workspace)
	}
	schema := blocks.Schema(driver.Config())
	config, err := (&session.BackendRecord{Type: saved.Backend.Type, Config: saved.Backend.Config}).Value(schema)
	if err != nil {
		return nil, err
	}
	if paths == (session.StatePaths{}) {
		paths = session.StatePaths{State: saved.Backend.State, StateOut: saved.Backend.StateOut,
			Backup: saved.Backend.Backup}
	}
	settings := &session.BackendSettings{Driver: driver, Schema: schema, Block: config, Config: config}
	return a.OpenSettings(ctx, saved.cfg, settings, workspace, session.StateRequest{Paths: paths})
}

// samePackages returns an error unless the installed providers are those that the plan was made
// with.
func (a *App) samePackages(saved *savedPlan) error {
	now, err := depsfile.Load(depsfile.FileName, a.Warnings.Add)
	if err != nil {
		return err
	}
	then, err := depsfile.Parse(saved.LockFile, "the plan's "+depsfile.FileName, a.Warnings.Add)
	if err != nil {
		return err
	}
	if !now.Equal(then) {
		return tfdiags.Errorf("Inconsistent dependency lock file",
			"The lock file has other providers than "+
				"when the plan was made, and a saved plan can be applied only with the same ones. Make a new plan.")
	}
	return nil
}

// notStale returns an error unless the state is the one that the plan was made from.
func notStale(op *session.Operation, saved *savedPlan) error {
	now := op.State.Snapshot
	applied, err := statemgr.Applied(op.Session.DataDir, saved.ID)
	switch {
	case err != nil:
		return err
	case applied:
		return tfdiags.Errorf("Saved plan was applied before",
			"A plan can be applied once. Make a new plan to see what is left to do.")
	case now.Lineage != saved.Lineage:
		return tfdiags.Errorf("Saved plan does not match the given state",
			"The plan was made from a state of another lineage than this one, so it is not about the same "+
				"objects. Make a new plan.")
	case now.Serial != saved.Serial:
		return tfdiags.Errorf("Saved plan is stale",
			"The state was changed after the plan was made, so the plan may no longer match it. Make a new plan.")
	}
	return nil
}
