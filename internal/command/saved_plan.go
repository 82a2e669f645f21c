package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tofu/internal/atomicfile"
	"tofu/internal/encryption"
	"tofu/internal/fleet"
	"tofu/internal/plans"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// savePlan saves a plan with everything that is needed to apply it.
func savePlan(ctx context.Context, op *session.Operation, path string, plan *plans.Plan) error {
	data, err := op.EncodePlan(ctx, plan)
	if err == nil {
		err = atomicfile.WriteNamed(path, data, 0o600) // a plan may contain secrets
	}
	var atPath *fs.PathError
	if errors.As(err, &atPath) {
		err = atPath.Err // drop the path, which is the path of a temporary file
	}
	if err != nil {
		return notSaved(path, err)
	}
	return nil
}

func notSaved(path string, err error) error {
	return tfdiags.Errorf("Failed to write the plan file", "The plan could not be saved to %s: %s.", path, err)
}

// planTarget checks whether the plan file can be written. It is called before planning, which
// may be slow.
func planTarget(path string) error {
	if path == "" {
		return nil
	}
	if err := cmp.Or(writable(path), linkedVictim(path, "plan", isPlan)); err != nil {
		return notSaved(path, err)
	}
	return nil
}

// isPlan reports whether a file with this content is a saved plan.
func isPlan(data []byte) bool {
	return bytes.HasPrefix(data, []byte("PK")) || encryption.IsEncrypted(data)
}

// linkedVictim returns an error if path is a symbolic link to a file that is not of the given kind:
// ours returns false for its content. The link may be part of a repository that the user has cloned.
func linkedVictim(path, kind string, ours func([]byte) bool) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	target, err := os.Stat(path)
	if err != nil || !target.Mode().IsRegular() || target.Size() == 0 {
		return nil
	}
	if data, err := os.ReadFile(path); err != nil || ours(data) {
		return nil
	}
	return fmt.Errorf("it is a symbolic link to a file that is no %s; remove the link, or name that file itself", kind)
}

// writable returns an error if it is already certain that no file can be written to path.
func writable(path string) error {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return errors.New("it is a directory")
	case errors.Is(err, fs.ErrNotExist):
		_, err = os.Stat(filepath.Dir(path))
		if err != nil {
			return errors.New("there is no such directory")
		}
	}
	return nil
}

// agrees returns an error if an option contradicts the saved plan. It accepts options that can no
// longer change the plan, such as -refresh=false, because some programs pass them to every apply.
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
		{"invoke", len(opts.Invoke) > 0 && len(plan.Changes.Invoked) == 0},
		{"replace", !containsAll(plan.ForceReplace, opts.ForceReplace)},
		{"target", len(opts.Targets) > 0 && !sameElements(opts.Targets, plan.Targets)},
		{"exclude", len(opts.Excludes) > 0 && !sameElements(opts.Excludes, plan.Excludes)},
	} {
		if option.differs {
			return otherPlan(path, option.name)
		}
	}
	return nil
}

// otherPlan returns the error about an option that contradicts a saved plan.
func otherPlan(path, option string) error {
	return badUsage("Can't change a saved plan", "%s was made without this -%s option, and a saved plan is applied as it "+
		"is. Apply the plan without the option, or make a new plan with it.", path, option)
}

// containsAll reports whether every element of the list some is in the list all.
func containsAll[T comparable](all, some []T) bool {
	return !slices.ContainsFunc(some, func(e T) bool { return !slices.Contains(all, e) })
}

// sameElements reports whether two lists have the same elements, in any order.
func sameElements[T comparable](a, b []T) bool { return containsAll(a, b) && containsAll(b, a) }

// readPlan reads a plan file, which must be the plan of a single root module.
func readPlan(
	ctx context.Context, s *session.Session, path string, vars session.Variables,
) (*session.SavedPlan, error) {
	if fleet.IsFile(path) {
		return nil, tfdiags.Errorf("A plan of many root modules",
			"%s was saved with \"tofu roots plan -out\". To apply it or to show it, run:\n    tofu roots apply %[1]s\n"+
				"    tofu show %[1]s", path)
	}
	data, err := session.ReadPlanFile(path)
	if err != nil {
		return nil, err
	}
	return s.DecodePlan(ctx, path, data, vars)
}

// applySaved applies exactly the saved plan. If that is not possible, it applies nothing.
func applySaved(ctx context.Context, app *App, f *applyFlags, path string) error {
	saved, err := readPlan(ctx, app.Session, path, f.Variables)
	if err != nil {
		return err
	}
	if err := f.agrees(saved.Plan, path); err != nil {
		return err
	}
	if saved.Plan.Errored {
		return cantApplyIncomplete()
	}
	op, err := saved.Open(ctx, app.Session, f.operation())
	if err != nil {
		return err
	}
	defer op.Close()
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

func cantApplyIncomplete() error {
	return tfdiags.Errorf("Cannot apply incomplete plan",
		"Planning failed when this plan was made, so it can be shown but not applied. Make a new plan.")
}
