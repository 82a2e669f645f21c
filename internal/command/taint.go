package command

import (
	"context"
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

var cmdTaint = markCommand("taint", "Mark an instance to be replaced by the next apply", `
Marks a resource instance as tainted: not fully functional, because its
creation failed half-way or because you say so. Nothing is changed now, but
the next plan destroys the object and creates a new one.

"tofu apply -replace=ADDRESS" does the same in one step and shows the plan
first. The command "tofu untaint" removes the mark.`, states.Tainted)

var cmdUntaint = markCommand("untaint", "Undo taint", `
Removes the mark from a tainted resource instance, so that the next plan does
not replace the object. Nothing is changed but the state.`, states.Ready)

type markFlags struct {
	stateChangeFlags
	AllowMissing bool
}

// markCommand returns a command that sets the status of one object.
func markCommand(name, short, long string, status states.Status) *Command {
	return &Command{
		Name: name, Args: "ADDRESS", Complete: stateAddresses, Short: short, Long: long,
		New: with(func(f *markFlags, fs *options) {
			f.add(fs)
			fs.BoolVar(&f.AllowMissing, "allow-missing", false, "Succeed even if there is no such resource instance.")
		}, func(ctx context.Context, app *App, f *markFlags, args []string) error {
			if len(args) != 1 {
				return badUsage("Invalid number of arguments",
					"The %s command expects the address of one resource instance.", name)
			}
			return mark(ctx, app, f, args[0], status)
		}),
	}
}

func mark(ctx context.Context, app *App, f *markFlags, text string, status states.Status) error {
	addr, err := addrs.ParseInstanceText(text)
	if err == nil && addr.Resource.Mode != addrs.Managed {
		err = tfdiags.Errorf("Not a managed resource",
			"Only managed resources can be tainted, and %s is not one.", addr)
	}
	if err != nil {
		return err
	}
	f.stateless = f.AllowMissing
	return f.change(ctx, app.Session,
		func(st *states.State, _ *session.OpenedState) (*states.State, string, error) {
			inst := st.Instance(addr)
			switch {
			case inst == nil && f.AllowMissing:
				app.Warnings.Add(tfdiags.Warningf("No such resource instance",
					"There is no %s in the state; nothing was done.", addr))
				return nil, "", nil
			case inst == nil:
				return nil, "", noInstance(st, addr)
			case inst.Current == nil:
				return nil, "", tfdiags.Errorf("No current object",
					"%s has no current object, only deposed ones. The next apply destroys those and creates a "+
						"new one.", addr)
			case status == states.Ready && inst.Current.Status != states.Tainted:
				return nil, "",
					tfdiags.Errorf("Not tainted", "%s is not tainted, so there is nothing to untaint.", addr)
			}
			object := *inst.Current
			object.Status = status
			st = st.Clone()
			st.SetCurrent(addr, &object, addrs.ProviderInstance{Config: st.Resource(addr.Abs()).Provider,
				Key: inst.ProviderKey})
			report := "marked as tainted"
			if status == states.Ready {
				report = "successfully untainted"
			}
			return st, fmt.Sprintf("Resource instance %s has been %s.", addr, report), nil
		})
}
