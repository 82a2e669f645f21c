package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"tofu/internal/backend"
	"tofu/internal/backend/all"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// recordedSettings are those of the backend that was initialised before.
func recordedSettings(record *backendRecord) (*backendSettings, tfdiags.Diagnostics) {
	driver, diags := all.Driver(record.Type)
	if diags.HasErrors() {
		return nil, diags
	}
	schema := backend.Schema(driver.Config())
	config, err := record.value(schema.ImpliedType())
	if err != nil {
		return nil, diags.Append(err)
	}
	return &backendSettings{driver: driver, schema: schema, block: config, config: config}, diags
}

// migration copies states from one backend to another.
type migration struct {
	app      *App
	flags    *initFlags
	from, to *place
}

// migrate copies the states that are in the old backend into the new one, if there are any and the user agrees. The first time that
// a configuration has a backend block, the state that lies in the working directory is moved rather than copied.
func (a *App) migrate(ctx context.Context, root *loaded, from, to *backendSettings, f *initFlags, first bool) tfdiags.Diagnostics {
	workspace, err := a.workspace()
	if err != nil {
		return tfdiags.Diagnostics{}.Append(err)
	}
	m := &migration{app: a, flags: f}
	var diags, more tfdiags.Diagnostics
	if m.from, diags = a.openSettings(ctx, root, from, workspace, stateRequest{}); diags.HasErrors() {
		return diags
	}
	m.to, more = a.openSettings(ctx, root, to, workspace, stateRequest{})
	if diags = diags.Append(more); more.HasErrors() {
		return diags
	}
	names, err := m.workspaces(ctx)
	if err != nil {
		return diags.Append(err)
	}
	if len(names) == 0 {
		return diags
	}
	if len(names) > 1 || names[0] != backend.DefaultWorkspace {
		if _, err := m.to.store.List(ctx); errors.Is(err, backend.ErrNoWorkspaces) {
			return diags.Append(tfdiags.Errorf("The new backend has no workspaces",
				"The old backend has the workspaces %q, and the backend %q can hold the default one only. Delete or move the others first.",
				names, to.driver.Name))
		}
	}
	for _, name := range names {
		if m.sameFile(name) {
			continue
		}
		copied, more := m.copy(ctx, name, len(names))
		if diags = diags.Append(more); diags.HasErrors() {
			return diags
		}
		if copied && first {
			if err := m.setAside(name); err != nil {
				return diags.Append(err)
			}
		}
	}
	return diags
}

// sameFile tells whether a workspace's state is one and the same file in both places, so that it is where it belongs.
func (m *migration) sameFile(name string) bool {
	from, isFile := m.from.store.(backend.Filer)
	to, toFile := m.to.store.(backend.Filer)
	if !isFile || !toFile {
		return false
	}
	old, err := os.Stat(from.File(name))
	if err != nil {
		return false
	}
	present, err := os.Stat(to.File(name))
	return err == nil && os.SameFile(old, present)
}

// setAside turns a local state that was moved into its backup, so that nobody goes on with it by mistake.
func (m *migration) setAside(name string) error {
	path := m.from.store.(backend.Filer).File(name)
	if err := os.Rename(path, path+".backup"); err != nil {
		return fmt.Errorf("setting aside the state that was moved to the new backend: %w", err)
	}
	return nil
}

// workspaces lists the old backend's workspaces that have something in them.
func (m *migration) workspaces(ctx context.Context) ([]string, error) {
	names, err := m.from.store.List(ctx)
	if err != nil && !errors.Is(err, backend.ErrNoWorkspaces) {
		return nil, fmt.Errorf("listing the workspaces of the old backend: %w", err)
	}
	names = append(names, backend.DefaultWorkspace)
	slices.Sort(names)
	var filled []string
	for _, name := range slices.Compact(names) {
		data, err := m.from.store.Get(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("reading the workspace %q of the old backend: %w", name, err)
		}
		if len(data) > 0 {
			filled = append(filled, name)
		}
	}
	return filled, nil
}

// copy copies one workspace's state. It tells whether it did: the state may be empty, the same already, or the user may not want it.
func (m *migration) copy(ctx context.Context, name string, count int) (bool, tfdiags.Diagnostics) {
	m.from.workspace, m.to.workspace = name, name
	req := stateRequest{lock: m.flags.lockFlags, operation: "migration source"}
	source, diags := m.app.readState(ctx, m.from, req)
	if diags.HasErrors() {
		return false, diags
	}
	defer func() { m.app.Printer.Diagnostics(source.close()) }()
	if source.State().Empty() {
		return false, diags
	}
	req.operation = "migration destination"
	dest, more := m.app.readState(ctx, m.to, req)
	if diags = diags.Append(more); more.HasErrors() {
		return false, diags
	}
	defer func() { m.app.Printer.Diagnostics(dest.close()) }()
	if dest.exists() && statefile.Equal(source.State(), dest.State()) && source.snapshot.Lineage == dest.snapshot.Lineage {
		return true, diags
	}
	ok, err := m.agreed(ctx, name, count, dest.snapshot)
	if err != nil {
		return false, diags.Append(tfdiags.Errorf("Error asking about copying the state", "There is a state in the old backend, and whether to copy it "+
			"to the new one could not be asked: %s. Use -force-copy to copy it without a question, or -reconfigure to leave it where it is.", err))
	}
	if !ok {
		return false, diags
	}
	file := &statefile.File{Serial: source.snapshot.Serial, Lineage: source.snapshot.Lineage, State: source.State()}
	return true, diags.Append(dest.Push(ctx, file, true))
}

// agreed asks whether a state is to be copied.
func (m *migration) agreed(ctx context.Context, name string, count int, dest *statemgr.Snapshot) (bool, error) {
	switch {
	case m.flags.ForceCopy:
		return true, nil
	case !m.app.Input:
		return false, errNoInput
	}
	which := ""
	if count > 1 || name != backend.DefaultWorkspace {
		which = fmt.Sprintf(" of the workspace %q", name)
	}
	text := "The backend %q has a state and the new backend %q has none.\nWithout a copy the new one starts empty."
	if dest.Exists && !dest.State.Empty() {
		text = "Both the backend %q and the new backend %q have a state.\nA copy overwrites the one in the new backend; otherwise it is kept."
	}
	q := question{
		Title: fmt.Sprintf("Copy the state%s to the new backend?", which),
		Text:  fmt.Sprintf(text, m.from.settings.driver.Name, m.to.settings.driver.Name),
	}
	return m.app.confirm(ctx, q)
}
