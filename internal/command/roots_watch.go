package command

import (
	"context"
	"slices"

	"tofu/internal/plans"
)

var cmdRootsWatch = &Command{
	Name: "watch", Args: "RUN", Short: "Show a run over workers, and approve it",
	Long: `
Shows a run that "tofu roots" has enqueued with -queue, from its present phase to
its end, and asks for approval if the run waits for that. An interrupt ends only
this command; "tofu runs cancel" interrupts the run.`,
	New: with(func(f *watchFlags, fs *options) {
		f.fleetFlags.viewFlags.addJSON(fs)
		f.addProgress(fs)
		f.addSensitive(fs)
		f.addPlanView(fs)
		f.addAddress(fs, "The `address` of the queue.")
	}, runRootsWatch),
}

type watchFlags struct{ rootsApplyFlags }

func runRootsWatch(ctx context.Context, app *App, f *watchFlags, args []string) error {
	if len(args) != 1 {
		return badUsage("One run required", "The command takes the ID of a run. To list the runs, use: tofu runs list")
	}
	q := &queued{app: app, flags: &f.fleetFlags, apply: &rootsApply{app: app, flags: &f.rootsApplyFlags}}
	var err error
	if q.queue, err = f.open(ctx, app); err != nil {
		return err
	}
	defer q.queue.Close()
	if q.run, err = q.queue.Run(ctx, args[0]); err != nil {
		return err
	}
	if err := q.queue.CheckProtocol(ctx, q.run.ID); err != nil {
		return err
	}
	if q.run.Operation == "drift" {
		q.drift = &rootsDriftFlags{}
	}
	if f.Destroy = q.run.Operation == "destroy" || slices.Contains(q.run.About.Args, "-destroy"); f.Destroy {
		q.mode = plans.Destroy
	}
	return q.follow(ctx, false)
}
