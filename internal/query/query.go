package query

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// Run runs the list blocks of a configuration that was loaded with configs.Queries. Its functions
// may be called concurrently, for different list blocks.
type Run struct {
	Config *configs.Config
	Env    *engine.Env
	// Generate makes the result of each object include the configuration that imports it.
	Generate bool
	// Objects makes the result of each object include its values.
	Objects bool

	Started  func(List)
	Found    func(*Object)
	Finished func(list List, total int)
	Warn     tfdiags.Sink

	mu    sync.Mutex
	names map[string]bool // types and resourceNames of the list blocks that have run
}

// List is one instance of a list block.
type List struct {
	Addr   string    // such as list.aws_instance.web[0]
	Type   string    // the resource type
	Config cty.Value // its sensitive values are marked
}

// Object is an object that a list block has found.
type Object struct {
	List            List
	Provider        string // reference to the provider configuration of the list block
	DisplayName     string
	Identity        cty.Value
	IdentityVersion int64
	Object          cty.Value // null if the list block doesn't include it; sensitive values are null
	// Resource and Import are the blocks that import the object, or "" without Generate.
	Resource, Import string
}

// Validate checks the list blocks and everything else in a configuration, like engine.Validate.
func Validate(ctx context.Context, cfg *configs.Config, env *engine.Env) error {
	r := &Run{Config: cfg, Env: env, Warn: env.Warn}
	if err := r.check(ctx); err != nil {
		return err
	}
	return translate(tfdiags.FromError(engine.Validate(ctx, r.Config, r.env()))).Err()
}

// Do runs all list blocks. Other blocks are read and planned only as far as list blocks refer to
// them. Objects that were found before an error are reported.
func (r *Run) Do(ctx context.Context, prior *states.State, variables map[string]engine.Variable) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	opts := &engine.PlanOptions{Variables: variables, NotSaved: true}
	lists := r.Config.Module.Lists()
	if len(lists) == 0 {
		return tfdiags.Errorf("No list blocks", "Queries are list blocks in files with the extension .tfquery.hcl in the "+
			"directory of the root module, and there are none. For example:\n\n  list \"aws_instance\" \"all\" {\n    "+
			"provider = aws\n  }")
	}
	for _, l := range lists {
		opts.Targets = append(opts.Targets, addrs.Target{Resource: l.Addr})
	}
	plan, err := engine.Plan(ctx, r.Config, prior, r.env(), opts)
	if err != nil {
		return translate(tfdiags.FromError(err)).Err()
	}
	return r.unread(plan)
}

// unread returns an error for each list block that depends on something that an apply would create.
func (r *Run) unread(plan *plans.Plan) error {
	var errs tfdiags.Diagnostics
	for _, c := range plan.Changes.Instances {
		if _, isList := configs.ListedType(c.Addr.Resource.Type); isList && c.Action == plans.Read {
			errs.Add(tfdiags.Errorf("Unknown values in a list block", "%s depends on values that are known only after an "+
				"apply, so it can't be run now. Apply what it depends on first.", configs.ListAddress(c.Addr.String())).
				At(r.Config.Module.Resources[c.Addr.Resource].Range))
		}
	}
	return errs.Err()
}

// check returns an error if a module has query files, or if a provider can't list the objects of a type.
func (r *Run) check(ctx context.Context) error {
	errs := tfdiags.FromError(r.Config.CheckQueries())
	for _, l := range r.Config.Module.Lists() {
		typ, _ := configs.ListedType(l.Addr.Type)
		provider := r.Config.Module.ProviderByLocalName(l.Provider.Name)
		schema, diags := r.Env.Schema(ctx, provider)
		if diags.HasErrors() {
			return errs.Append(diags...).Err()
		}
		if schema.Lists != nil && schema.Lists.Type(typ) != nil {
			continue
		}
		var names []string
		if schema.Lists != nil {
			names = schema.Lists.Names()
		}
		advice := " It lists no objects at all; a newer version of it may."
		if len(names) > 0 {
			advice = suggest.DidYouMean(typ, names)
		}
		errs.Add(tfdiags.Errorf("Unknown list resource type", "The provider %s can't list objects of type %q.%s",
			provider.ForDisplay(), typ, advice).At(l.TypeRange))
	}
	return errs.Err()
}

// env returns an environment whose providers list objects when a data source is read that stands for
// a list block.
func (r *Run) env() *engine.Env {
	env := *r.Env
	env.Observe, env.Warn = nil, func(diags ...tfdiags.Diagnostic) {
		for _, d := range translate(diags) {
			// Only list blocks are targets, which the user doesn't need to know.
			if d.Severity == tfdiags.Warning && d.Summary != targeting {
				r.Warn(d)
			}
		}
	}
	env.Schema = func(ctx context.Context, addr addrs.Provider) (*providers.Schema, tfdiags.Diagnostics) {
		schema, diags := r.Env.Schema(ctx, addr)
		return withLists(schema), diags
	}
	wrap := func(impl providers.Interface) providers.Interface {
		if impl == nil {
			return nil
		}
		return &lister{Interface: impl, run: r}
	}
	env.Provider = func(ctx context.Context, addr addrs.Provider) (providers.Interface, error) {
		impl, err := r.Env.Provider(ctx, addr)
		return wrap(impl), err
	}
	if r.Env.Reuse != nil {
		env.Reuse = func(addr addrs.Provider, config cty.Value) providers.Interface {
			return wrap(r.Env.Reuse(addr, config))
		}
	}
	return &env
}

// targeting is the summary of the engine's warning about a plan of some objects.
const targeting = "Resource targeting is in effect"

// Names of data sources that stand for list blocks, in messages, and what replaces them.
var (
	messages = strings.NewReplacer("data.list-", "list.", `data "list-`, `list "`, `data source "list-`, `list block "`)
	typeName = regexp.MustCompile(`\blist-(\w+) data source`)
)

// translate makes messages about data sources that stand for list blocks name the list blocks.
func translate(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	text := func(s string) string { return typeName.ReplaceAllString(messages.Replace(s), "$1 list block") }
	return diags.Map(func(d *tfdiags.Diagnostic) {
		d.Summary, d.Detail, d.Address = text(d.Summary), text(d.Detail), text(d.Address)
	})
}

// Translate is translate for an error of loading a configuration with query files.
func Translate(err error) error {
	if err == nil {
		return nil
	}
	return translate(tfdiags.FromError(err)).Err()
}

// IdentityText writes an identity as "name=value" pairs, sorted by name, for people.
func IdentityText(identity cty.Value) string {
	values := identity.AsValueMap()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v := values[name]; !v.IsNull() {
			parts = append(parts, fmt.Sprintf("%s=%s", name, plainText(v)))
		}
	}
	return strings.Join(parts, ",")
}
