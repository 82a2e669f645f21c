package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/backend/all"
	"tofu/internal/session"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

// recordedSettings returns the settings of the recorded backend.
func recordedSettings(record *session.BackendRecord) (*session.BackendSettings, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	driver, err := all.Driver(record.Type)
	if err != nil {
		return nil, diags.AppendError(err)
	}
	schema := backend.Schema(driver.Config())
	config, err := record.Value(schema.ImpliedType())
	if err != nil {
		return nil, diags.AppendError(err)
	}
	return &session.BackendSettings{Driver: driver, Schema: schema, Block: config, Config: config}, diags
}

// migration copies states from one backend to another.
type migration struct {
	app      *App
	flags    *initFlags
	from, to *session.Location
	first    bool // there was no backend before: local states are moved rather than copied
	agreed   bool // the user has agreed to copy states
}

// migrate copies the states in the old backend to the new one, if there are any and the user
// agrees. When a configuration gets its first backend block, the local state is moved rather than
// copied.
func (a *App) migrate(
	ctx context.Context, root *session.Config, from, to *session.BackendSettings, f *initFlags, first bool,
) tfdiags.Diagnostics {
	workspace, err := a.Workspace()
	if err != nil {
		return tfdiags.FromError(err)
	}
	m := &migration{app: a, flags: f, first: first, agreed: f.ForceCopy}
	var diags, more tfdiags.Diagnostics
	if m.from, diags = a.OpenSettings(ctx, root, from, workspace, session.StateRequest{}); diags.HasErrors() {
		return diags
	}
	m.to, more = a.OpenSettings(ctx, root, to, workspace, session.StateRequest{})
	if diags = diags.Append(more...); more.HasErrors() {
		return diags
	}
	names, err := m.workspaces(ctx)
	if err != nil {
		return diags.AppendError(err)
	}
	names = slices.DeleteFunc(names, m.sameFile)
	if len(names) == 0 {
		return diags
	}
	if len(names) > 1 || names[0] != backend.DefaultWorkspace {
		if _, err := m.to.Store.List(ctx); errors.Is(err, backend.ErrNoWorkspaces) {
			return diags.Append(m.onlySelected(ctx, names, workspace)...)
		}
	}
	if len(names) > 1 {
		ok, err := m.agree(ctx, terminal.Question{
			Title: fmt.Sprintf("Copy the states of %d workspaces to the new backend?", len(names)),
			Text: fmt.Sprintf("The backend %q has the workspaces %s.\n"+
				"\"yes\" copies all of them to the backend %q and overwrites what has the same\nname there; "+
				"\"no\" changes nothing.",
				from.Driver.Name, strings.Join(names, ", "), to.Driver.Name),
		})
		if err != nil || !ok {
			return diags.Append(m.refused(err))
		}
	}
	for _, name := range names {
		if diags = diags.Append(m.take(ctx, name, name)...); diags.HasErrors() {
			return diags
		}
	}
	return diags
}

// onlySelected copies the state of the selected workspace, the only one that a backend without
// workspaces can store.
func (m *migration) onlySelected(ctx context.Context, names []string, selected string) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	ok, err := m.agree(ctx, terminal.Question{
		Title: fmt.Sprintf("Copy the state of the workspace %q to the new backend?", selected),
		Text: fmt.Sprintf("The backend %q has the workspaces %s, and the backend %q can hold one only.\n"+
			"\"yes\" copies the selected one and leaves the others where they are; \"no\"\nchanges nothing.",
			m.from.Settings.Driver.Name, strings.Join(names, ", "), m.to.Settings.Driver.Name),
	})
	if err != nil || !ok {
		return diags.Append(m.refused(err))
	}
	if diags = m.take(ctx, selected, backend.DefaultWorkspace); diags.HasErrors() {
		return diags
	}
	return diags.AppendError(m.app.SelectWorkspace(backend.DefaultWorkspace))
}

// sameFile reports whether a workspace's state is the same file in both backends, so that nothing
// has to be copied.
func (m *migration) sameFile(name string) bool {
	from, isFile := m.from.Store.(backend.Filer)
	to, toFile := m.to.Store.(backend.Filer)
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

// setAside renames a local state that was moved to its backup, so that it is not used by mistake.
func (m *migration) setAside(name string) error {
	path := m.from.Store.(backend.Filer).File(name)
	if err := os.Rename(path, path+".backup"); err != nil {
		return fmt.Errorf("setting aside the state that was moved to the new backend: %w", err)
	}
	return nil
}

// workspaces returns the workspaces of the old backend with a non-empty state.
func (m *migration) workspaces(ctx context.Context) ([]string, error) {
	names, err := m.from.Store.List(ctx)
	if err != nil && !errors.Is(err, backend.ErrNoWorkspaces) {
		return nil, fmt.Errorf("listing the workspaces of the old backend: %w", err)
	}
	names = append(names, backend.DefaultWorkspace)
	slices.Sort(names)
	var filled []string
	for _, name := range slices.Compact(names) {
		data, err := m.from.Store.Get(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("reading the workspace %q of the old backend: %w", name, err)
		}
		if len(data) > 0 {
			filled = append(filled, name)
		}
	}
	return filled, nil
}

// take copies or moves the state of one workspace to the new backend.
func (m *migration) take(ctx context.Context, name, destName string) tfdiags.Diagnostics {
	copied, diags := m.copy(ctx, name, destName)
	if copied && m.first && !diags.HasErrors() {
		diags = diags.AppendError(m.setAside(name))
	}
	return diags
}

// copy copies the state of one workspace. It reports whether it did: the state may be empty, or the
// user may decline.
func (m *migration) copy(ctx context.Context, name, destName string) (bool, tfdiags.Diagnostics) {
	m.from.Workspace, m.to.Workspace = name, destName
	req := session.StateRequest{Lock: m.flags.LockOptions, Operation: "migration source"}
	source, diags := m.app.ReadState(ctx, m.from, req)
	if diags.HasErrors() {
		return false, diags
	}
	defer m.app.Release(source)
	if source.State().Empty() {
		return false, diags
	}
	req.Operation = "migration destination"
	dest, more := m.app.ReadState(ctx, m.to, req)
	if diags = diags.Append(more...); more.HasErrors() {
		return false, diags
	}
	defer m.app.Release(dest)
	if dest.Exists() && statefile.Equal(source.State(), dest.State()) &&
		source.Snapshot.Lineage == dest.Snapshot.Lineage {
		return true, diags // already there
	}
	ok, err := m.oneAgreed(ctx, name, dest.Snapshot)
	if err != nil {
		return false, diags.Append(m.refused(err))
	}
	if !ok {
		return false, diags
	}
	file := &statefile.File{Serial: source.Snapshot.Serial, Lineage: source.Snapshot.Lineage, State: source.State()}
	return true, diags.AppendError(dest.Push(ctx, file, true))
}

// oneAgreed asks the user whether to copy a state.
func (m *migration) oneAgreed(ctx context.Context, name string, dest *statemgr.Snapshot) (bool, error) {
	if m.agreed {
		return true, nil
	}
	which := ""
	if name != backend.DefaultWorkspace {
		which = fmt.Sprintf(" of the workspace %q", name)
	}
	text := "The backend %q has a state and the new backend %q has none.\n" +
		`"yes" copies it, "no" starts with an empty one in the new backend.`
	if dest.Exists && !dest.State.Empty() {
		text = "Both the backend %q and the new backend %q have a state.\n" +
			`"yes" overwrites the one in the new backend, "no" keeps that one.`
	}
	return m.choose(ctx, terminal.Question{
		Title: fmt.Sprintf("Copy the state%s to the new backend?", which),
		Text:  fmt.Sprintf(text, m.from.Settings.Driver.Name, m.to.Settings.Driver.Name),
	})
}

// agree asks the user once whether to copy states.
func (m *migration) agree(ctx context.Context, q terminal.Question) (ok bool, err error) {
	if !m.agreed {
		m.agreed, err = m.choose(ctx, q)
	}
	return m.agreed, err
}

// choose asks until the answer is clear. Taking "y" for a no would leave the states behind.
func (m *migration) choose(ctx context.Context, q terminal.Question) (bool, error) {
	if !m.app.Input {
		return false, terminal.ErrNoInput
	}
	for {
		switch answer, err := m.app.Ask(ctx, q); {
		case err != nil:
			return false, err
		case answer == "yes":
			return true, nil
		case answer == "no":
			return false, nil
		}
		q.Text = `Please answer "yes" or "no".`
	}
}

// refused returns the error of a migration that can't continue, because the user can't be asked
// (err) or declined.
func (m *migration) refused(err error) tfdiags.Diagnostic {
	const instead = "Use -force-copy to copy it without a question, or -reconfigure to leave it where it is."
	if err == nil {
		return tfdiags.Errorf("Migration cancelled", "Nothing was copied, and the old backend stays in use. "+instead)
	}
	return tfdiags.Errorf("Error asking about copying the state",
		"There is a state in the old backend, and whether to copy it to the new one could not be asked: %s. "+
			instead, err)
}
