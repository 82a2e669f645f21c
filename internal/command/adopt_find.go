package command

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/adopt"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/lang/funcs"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/query"
	"tofu/internal/roots"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/session"
	"tofu/internal/suggest"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

// queryName is the name of the query file that exists only in memory.
const queryName = "adopt.tfquery.hcl"

// find finds the objects, and what the root module itself has.
func (a *adoption) find(ctx context.Context, types []string) error {
	op, err := a.start(ctx, session.OperationRead, "", "")
	if err != nil {
		return err
	}
	defer op.Close()
	a.config, a.schemas = op.Config.Config, make(map[string]*configschema.Block)
	if err := a.checkProviders(); err != nil {
		return err
	}
	a.managed.AddState("", op.State.State())
	if a.f.IDs != "" {
		return a.readIDs(ctx, op)
	}
	if a.f.Pending {
		types, err = a.findPending(ctx, op)
		if err != nil || len(types) == 0 {
			return err
		}
	}
	name, text := "", ""
	if len(types) > 0 {
		if text, err = a.lists(ctx, op, types); err != nil {
			return err
		}
		name = queryName
	} else if len(a.app.Parser.QueryFiles(a.app.RootDir)) == 0 {
		return tfdiags.Errorf("Nothing to look for", "Name the types of the objects, such as: tofu adopt aws_vpc 'aws_iam_*'. "+
			"Or write a query file (*.tfquery.hcl), or a file for the option -ids.")
	}
	return a.list(ctx, name, text)
}

// checkProviders returns an error for a name of -provider that no provider configuration of the root module has.
func (a *adoption) checkProviders() error {
	m := a.config.Module
	for _, text := range a.f.Providers {
		tr, diags := hclsyntax.ParseTraversalAbs([]byte(text), "-provider", hcl.InitialPos)
		name, _, keyed := strings.Cut(text, "[")
		local, alias, aliased := strings.Cut(name, ".")
		config := m.Providers[addrs.LocalProviderConfig{LocalName: local, Alias: alias}]
		known := slices.Sorted(maps.Values(m.LocalNames))
		switch {
		case diags.HasErrors() || tr.IsRelative() || strings.Contains(alias, "."):
			return badUsage("Invalid provider", "-provider=%s is not NAME, NAME.ALIAS or NAME.ALIAS[KEY].", text)
		case !slices.Contains(known, local):
			return tfdiags.Errorf("No such provider", "-provider=%s: the root module requires no provider %q.%s It requires %s.", text,
				local, suggest.DidYouMean(local, known), strings.Join(known, ", "))
		case aliased && config == nil:
			return tfdiags.Errorf("No such provider configuration", "The root module has no provider block for -provider=%s.", text)
		case aliased && config.ForEach != nil && !keyed:
			return tfdiags.Errorf("Which provider instance?", "The provider block %s has for_each. Name one instance, such as "+
				"-provider='%[1]s[\"KEY\"]'.", name)
		}
	}
	return nil
}

// findPending finds the creations that never ended. It returns their types that providers can list.
func (a *adoption) findPending(ctx context.Context, op *session.Operation) (types []string, err error) {
	var references []string
	for _, step := range op.State.Snapshot.Interrupted {
		if step.Action != plans.Create || step.Deposed != addrs.NotDeposed || step.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		p, config := adopt.Pending{Addr: step.Addr, Planned: step.Planned}, step.Provider.Config
		schema, diags := op.Env.Schema(ctx, config.Provider)
		if diags.HasErrors() {
			return nil, diags.Err()
		}
		reference := a.config.Module.LocalNames[config.Provider]
		switch {
		case schema.Lists == nil || schema.Lists.Type(step.Addr.Resource.Type) == nil:
			p.Problem = "the provider can't list objects of this type. Import the object by its ID, if it exists"
		case reference == "":
			p.Problem = "the root module doesn't require the provider. Add it to required_providers"
		}
		a.pending = append(a.pending, p)
		if p.Problem != "" {
			continue
		}
		if config.Module.IsRoot() && config.Alias != "" {
			reference += "." + config.Alias + step.Provider.Key.String()
		}
		if !slices.Contains(references, reference) {
			references = append(references, reference)
		}
		if typ := step.Addr.Resource.Type; !slices.Contains(types, typ) {
			types = append(types, typ)
		}
	}
	if len(a.f.Providers) == 0 {
		a.f.Providers = references
	}
	return types, nil
}

// readIDs reads the file of -ids.
func (a *adoption) readIDs(ctx context.Context, op *session.Operation) error {
	src, err := os.ReadFile(a.f.IDs)
	if err != nil {
		return fmt.Errorf("reading the file of -ids: %w", err)
	}
	a.objects, err = adopt.ParseIDs(a.f.IDs, src)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	a.objects = slices.DeleteFunc(a.objects, func(o *adopt.Object) bool {
		again := seen[o.String()]
		seen[o.String()] = true
		return again
	})
	var errs tfdiags.Diagnostics
	known := slices.Sorted(maps.Values(a.config.Module.LocalNames))
	for _, o := range a.objects {
		o.Provider = addrs.Resource{Type: o.Type}.ImpliedProvider()
		for _, name := range a.f.Providers {
			if local, _, _ := strings.Cut(name, "."); local == o.Provider {
				o.Provider = name
			}
		}
		o.Source = a.source(o.Provider)
		schema, diags := op.Env.Schema(ctx, o.Source)
		switch {
		case diags.HasErrors() && !slices.Contains(known, o.Provider):
			errs.Add(tfdiags.Errorf("No provider of the type", "%s names the type %q, and the root module requires no provider "+
				"%q.%s Add it to required_providers.", a.f.IDs, o.Type, o.Provider, suggest.DidYouMean(o.Provider, known)))
			continue
		case diags.HasErrors():
			return diags.Err()
		}
		typ := schema.Resources.Type(o.Type)
		if typ == nil {
			errs.Add(tfdiags.Errorf("Unknown resource type", "%s names the type %q, which the provider %s doesn't have.%s",
				a.f.IDs, o.Type, o.Source.ForDisplay(), suggest.DidYouMean(o.Type, schema.Resources.Names())))
			continue
		}
		a.schemas[o.Type] = typ.Block
	}
	return errs.Err()
}

// source returns the provider of a reference to a provider configuration.
func (a *adoption) source(reference string) addrs.Provider {
	local, _, _ := strings.Cut(reference, ".")
	return a.config.Module.ProviderByLocalName(local)
}

// lists returns a query file with a list block for each type that one of the patterns matches.
func (a *adoption) lists(ctx context.Context, op *session.Operation, patterns []string) (string, error) {
	references := a.f.Providers
	if len(references) == 0 {
		references = slices.Sorted(maps.Values(a.config.Module.LocalNames))
	}
	filters, err := a.filters()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	var known []string
	matched, used := make(map[string]bool), make(map[string]bool)
	for i, reference := range references {
		schema, diags := op.Env.Schema(ctx, a.source(reference))
		if diags.HasErrors() {
			return "", diags.Err()
		}
		if schema.Lists == nil {
			continue
		}
		for _, typ := range schema.Lists.Names() {
			known = append(known, typ)
			matches := false
			for _, pattern := range patterns {
				if ok, err := path.Match(pattern, typ); err != nil {
					return "", badUsage("Invalid pattern", "%q is not a valid pattern for types.", pattern)
				} else if ok {
					matches, matched[pattern] = true, true
				}
			}
			if matches {
				writeList(&text, schema.Lists.Type(typ), typ, fmt.Sprintf("adopt_%d", i), reference, a.f.Limit, filters, used)
			}
		}
	}
	var errs tfdiags.Diagnostics
	for _, pattern := range patterns {
		if !matched[pattern] {
			errs.Add(noList(pattern, known))
		}
	}
	for name := range filters {
		if !used[name] && len(errs) == 0 {
			errs.Add(tfdiags.Errorf("Unknown argument of a list", "-filter sets %q, which the lists of the types don't have.", name))
		}
	}
	return text.String(), errs.Err()
}

func noList(pattern string, known []string) tfdiags.Diagnostic {
	if len(known) == 0 {
		return tfdiags.Errorf("No lists of objects", "None of the required providers can list objects, so %s can't be found "+
			"this way. Newer versions of the providers may; or write types and import IDs into a file for the option -ids.",
			pattern)
	}
	return tfdiags.Errorf("No list of objects", "No required provider can list objects of the type %s.%s Write their import "+
		"IDs into a file for the option -ids.", pattern, suggest.DidYouMean(pattern, known))
}

// writeList writes a list block with those of the filters that it has. It records them in used.
func writeList(
	b *strings.Builder, schema *providers.ResourceSchema, typ, name, provider string, limit int,
	filters map[string]cty.Value, used map[string]bool,
) {
	fmt.Fprintf(b, "list %q %q {\n  provider = %s\n  include_resource = true\n  limit = %d\n  config {\n", typ, name,
		provider, limit)
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		if schema.Block.Attributes[name] != nil {
			used[name] = true
			fmt.Fprintf(b, "    %s = %s\n", name, hclwrite.TokensForValue(filters[name]).Bytes())
		}
	}
	b.WriteString("  }\n}\n")
}

// filters returns the values of -filter by name.
func (a *adoption) filters() (map[string]cty.Value, error) {
	out := make(map[string]cty.Value)
	for _, text := range a.f.Filters {
		name, value, found := strings.Cut(text, "=")
		if !found || name == "" {
			return nil, badUsage("Invalid filter", "-filter=%s has no name or no value. An example is -filter=region=eu-west-1.", text)
		}
		out[name] = cty.StringVal(value)
	}
	return out, nil
}

// list runs list blocks: those of query files and those of a file in memory.
func (a *adoption) list(ctx context.Context, name, text string) error {
	a.app.Part = configs.Queries
	defer func() { a.app.Part = configs.Whole }()
	op, err := a.start(ctx, session.OperationRead, name, text)
	if err != nil {
		return err
	}
	defer op.Close()
	var mu sync.Mutex
	seen := make(map[string]bool)
	run := &query.Run{
		Config: op.Config.Config, Env: op.Env, Objects: true, Warn: a.app.Warnings.Add,
		Started: func(query.List) {}, Finished: func(query.List, int) {},
		Found: func(o *query.Object) {
			found := &adopt.Object{Type: o.List.Type, Provider: o.Provider, Source: a.source(o.Provider), Name: o.DisplayName,
				Identity: o.Identity, Value: o.Object}
			mu.Lock()
			defer mu.Unlock()
			key := found.String() + " " + found.Value.GoString() // two configurations may list the same object
			if o.Object.IsNull() {
				key, found.Value = found.String()+" "+found.Provider, adopt.Unknown
			}
			if !seen[key] {
				seen[key], a.objects = true, append(a.objects, found)
			}
		},
	}
	a.app.Live.Phase("Listing objects", 0)
	defer a.app.Live.Phase("", 0)
	if err := run.Do(terminal.UntilAbort(ctx), op.State.State(), op.Variables); err != nil {
		return err
	}
	for _, o := range a.objects {
		schema, diags := op.Env.Schema(ctx, o.Source)
		if diags.HasErrors() {
			return diags.Err()
		}
		a.schemas[o.Type] = schema.Resources.Type(o.Type).Block
	}
	return nil
}

// leaveOut moves objects to the result that a state has, or that the configuration imports.
func (a *adoption) leaveOut(ctx context.Context) error {
	if err := a.addEstate(ctx); err != nil {
		return err
	}
	a.addImports("", a.config)
	a.leaveOutManaged(func(o *adopt.Object) *adopt.Object { return o })
	return nil
}

// leaveOutManaged moves the objects to the result that have an owner. known returns what is known of an object.
func (a *adoption) leaveOutManaged(known func(*adopt.Object) *adopt.Object) {
	a.objects = slices.DeleteFunc(a.objects, func(o *adopt.Object) bool {
		owners := a.managed.Owners(known(o))
		if len(owners) == 0 {
			return false
		}
		var places []string
		inRoots := make(map[string]bool)
		for _, owner := range owners {
			places = append(places, owner.String())
			inRoots[owner.Root] = true
		}
		a.out.Add(o, adopt.IsManaged, strings.Join(places, " and "), nil)
		if len(inRoots) > 1 {
			a.app.Warnings.Add(tfdiags.Warningf("Object in several states", "%s is in more than one state: %s. Remove it from "+
				"all but one with \"tofu state rm\", or each of them may destroy it.", o, strings.Join(places, ", ")))
		}
		return true
	})
}

// addEstate reads the states of the other root modules.
func (a *adoption) addEstate(ctx context.Context) error {
	top := a.f.Estate
	if top == "" {
		top = nearestEstate(a.app.RootDir)
	}
	if a.f.Alone || top == "" {
		return nil
	}
	estate, err := loadEstate(ctx, a.app, []string{top})
	if estate == nil || err != nil {
		return err
	}
	here := roots.Real(a.app.RootDir)
	reads := make(map[*roots.Root]string) // the data sources of this root module
	for _, r := range estate.Roots {
		for _, read := range r.Reads {
			if roots.Real(r.Dir) == here && read.Kind == roots.RemoteState && read.Root != nil {
				reads[read.Root] = read.User
			}
		}
	}
	for _, r := range estate.Roots {
		if roots.Real(r.Dir) == here {
			continue
		}
		s := a.app.at(r, a.app.Err, a.app.Timings).Session
		open, err := s.OpenState(ctx, session.StateRequest{})
		if err != nil {
			s.Close()
			return tfdiags.Join(tfdiags.Errorf("State can't be read", "The state of %s can't be read, so objects in it could be "+
				"adopted a second time. Use -alone if it can't have any of them.", r.Name), err)
		}
		a.managed.AddState(r.Name, open.State())
		if data := reads[r]; strings.HasPrefix(data, "data.") { // not in a module
			adopt.AddOutputs(a.refs, open.State(), data)
		}
		cfg, err := s.LoadForState(ctx, a.f.Variables)
		if err == nil {
			a.addImports(r.Name, cfg.Config)
		}
		err = tfdiags.Join(err, open.Close())
		s.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// nearestEstate returns the nearest directory at or above dir with a roots.tofu.hcl, or "".
func nearestEstate(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(abs, rootsfile.FileName)); err == nil {
			return abs
		}
		parent := filepath.Dir(abs)
		if parent == abs {
			return ""
		}
		abs = parent
	}
}

// toBeImported follows the address of an object that no state has yet.
const toBeImported = " (to be imported)"

// addImports adds the objects of the import blocks in a root module whose arguments are constant. root is its name;
// "" for the own one.
func (a *adoption) addImports(root string, config *configs.Config) {
	table := funcs.Table(funcs.Options{})
	for _, im := range config.Module.Imports {
		local := im.ToResource.Resource.ImpliedProvider()
		if im.Provider != nil {
			local = im.Provider.Name
		}
		source := config.Module.ProviderByLocalName(local)
		add := func(each *hcl.EvalContext) {
			o := &adopt.Object{Type: im.ToResource.Resource.Type, Source: source}
			if v, ok := constant(im.ID, each); ok && v.Type() == cty.String {
				o.ID = v.AsString()
			} else if v, ok := constant(im.Identity, each); ok && v.Type().IsObjectType() {
				o.Identity = v
			}
			a.managed.AddImport(o, adopt.Owner{Root: root, Addr: im.ToResource.String() + toBeImported})
		}
		ctx := &hcl.EvalContext{Functions: table}
		if im.ForEach == nil {
			add(ctx)
			continue
		}
		all, ok := constant(im.ForEach, ctx)
		if !ok || !all.CanIterateElements() {
			continue
		}
		for it := all.ElementIterator(); it.Next(); {
			key, value := it.Element()
			each := ctx.NewChild()
			each.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
			add(each)
		}
	}
}

// constant evaluates an expression without references, other than to each. expr may be nil.
func constant(expr hcl.Expression, ctx *hcl.EvalContext) (cty.Value, bool) {
	if expr == nil {
		return cty.NilVal, false
	}
	v, diags := expr.Value(ctx)
	return v, !diags.HasErrors() && v.IsWhollyKnown() && !v.IsNull() && !v.IsMarked()
}
