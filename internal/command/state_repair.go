package command

import (
	"context"

	"tofu/internal/session"
	"tofu/internal/states/statemgr"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

var cmdStateRepair = &Command{
	Name: "repair", Own: true, Short: "Repair a state that can't be read",
	Long: `
Finds out why the state can't be read, shows which objects can be recovered, and
asks for approval to replace the state. Objects that a damaged file has lost are
recovered from its backup, from errored.tfstate and from the journal of an
interrupted run, if these files exist. In the backend "postgres", damaged parts
are replaced by their latest earlier versions that can be read, or removed if
there are none. The damaged state is kept.

If the state can be read, the command shows the changes that an interrupted run
left in its journal, and adds them to the state.`,
	New: with(func(f *stateRepairFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.lockFlags.add(fs)
		fs.StringVar(&f.State, "state", "", "Repair the state in `statefile` instead of the current workspace's.")
		fs.BoolVar(&f.DryRun, "dry-run", false, "Only say what would be done.")
		fs.BoolVar(&f.AutoApprove, "auto-approve", false, "Do not ask for approval.")
	}, func(ctx context.Context, app *App, f *stateRepairFlags, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		return f.run(ctx, app.Session)
	}),
}

type stateRepairFlags struct {
	viewFlags
	varFlags
	lockFlags
	State               string
	DryRun, AutoApprove bool
}

// run repairs the state, or adds the results of an interrupted run to it.
func (f *stateRepairFlags) run(ctx context.Context, s *session.Session) error {
	// Do not replace the last backup with the damaged state.
	p, err := s.LocateState(ctx, session.StateRequest{Vars: f.Variables,
		Paths: session.StatePaths{State: f.State, Backup: "-"}})
	if err != nil {
		return err
	}
	m := p.Manager(s)
	if err := s.Lock(ctx, m, "state-repair", f.LockOptions); err != nil {
		return err
	}
	damage, err := m.Examine(ctx)
	if err == nil && damage == nil {
		if err := m.Unlock(); err != nil {
			return err
		}
		return f.settle(ctx, s)
	}
	defer s.Release(m)
	if err != nil {
		return tfdiags.Errorf("The state can't be repaired", "%s", tfdiags.Sentence(err))
	}
	return f.repair(ctx, s, m, damage)
}

// repair shows what can be recovered of the state, and writes it if the user approves.
func (f *stateRepairFlags) repair(
	ctx context.Context, s *session.Session, m *statemgr.Manager, damage *statemgr.Repair,
) error {
	s.Say("The state can't be read: %s.\n", damage.Cause)
	for _, sentence := range damage.Findings {
		s.Say("  - %s.", sentence)
	}
	if damage.State != nil {
		s.Say("\nThe repaired state would have %d object(s):", damage.Objects)
		for _, addr := range damage.Instances() {
			s.Say("    %s", addr)
		}
	}
	s.Say("")
	if ok, err := f.approved(ctx, s); !ok || err != nil {
		return err
	}
	kept, err := m.WriteRepair(ctx, damage)
	if err != nil {
		return tfdiags.Errorf("The repaired state can't be written", "%s", tfdiags.Sentence(err))
	}
	s.Success("\nThe state was repaired.")
	if kept != "" {
		s.Say("\nThe damaged one was kept as %s.", kept)
	}
	s.Say("\nReview the next plan closely: objects that it would create may exist already.")
	return nil
}

// settle adds the results of an interrupted run to a readable state.
func (f *stateRepairFlags) settle(ctx context.Context, s *session.Session) error {
	open, err := s.OpenState(ctx, session.StateRequest{Vars: f.Variables,
		Paths: session.StatePaths{State: f.State}, Lock: f.LockOptions, Operation: "state-repair"})
	if err != nil {
		return err
	}
	defer s.Release(open)
	recovered := s.Warnings.Take() // reading a state warns about everything that is recovered
	objects := 0
	for r := range open.State().Resources() {
		for _, inst := range r.Instances {
			for range inst.Objects() {
				objects++
			}
		}
	}
	s.Say("The state can be read. It has %d object(s), and its serial is %d.", objects, open.Snapshot.Serial)
	s.Printer.Diagnostics(recovered)
	if len(recovered) == 0 || f.DryRun {
		return nil
	}
	return open.Store(ctx, open.State())
}

// approved asks the user for approval, unless an option decides: -dry-run means no, and
// -auto-approve means yes.
func (f *stateRepairFlags) approved(ctx context.Context, s *session.Session) (bool, error) {
	if f.DryRun || f.AutoApprove {
		return f.AutoApprove && !f.DryRun, nil
	}
	ok, err := s.Confirm(ctx, terminal.Question{Title: "Do you want to replace the damaged state with " +
		"the repaired one?"})
	if err == nil && !ok {
		s.Say("\nRepair cancelled.")
		err = exitStatus(1)
	}
	return ok, err
}
