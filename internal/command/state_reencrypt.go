package command

import (
	"context"

	"tofu/internal/session"
	"tofu/internal/ui"
)

var cmdStateReencrypt = &Command{
	Name: "reencrypt", Own: true, Short: "Encrypt everything with the current key",
	Long: `
Re-encrypts the parts of the current workspace's state whose encryption is
outdated, and their earlier versions. Use it after changing the method or the
key, with the old one as the fallback. Afterwards, the fallback is no longer
needed.

This is for the backend "postgres". The command works in small steps, between
which others can change the state. After an interrupt, it can be repeated. Any
other backend stores the state as a whole, and the next change encrypts it again.`,
	New: with(func(f *stateReencryptFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
	}, runStateReencrypt),
}

type stateReencryptFlags struct {
	viewFlags
	varFlags
}

func runStateReencrypt(ctx context.Context, app *App, f *stateReencryptFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	at, err := app.LocateState(ctx, session.StateRequest{Vars: f.Variables})
	if err != nil {
		return err
	}
	written, err := at.Reencrypt(ctx)
	if err != nil {
		return err
	}
	text := "The whole state is already encrypted with the current key and method."
	if written > 0 {
		text = "Encrypted " + ui.Count(written, "part") + " of the state again, with earlier versions. Nothing needs " +
			"the fallback anymore."
	}
	app.Printer.Message(ui.Text{Text: text})
	return nil
}
