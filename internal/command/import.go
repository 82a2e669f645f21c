package command

import (
	"context"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/session"
	"tofu/internal/suggest"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

var cmdImport = &Command{
	Name: "import", Args: "ADDRESS ID", Complete: addressNames, Short: "Add an existing object to the state",
	Long: `
Imports an existing object into the state as the resource instance at ADDRESS,
whose block must be in the configuration. ID identifies the object for the
provider. The object itself is not changed; the next plan shows how it differs
from the configuration.

An "import" block in the configuration does the same as part of plan and
apply, and can generate the configuration.`,
	New: with(func(f *importFlags, fs *options) {
		f.operationFlags.add(fs)
		f.stateFlags.add(fs)
		fs.StringVar(&f.Config, "config", "", "Read the configuration from `path` instead of the working directory.")
		addRemoteVersion(fs)
	}, runImport),
}

type importFlags struct {
	operationFlags
	Config string
}

func runImport(ctx context.Context, app *App, f *importFlags, args []string) error {
	if len(args) != 2 {
		return badUsage("Wrong number of arguments",
			"The import command expects two arguments: the address of a resource instance and the object's ID.")
	}
	addr, err := addrs.ParseInstanceText(args[0])
	if err == nil && addr.Resource.Mode != addrs.Managed {
		err = tfdiags.Errorf("Invalid address for import",
			"Only managed resources can be imported, and %s is not one.", addr)
	}
	if err != nil {
		return err
	}
	if f.Config != "" {
		app.RootDir = f.Config
	}
	if err := session.RequireConfig(app.Parser, app.RootDir); err != nil {
		return err
	}
	op, err := app.StartOperation(ctx, f.operation(), session.OperationApply)
	if err != nil {
		return err
	}
	defer op.Close()
	if err := canImport(op, addr); err != nil {
		return err
	}
	app.Say("%s: Importing from ID %q...", addr, args[1])
	plan, err := planImport(ctx, op, addr, args[1])
	if err != nil {
		return err
	}
	imported := plan.Prior.Instance(addr)
	if imported == nil || imported.Current == nil {
		return tfdiags.Errorf("Nothing was imported", "The provider returned no object for the ID %q.", args[1])
	}
	provider := addrs.ProviderInstance{Config: plan.Prior.Resource(addr.Abs()).Provider, Key: imported.ProviderKey}
	object := *imported.Current
	object.Dependencies = nil // the next apply sets them
	st := op.State.State().Clone()
	st.SetCurrent(addr, &object, provider)
	st = engine.WithOutputs(terminal.UntilAbort(ctx), op.Config.Config, st, op.QuietEnv(), op.Variables)
	if err := op.Save(ctx, st); err != nil {
		return err
	}
	app.Warnings.Add(op.State.StillInDoubt(app.Warnings.Take())...)
	app.Success("\nImport successful!")
	app.Note("\nThe resource that was imported is shown above. It is now in the state and\nmanaged.")
	return nil
}

// planImport plans the import only. It does not validate the configuration first, because the
// resource block may still be empty.
func planImport(
	ctx context.Context, op *session.Operation, addr addrs.AbsInstance, id string,
) (*plans.Plan, error) {
	start := op.Env.Provider
	op.Env.Provider = func(ctx context.Context, p addrs.Provider) (providers.Interface, error) {
		running, err := start(ctx, p)
		if err != nil {
			return nil, err
		}
		return knownConfig{running}, nil
	}
	target := addrs.Target{Module: addr.Module, Resource: addr.Resource, Key: addr.Key, HasKey: addr.Key != addrs.NoKey}
	return engine.Plan(terminal.UntilAbort(ctx), op.Config.Config, op.State.State(), op.Env, &engine.PlanOptions{
		NotSaved: true, Variables: op.Variables, Targets: []addrs.Target{target},
		Imports: []reads.CommandImport{{Addr: addr, ID: id}},
	})
}

// knownConfig is a provider that returns an error if it is configured with unknown values, because
// an import reads a real object.
type knownConfig struct{ providers.Interface }

// Configure implements providers.Interface.
func (k knownConfig) Configure(ctx context.Context, config cty.Value) tfdiags.Diagnostics {
	if !config.IsWhollyKnown() {
		return tfdiags.Errorf("Invalid provider configuration",
			"The configuration of the provider depends on values that "+
				"are known only after an apply, so nothing can be imported with it. Apply what it depends on "+
				"first, or replace the unknown values with constants.").List()
	}
	return k.Interface.Configure(ctx, config)
}

// canImport returns an error if the configuration doesn't declare the resource, if the address
// lacks an instance key that it needs, or if the state already has an object for it.
func canImport(op *session.Operation, addr addrs.AbsInstance) error {
	if op.State.State().Current(addr) != nil {
		return tfdiags.Errorf("Resource already managed by OpenTofu",
			"The state already has an object for %s. To import another one, remove it with \"tofu state rm\".", addr)
	}
	var block *configs.Resource
	var declared []string
	if module := op.Config.Descendant(addr.Module.Module()); module != nil {
		block = module.Module.Resources[addr.Resource]
		for of := range module.Module.Resources {
			declared = append(declared, of.InInstance(addr.Module).String())
		}
	}
	if block == nil {
		where := ""
		if module := addr.Module.Module(); module != "" {
			where = " in " + module.String()
		}
		return tfdiags.Errorf("Resource not in the configuration",
			"The configuration has no block for %s.%s Before importing, write one%s:\n\n"+
				"resource %q %q {\n  # (resource arguments)\n}", addr,
			suggest.DidYouMean(addr.Abs().String(), slices.Sorted(slices.Values(declared))), where, addr.Resource.Type,
			addr.Resource.Name)
	}
	if (block.Count != nil || block.ForEach != nil) && addr.Key == addrs.NoKey {
		example := addr
		example.Key = addrs.IntKey(0)
		if block.ForEach != nil {
			example.Key = addrs.StringKey("key")
		}
		return tfdiags.Errorf("Missing instance key",
			"The block of %s has count or for_each, so the address needs the key of an "+
				"instance, such as %s.", addr, example)
	}
	return nil
}
