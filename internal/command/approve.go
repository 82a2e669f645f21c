package command

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/user"
	"time"

	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/warm"
)

var cmdApprove = &Command{
	Name: "approve", Own: true, Args: "DIGEST", Short: "Approve a plan that a program has proposed",
	Long: `
Shows the plan with a digest that a client of "tofu serve" has proposed in this
directory, and asks whether it may be applied. The approval is for exactly this
plan, for one apply, and expires. It can be given at a terminal only. DIGEST may
be the first 8 characters of the digest.

If the CLI configuration has approval_keys, an approval needs the signature of
one of these keys instead: -key signs with a private key, without a question.`,
	New: with(func(f *approveFlags, fs *options) {
		f.viewFlags.add(fs)
		f.addSensitive(fs)
		f.addPlanView(fs)
		f.varFlags.add(fs)
		f.Valid = 15 * time.Minute
		fs.DurationVar(&f.Valid, "valid", f.Valid, "The `duration` for which the approval is valid.")
		fs.StringVar(&f.Key, "key", "", "Sign with the Ed25519 key in a PEM `file`, and do not ask.")
		fs.BoolVar(&f.Print, "print", false, "With -key: print the approval as JSON, for a request, instead of storing it.")
	}, runApprove),
}

type approveFlags struct {
	viewFlags
	varFlags
	Valid time.Duration
	Key   string
	Print bool
}

func runApprove(ctx context.Context, app *App, f *approveFlags, args []string) error {
	switch {
	case len(args) != 1:
		return badUsage("Exactly one argument is required", "The command expects the digest of a proposed plan.")
	case f.Print && f.Key == "":
		return badUsage("A key is required", "-print needs -key, because an approval in a request must be signed.")
	case f.Valid <= 0 || f.Valid > warm.ProposalLife:
		return badUsage("Invalid duration", "-valid must be between 1s and %s.", warm.ProposalLife)
	case f.Key == "" && len(app.CLI.ApprovalKeys) > 0:
		return badUsage("A signature is required", "The CLI configuration has approval_keys, so an approval must be signed: "+
			"use -key.")
	case f.Key == "" && !app.InTerminal:
		return badUsage("A terminal is required", "An approval is given by a person at a terminal, or signed with -key.")
	}
	proposals := &warm.Proposals{Dir: app.DataDir, Keys: app.CLI.ApprovalKeys}
	digest, data, err := proposals.Find(args[0])
	if err != nil {
		return err
	}
	approval := &warm.Approval{Digest: digest, By: approver()}
	if f.Key != "" {
		key, err := signingKey(f.Key)
		if err != nil {
			return err
		}
		proposals.Renew(approval, f.Valid)
		approval.Sign(key)
	} else {
		if err := f.ask(ctx, app, digest, data); err != nil {
			return err
		}
		proposals.Renew(approval, f.Valid)
	}
	if f.Print {
		return json.NewEncoder(app.Out).Encode(approval)
	}
	if err := proposals.Approve(approval); err != nil {
		return err
	}
	app.Say("The plan %s is approved until %s.", digest[:12], approval.Expires.Local().Format("15:04:05"))
	return nil
}

// ask shows the plan and asks whether it may be applied.
func (f *approveFlags) ask(ctx context.Context, app *App, digest string, data []byte) error {
	saved, err := app.DecodePlan(ctx, "the proposed plan", data, f.Variables)
	if err != nil {
		return err
	}
	schemas, end, err := planSchemas(ctx, app.Session, saved)
	if err != nil {
		return err
	}
	defer end()
	app.Printer.Plan(&ui.PlanView{Plan: saved.Plan, Config: saved.Configuration.Config, Schemas: schemas})
	app.Printer.Diagnostics(app.Warnings.Take())
	ok, err := app.Confirm(ctx, terminal.Question{Title: "May a program apply exactly this plan?", Text: "Digest " + digest})
	if err == nil && !ok {
		app.Say("\nThe plan is not approved.")
		err = exitStatus(1)
	}
	return err
}

// approver names the user, for people.
func approver() string {
	name := "unknown"
	if who, err := user.Current(); err == nil {
		name = who.Username
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("%s@%s", name, host)
}

// signingKey reads a private key.
func signingKey(path string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, tfdiags.Errorf("Can't read the key", "%s.", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if private, ok := key.(ed25519.PrivateKey); ok {
				return private, nil
			}
		}
	}
	return nil, tfdiags.Errorf("Not a key", "%s is not an Ed25519 private key in PEM. Make one with \"openssl genpkey "+
		"-algorithm ed25519 -out FILE\".", path)
}
