package command

import (
	"context"
	"fmt"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdStateReplaceProvider = &Command{
	Name: "replace-provider", Args: "FROM_PROVIDER TO_PROVIDER [ADDRESS…]", Complete: providerNames, CompleteAll: true,
	Short: "Replace the provider of resources in the state",
	Long: `
Replaces the provider of all resources in the state that belong to a provider,
for example after the provider was forked or moved to another address. With
addresses of resources or modules, replaces it only for these.`,
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
	if len(args) < 2 {
		return badUsage("Exactly two arguments are required",
			"\"tofu state replace-provider\" expects two arguments: the addresses of the old and the new provider. "+
				"Further arguments name the resources or modules for which it is replaced.")
	}
	targets, err := parseTargets(args[2:])
	errs := tfdiags.FromError(err)
	for _, t := range targets {
		if t.HasKey {
			errs = errs.Append(tfdiags.Errorf("Invalid target address",
				"%s is one instance, and all instances of a resource have the same provider. Name the resource, %s.",
				t, addrs.Target{Module: t.Module, Resource: t.Resource}))
		}
	}
	var providers [2]addrs.Provider
	for i, text := range args[:2] {
		p, err := addrs.ParseProvider(text)
		if err != nil {
			errs = errs.Append(tfdiags.Errorf("Invalid provider address", "%s", tfdiags.Sentence(err)))
		}
		providers[i] = p
	}
	if err := errs.Err(); err != nil {
		return err
	}
	from, to := providers[0], providers[1]
	return f.change(ctx, app.Session,
		func(st *states.State, _ *session.OpenedState) (*states.State, string, error) {
			instances, chosen := st.Select(targets), make(map[addrs.AbsResource]bool)
			for _, t := range states.Unmatched(targets, instances) {
				return nil, "", st.NotFound(t)
			}
			for _, addr := range instances {
				chosen[addr.Abs()] = true
			}
			st, changed := session.WithProviders(st, func(p addrs.Provider) addrs.Provider {
				if p == from {
					return to
				}
				return p
			}, func(addr addrs.AbsResource) bool { return len(targets) == 0 || chosen[addr] })
			if len(changed) == 0 {
				return nil, "No matching resources found.", nil
			}
			if from.Type != to.Type && !f.AutoApprove {
				app.Say("The new provider has a different type: its resource types must be the same as those of the " +
					"old one.")
			}
			app.Say("The provider changes:\n\n    - %s\n    + %s\n\nIt changes for %s:\n\n  %s\n",
				from, to, ui.Count(len(changed), "resource"), strings.Join(changed, "\n  "))
			if !f.AutoApprove {
				ok, err := app.Confirm(ctx, terminal.Question{Title: "Change it in the state?"})
				if err != nil {
					return nil, "", tfdiags.Errorf("Approval required", "The changes were not approved: %s. "+
						"Use -auto-approve to skip the question.", err)
				}
				if !ok {
					return nil, "Cancelled replacing providers.", nil
				}
			}
			return st, fmt.Sprintf("Successfully replaced provider for %d resources.", len(changed)), nil
		})
}
