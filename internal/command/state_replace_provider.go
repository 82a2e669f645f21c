package command

import (
	"context"
	"fmt"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

var cmdStateReplaceProvider = &Command{
	Name: "replace-provider", Args: "FROM_PROVIDER TO_PROVIDER",
	Short: "Make another provider responsible for resources",
	Long: `
Makes another provider responsible for all resources in the state that belong
to a provider: after a fork or a move of the provider to another address, for
example.`,
	New: with(func(f *replaceProviderFlags, fs *options) {
		f.add(fs)
		f.timedBackup = true
		fs.BoolVar(&f.AutoApprove, "auto-approve", false, "Do not ask for approval.")
	}, runReplaceProvider),
}

type replaceProviderFlags struct {
	stateChangeFlags
	AutoApprove bool
}

func runReplaceProvider(ctx context.Context, app *App, f *replaceProviderFlags, args []string) error {
	if len(args) != 2 {
		return badUsage("Exactly two arguments are required", "State replace-provider needs the address of the old provider and that of the new one.")
	}
	var diags tfdiags.Diagnostics
	var providers [2]addrs.Provider
	for i, text := range args {
		p, err := addrs.ParseProvider(text)
		if err != nil {
			diags = diags.Append(tfdiags.Errorf("Invalid provider address", "%q is not the address of a provider: %s.", text, err))
		}
		providers[i] = p
	}
	if diags.HasErrors() {
		return diags.Err()
	}
	from, to := providers[0], providers[1]
	return app.changeState(ctx, &f.stateChangeFlags, func(st *states.State) (*states.State, string, tfdiags.Diagnostics) {
		st, changed := withProviders(st, func(p addrs.Provider) addrs.Provider {
			if p == from {
				return to
			}
			return p
		})
		if len(changed) == 0 {
			return nil, "No matching resources found.", nil
		}
		if from.Type != to.Type && !f.AutoApprove {
			app.say("The new provider is of another type: its resource types must be those of the old one.")
		}
		app.say("Change of the provider:\n\n    - %s\n    + %s\n\nof %d resources:\n\n  %s\n",
			from, to, len(changed), strings.Join(changed, "\n  "))
		if !f.AutoApprove {
			ok, err := app.confirm(ctx, question{Title: "Change it in the state?"})
			if err != nil {
				return nil, "", tfdiags.Diagnostics{tfdiags.Errorf("Approval required", "The changes were not approved: %s. "+
					"Use -auto-approve to make them without a question.", err)}
			}
			if !ok {
				return nil, "Cancelled replacing providers.", nil
			}
		}
		return st, fmt.Sprintf("Successfully replaced provider for %d resources.", len(changed)), nil
	})
}

// onlyYes ends every question of confirm.
const onlyYes = "Only 'yes' will be accepted to confirm."

// confirm asks for a yes. Programs that read JSON are not asked.
func (a *App) confirm(ctx context.Context, q question) (bool, error) {
	if a.view.JSON {
		return false, errNoInput
	}
	q.Text = strings.TrimPrefix(q.Text+"\n"+onlyYes, "\n")
	answer, err := a.ask(ctx, q)
	if err != nil {
		return false, fmt.Errorf("asking for approval: %w", err)
	}
	return answer == "yes" || q.AnyCase && strings.EqualFold(answer, "yes"), nil
}
