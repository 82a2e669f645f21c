package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/backend/local"
	"tofu/internal/session"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

// migration copies states from one backend to another.
type migration struct {
	session  *session.Session
	flags    *initFlags
	from, to *session.Location
	move     bool     // whether to rename the old local states to backups; set if the first backend block was added
	agreed   bool     // the user has agreed to copy states
	copied   []string // the workspaces of the old backend whose states were copied
}

// run copies the states in the old backend to the new one, if there are any and the user agrees.
// Old local states are renamed only after all states were copied, so an interrupt leaves the old
// backend unchanged.
func (m *migration) run(ctx context.Context, root *session.Config, from, to *session.BackendSettings) error {
	err := m.copyStates(ctx, root, from, to)
	switch {
	case err != nil && ctx.Err() != nil:
		return tfdiags.Errorf("The migration was interrupted", "The backend %q stays in use, with all of its states. "+
			"Run the command again to copy them.", from.Driver.Name)
	case err != nil || !m.move:
		return err
	}
	for _, name := range m.copied {
		if err := m.setAside(name); err != nil {
			return err
		}
	}
	return nil
}

func (m *migration) copyStates(ctx context.Context, root *session.Config, from, to *session.BackendSettings) error {
	workspace, err := m.session.Workspace()
	if err != nil {
		return err
	}
	m.agreed = m.flags.ForceCopy
	m.from, err = m.session.OpenSettings(ctx, root, from, workspace, session.StateRequest{})
	if err != nil {
		return err
	}
	m.to, err = m.session.OpenSettings(ctx, root, to, workspace, session.StateRequest{})
	if err != nil {
		return err
	}
	names, err := m.workspaces(ctx)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, m.sameFile)
	if len(names) == 0 {
		return nil
	}
	if without, ok := m.to.Store.(backend.Undefaulted); ok {
		return m.renamed(ctx, names, workspace, without.Only())
	}
	if workspace != backend.DefaultWorkspace || len(names) > 1 || names[0] != backend.DefaultWorkspace {
		if _, err := m.to.Store.List(ctx); errors.Is(err, backend.ErrNoWorkspaces) {
			return m.onlySelected(ctx, names, workspace)
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
			return m.refused(err)
		}
	}
	for _, name := range names {
		if err := m.take(ctx, name, name); err != nil {
			return err
		}
	}
	return nil
}

// renamed copies the states to a backend that has no default workspace. If the parameter only is
// set, it is the name of that backend's only workspace, which gets one state: that of the selected
// workspace or, if it has none, of the default or else the first workspace. Otherwise, each
// workspace keeps its name, but the default workspace becomes the one that TF_WORKSPACE names.
func (m *migration) renamed(ctx context.Context, names []string, selected, only string) error {
	if only != "" {
		source := names[0]
		for _, name := range []string{backend.DefaultWorkspace, selected} {
			if slices.Contains(names, name) {
				source = name
			}
		}
		if err := m.take(ctx, source, only); err != nil {
			return err
		}
		m.sayLeft(names, source)
		return nil
	}
	newName := m.session.Env("TF_WORKSPACE")
	if newName == "" && slices.Contains(names, backend.DefaultWorkspace) {
		return tfdiags.Errorf("The state needs the name of a workspace",
			"The new backend has no workspace \"default\". Set TF_WORKSPACE to the name of the workspace that "+
				"is to get this state, and run the command again.")
	}
	for _, name := range names {
		dest := name
		if name == backend.DefaultWorkspace {
			dest = newName
		}
		if err := m.take(ctx, name, dest); err != nil {
			return err
		}
	}
	return nil
}

// onlySelected copies only the state of the selected workspace, if it has one, to a backend without
// workspaces.
func (m *migration) onlySelected(ctx context.Context, names []string, selected string) error {
	q := terminal.Question{
		Title: fmt.Sprintf("Copy the state of the workspace %q to the new backend?", selected),
		Text: fmt.Sprintf("The backend %q can hold only one workspace. Workspaces with a state in the\nbackend %q: %s.\n"+
			"\"yes\" copies the state of the workspace %q and leaves any others where they\nare; \"no\" changes nothing.",
			m.to.Settings.Driver.Name, m.from.Settings.Driver.Name, strings.Join(names, ", "), selected),
	}
	hasState := slices.Contains(names, selected)
	if !hasState {
		q.Title = "Use the new backend without a state?"
		q.Text = fmt.Sprintf("The backend %q can hold only one workspace, and the selected workspace %q has\nno state. "+
			"Workspaces with a state in the backend %q: %s.\n\"yes\" copies nothing and leaves them where they are; "+
			"\"no\" changes nothing, so that you\ncan select one of them with \"tofu workspace select\".",
			m.to.Settings.Driver.Name, selected, m.from.Settings.Driver.Name, strings.Join(names, ", "))
	}
	ok, err := m.agree(ctx, q)
	if err != nil || !ok {
		return m.refused(err)
	}
	if hasState {
		if err := m.take(ctx, selected, backend.DefaultWorkspace); err != nil {
			return err
		}
	}
	m.sayLeft(names, selected)
	return m.session.SelectWorkspace(backend.DefaultWorkspace)
}

// sayLeft names the workspaces other than taken whose states stay in the old backend.
func (m *migration) sayLeft(names []string, taken string) {
	left := slices.DeleteFunc(names, func(name string) bool { return name == taken })
	if len(left) > 0 {
		m.session.Say("The backend %q keeps the states of other workspaces: %s.", m.from.Settings.Driver.Name,
			strings.Join(left, ", "))
	}
}

// sameFile reports whether a workspace's state is the same file in both backends. If so, there
// is nothing to copy.
func (m *migration) sameFile(name string) bool {
	from, isFile := m.from.Store.(backend.Filer)
	to, toFile := m.to.Store.(backend.Filer)
	return isFile && toFile && local.SameFile(from.File(name), to.File(name))
}

// setAside makes a local state that was copied to the new backend a backup, so that it isn't used by
// mistake.
func (m *migration) setAside(name string) error {
	if err := m.from.Store.(*local.Store).SetAside(name); err != nil {
		return fmt.Errorf("renaming the state that was copied to the new backend: %w", err)
	}
	return nil
}

// workspaces returns the workspaces of the old backend whose states are not empty.
func (m *migration) workspaces(ctx context.Context) ([]string, error) {
	names, err := m.from.Store.List(ctx)
	if err != nil && !errors.Is(err, backend.ErrNoWorkspaces) {
		return nil, fmt.Errorf("listing the workspaces of the old backend: %w", err)
	}
	names = append(names, backend.DefaultWorkspace)
	slices.Sort(names)
	var filled []string
	for _, name := range slices.Compact(names) {
		m.from.Workspace = name
		source, err := m.session.ReadState(ctx, m.from, session.StateRequest{})
		if err != nil {
			return nil, err
		}
		if !nothingToCopy(source) {
			filled = append(filled, name)
		}
	}
	return filled, nil
}

// nothingToCopy reports whether a state is empty, and no creation is in doubt.
func nothingToCopy(source *session.OpenedState) bool {
	return source.State().Empty() && len(source.Snapshot.Interrupted) == 0
}

// take copies the state of one workspace to the new backend.
func (m *migration) take(ctx context.Context, name, destName string) error {
	copied, err := m.copy(ctx, name, destName)
	if copied {
		m.copied = append(m.copied, name)
	}
	return err
}

// copy copies the state of one workspace, and reports whether the new backend has it now. It copies
// nothing if the state is empty or the user declines.
func (m *migration) copy(ctx context.Context, name, destName string) (bool, error) {
	m.from.Workspace, m.to.Workspace = name, destName
	req := session.StateRequest{Lock: m.flags.LockOptions, Operation: "migration source"}
	source, err := m.readSource(ctx, req)
	if err != nil {
		return false, err
	}
	defer m.session.Release(source)
	if nothingToCopy(source) {
		return false, nil
	}
	req.Operation = "migration destination"
	dest, err := m.session.ReadState(ctx, m.to, req)
	if err != nil {
		return false, err
	}
	defer m.session.Release(dest)
	if dest.Exists() && statefile.Equal(source.State(), dest.State()) &&
		statefile.SameProviders(source.State(), dest.State()) &&
		source.Snapshot.Lineage == dest.Snapshot.Lineage {
		return true, nil // the new backend already has this state
	}
	ok, err := m.oneAgreed(ctx, name, dest.Snapshot)
	if err != nil {
		return false, m.refused(err)
	}
	if !ok {
		return false, nil
	}
	if err := dest.Overwrite(ctx, source.Snapshot.File()); err != nil {
		return false, err
	}
	return true, usedSource(source.Unused(ctx))
}

// readSource reads the state to copy, and returns an error if another run is changing it.
func (m *migration) readSource(ctx context.Context, req session.StateRequest) (*session.OpenedState, error) {
	const tries = 3 // maximum number of reads; a read is repeated if another run changed the state
	for i := 1; ; i++ {
		source, err := m.session.ReadState(ctx, m.from, req)
		if err != nil {
			return nil, err
		}
		err = source.Unused(ctx)
		if err == nil {
			return source, nil
		}
		m.session.Release(source)
		if changedBy(err) == nil || i == tries {
			return nil, usedSource(err)
		}
	}
}

// usedSource returns a clearer error if err says that the state changed during the migration. The
// old backend then stays in use.
func usedSource(err error) error {
	if changed := changedBy(err); changed != nil {
		return tfdiags.Errorf("The state was changed during the migration", "In the old backend, %s. The old backend "+
			"stays in use. Run the command again to copy the current state.", changed)
	}
	return err
}

// changedBy returns the change of the state that err reports, or nil.
func changedBy(err error) *statemgr.ChangedError {
	for _, d := range tfdiags.FromError(err) {
		if changed, ok := d.Extra.(*statemgr.ChangedError); ok {
			return changed
		}
	}
	return nil
}

// oneAgreed asks the user whether to copy the state of one workspace, unless the user has already
// agreed to copy states.
func (m *migration) oneAgreed(ctx context.Context, name string, dest *statemgr.Snapshot) (bool, error) {
	if m.agreed {
		return true, nil
	}
	which := ""
	if name != backend.DefaultWorkspace {
		which = fmt.Sprintf(" of the workspace %q", name)
	}
	text := "The backend %q has a state and the new backend %q has none.\n" +
		`"yes" copies it; "no" starts with an empty state in the new backend.`
	if dest.Exists && !dest.State.Empty() {
		text = "Both the backend %q and the new backend %q have a state.\n" +
			`"yes" overwrites the one in the new backend; "no" keeps it.`
	}
	return m.choose(ctx, terminal.Question{
		Title: fmt.Sprintf("Copy the state%s to the new backend?", which),
		Text:  fmt.Sprintf(text, m.from.Settings.Driver.Name, m.to.Settings.Driver.Name),
	})
}

// agree asks the user whether to copy states, unless the user has already agreed.
func (m *migration) agree(ctx context.Context, q terminal.Question) (ok bool, err error) {
	if !m.agreed {
		m.agreed, err = m.choose(ctx, q)
	}
	return m.agreed, err
}

// choose asks again until the answer is clearly yes or no. If "y" counted as "no", the states would
// be left behind.
func (m *migration) choose(ctx context.Context, q terminal.Question) (bool, error) {
	if !m.session.Input {
		return false, terminal.ErrNoInput
	}
	for {
		switch answer, err := m.session.Ask(ctx, q); {
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

// refused returns the error of a migration that can't continue. err is the reason why the user
// can't be asked, or nil if the user declined.
func (m *migration) refused(err error) error {
	const instead = "Use -force-copy to copy states without a question, or -reconfigure to leave them where they are."
	if err == nil {
		return tfdiags.Errorf("Migration cancelled", "Nothing was copied, and the old backend stays in use. "+instead)
	}
	return tfdiags.Errorf("Error asking about copying the state",
		"The old backend has a state, and asking whether to copy it to the new one failed: %s. "+
			instead, err)
}
