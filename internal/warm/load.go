package warm

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/getmodules"
	"tofu/internal/providers"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// Loaded is a configuration with the schemas of its providers.
type Loaded struct {
	Answer
	Config  *configs.Config // nil if the directory can't be read; after errors it has what could be loaded
	Schemas ui.Schemas      // nil if the providers are not installed
	// Variables has the given values of root variables that are valid, before conversion to their types.
	Variables map[string]cty.Value
}

// Load loads the configuration and the schemas, without the state. Unlike a plan, it has a result if the
// configuration has errors or its variables have no values.
func (m *Module) Load(ctx context.Context) (*Loaded, error) {
	out := &Loaded{}
	answer, err := m.ask(ctx, nil, func(ctx context.Context, q *question) error {
		resolve, err := getmodules.InstalledOrLocal(q.ModulesDir(), q.Base)
		if err != nil {
			return err
		}
		given, _ := q.Collect(q.opts.Variables)
		workspace, err := q.Workspace()
		if err != nil {
			return err
		}
		out.Config, err = configs.LoadRoot(ctx, q.RootDir, &configs.LoadOptions{Parser: q.Parser, Resolve: resolve,
			Variables: given, Unset: true, Workspace: workspace, WorkDir: q.WorkDir, Base: q.Base}, q.Warnings.Add)
		if out.Config == nil {
			return err
		}
		values, _ := inputs.Values(given, out.Config.Module.Variables, tfdiags.Drop)
		out.Variables = make(map[string]cty.Value, len(values))
		for name, v := range values {
			out.Variables[name] = v.Value
		}
		reqs := session.Requirements(out.Config, nil)
		running, openErr := q.OpenProviders(reqs.InAnyVersion())
		if openErr != nil {
			return tfdiags.Join(err, openErr)
		}
		defer running.Close()
		schemas := map[addrs.Provider]*providers.Schema{}
		for addr := range reqs {
			schemas[addr], _ = running.Schema(ctx, addr)
		}
		out.Schemas = func(p addrs.Provider) *providers.Schema { return schemas[p] }
		return err
	})
	out.Answer = answer
	return out, err
}
