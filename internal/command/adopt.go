package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/adopt"
	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/plugin"
	"tofu/internal/registry"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

var cmdAdopt = &Command{
	Name: "adopt", Args: "[TYPE...]", Own: true, Short: "Write configuration for existing objects that no state has",
	Long: `
Finds existing objects, leaves out those that a state has already, and writes
import blocks and configuration for the others. "tofu apply" then brings them
into the state. The command changes neither objects nor states.

The objects are those that providers list for the types, such as aws_vpc or
aws_*; without types, those that the query files (*.tfquery.hcl) list; or with
-ids, those in a file. IDs of other objects become references, objects that are
equal except for a name become one block with for_each, and secrets are not
written. If the directory is part of an estate (see "tofu roots"), objects in
the states of all its root modules are left out.

At the end, a plan of the new files shows whether an apply would only import the
objects. Objects that can't be imported are left out and named. The command can
be repeated: it leaves out what the configuration imports already.

The exit status is 0 if an apply only imports, 2 if it would also change objects
or if some can't be imported, and 1 after an error.`,
	New: with(func(f *adoptFlags, fs *options) {
		f.planFlags.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.lockFlags.add(fs)
		f.Input.add(fs)
		addLimits(fs, &f.Limits)
		f.addProgress(fs)
		fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
		fs.BoolVar(&f.Preview, "preview", false, "Only list the objects, with their addresses. Nothing is written.")
		fs.StringVar(&f.IDs, "ids", "", "Import the objects in the file at `path`. Each line has a resource type and an "+
			"import ID.")
		fs.BoolVar(&f.Pending, "pending", false, "Look for the objects of interrupted creations, which are in doubt, and write "+
			"the blocks that import them.")
		fs.Var((*list)(&f.Providers), "provider", "List objects with the provider configuration `name`, such as aws.west. "+
			"May be repeated. The default is the configuration without an alias of each provider.")
		fs.Var((*list)(&f.Filters), "filter", "Set an argument of the lists that have it, as `name=value`, such as "+
			"region=eu-west-1. May be repeated.")
		f.Limit = 10_000
		fs.Func("limit", "List at most `n` objects of a type (default 10000).", func(text string) (err error) {
			f.Limit, err = strconv.Atoi(text)
			if err != nil || f.Limit < 1 {
				return errors.New("must be a positive whole number")
			}
			return nil
		})
		fs.StringVar(&f.Out, "out", "adopted", "Begin the names of the files with `prefix`. The default is adopted.")
		fs.Func("group", "Put blocks into a file for each `type`, for the first word of each name, or for each value of "+
			"a tag: type, name or tag:NAME. The default is one file.", func(text string) (err error) {
			f.Group, err = adopt.ParseGrouping(text)
			return err
		})
		fs.BoolVar(&f.Modules, "modules", false, "Put each group into a module of its own instead of a file.")
		fs.StringVar(&f.Estate, "estate", "", "Leave out what the states of the root modules below `directory` have. The "+
			"default is the nearest directory above with a roots.tofu.hcl, if there is one.")
		fs.BoolVar(&f.Alone, "alone", false, "Read the state of this root module only.")
	}, runAdopt),
}

type adoptFlags struct {
	planFlags
	Document, Preview, Alone, Pending, Modules bool
	IDs, Out, Estate                           string
	Providers, Filters                         []string
	Limit                                      int
	Group                                      adopt.Grouping
}

func runAdopt(ctx context.Context, app *App, f *adoptFlags, types []string) error {
	switch {
	case f.Pending && (f.IDs != "" || len(types) > 0):
		return badUsage("Incompatible arguments", "-pending can't be used together with types or -ids: the state names them.")
	case f.IDs != "" && len(types) > 0:
		return badUsage("Incompatible arguments", "-ids can't be used together with types: the file names them.")
	case f.Modules && f.Group.By == "":
		return badUsage("What are the modules?", "-modules needs -group, which says what is in one module.")
	case f.Modules && f.Pending:
		return badUsage("Incompatible options", "-modules and -pending can't be used together: the configuration has the blocks.")
	case len(f.Filters) > 0 && len(types) == 0 && !f.Pending:
		return badUsage("Nothing to filter", "-filter is for the lists of types, and this command names no types.")
	case filepath.Base(f.Out) != f.Out || strings.HasPrefix(f.Out, "."): // files with such names are not read
		return badUsage("Invalid prefix", "-out=%s is not the beginning of a file name. The files are written to the "+
			"directory of the root module.", f.Out)
	case f.Alone && f.Estate != "":
		return badUsage("Incompatible options", "-alone and -estate can't be used together.")
	}
	if err := session.RequireConfig(app.Parser, app.RootDir); err != nil {
		return err
	}
	if f.Document {
		app.onStderr()
	}
	defer app.Session.SharePlugins(&plugin.Shared{})()
	defer app.ShareClients()()
	a := &adoption{app: app, f: f, files: app.Parser.FS(), out: &adopt.Report{}, refs: map[string]string{}}
	if err := a.find(ctx, types); err != nil {
		return err
	}
	if err := a.leaveOut(ctx); err != nil {
		return err
	}
	if f.Pending {
		a.settle()
	} else {
		adopt.Arrange(a.objects, a.schema, a.taken)
	}
	unread := func(o *adopt.Object) bool { return o.Value == adopt.Unknown }
	if !f.Preview && len(a.objects) > 0 || slices.ContainsFunc(a.objects, unread) {
		if err := a.write(ctx); err != nil {
			return err
		}
	}
	app.printOnStderr(app.Warnings.Take())
	for _, o := range a.objects {
		a.out.Add(o, adopt.New, "", nil)
	}
	show := func(w io.Writer) error { return a.out.Text(w, f.Preview) }
	if f.Document {
		show = a.out.JSON
	}
	if err := show(app.Out); err != nil {
		return err
	}
	if !a.out.Clean() {
		return exitStatus(2)
	}
	return nil
}

// adoption is a run of the command.
type adoption struct {
	app     *App
	f       *adoptFlags
	files   configs.FS // without the files that exist only in memory
	config  *configs.Config
	schemas map[string]*configschema.Block // by type
	managed adopt.Managed
	pending []adopt.Pending
	refs    map[string]string // expressions for IDs of objects in other root modules
	objects []*adopt.Object   // those that are not in out yet
	out     *adopt.Report
}

func (a *adoption) schema(typ string) *configschema.Block { return a.schemas[typ] }

func (a *adoption) taken(r addrs.Resource) bool { return a.config.Module.Resources[r] != nil }

// settle leaves the objects of interrupted creations, and makes the other creations part of the result.
func (a *adoption) settle() {
	found, unsettled := adopt.Settle(a.pending, a.objects)
	a.objects = found
	for _, p := range a.pending {
		if why, open := unsettled[p.Addr]; open {
			a.out.Add(&adopt.Object{Type: p.Addr.Resource.Type, Addr: p.Addr}, adopt.InDoubt, why, nil)
		}
	}
}

// start starts an operation with a file that exists only in memory, in the directory of the root module.
// If name is "", there is no such file.
func (a *adoption) start(ctx context.Context, operation, name, text string) (*session.Operation, error) {
	a.app.Parser = configs.NewParser(a.files)
	if name != "" {
		a.app.Parser = configs.NewParser(&withFile{a.files, filepath.Join(a.app.RootDir, name), text})
	}
	return a.app.StartOperation(ctx, a.f.operation(), operation)
}

// withFile is a file system with one more file, which must be in an existing directory. If it is a query
// file, it is the only one.
type withFile struct {
	configs.FS
	path, text string
}

// ReadDir implements configs.FS.
func (w *withFile) ReadDir(dir string) ([]fs.DirEntry, error) {
	entries, err := w.FS.ReadDir(dir)
	if filepath.Clean(dir) == filepath.Dir(w.path) {
		const query = ".tfquery.hcl"
		entries = slices.DeleteFunc(slices.Clone(entries), func(e fs.DirEntry) bool {
			return strings.HasSuffix(e.Name(), query) && strings.HasSuffix(w.path, query)
		})
		entries = append(slices.Clip(entries), fileEntry(filepath.Base(w.path)))
		slices.SortFunc(entries, func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	}
	return entries, err
}

// ReadFile implements configs.FS.
func (w *withFile) ReadFile(name string) ([]byte, error) {
	if filepath.Clean(name) == w.path {
		return []byte(w.text), nil
	}
	return w.FS.ReadFile(name)
}

// fileEntry is the directory entry of a regular file with this name.
type fileEntry string

func (e fileEntry) Name() string             { return string(e) }
func (fileEntry) IsDir() bool                { return false }
func (fileEntry) Type() fs.FileMode          { return 0 }
func (fileEntry) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// write plans the imports and, without -preview, writes the files. It sets Import, Change, Others and Files of the
// result, and leaves out objects that can't be imported.
func (a *adoption) write(ctx context.Context) error {
	prefix, err := a.prefix()
	if err != nil {
		return err
	}
	plan, err := a.planAll(ctx, prefix)
	if err != nil || plan == nil || a.f.Preview {
		return err
	}
	var imported []*adopt.Object
	blocks := make(map[addrs.AbsResource]string)
	for _, o := range a.objects {
		c := plan.Changes.Instance(o.Addr, addrs.NotDeposed)
		if c == nil || c.Importing == nil {
			a.out.Add(o, adopt.Failed, "the plan doesn't import it", nil)
			continue
		}
		blocks[o.Addr.Abs()], imported = adopt.Refer(c.GeneratedConfig, a.refs), append(imported, o)
	}
	block := func(r addrs.AbsResource) string { return blocks[r] }
	var texts map[string]string
	if a.f.Modules {
		calls, there := a.config.Module.Calls, map[string]bool{}
		texts = adopt.Modules(imported, block, prefix, a.f.Group, func(name string) bool {
			if c := calls[name]; c != nil {
				there[fmt.Sprintf("%s (%s)", name, tfdiags.Place(c.Range))] = true
			}
			return calls[name] != nil
		})
		if len(there) > 0 {
			a.app.Warnings.Add(tfdiags.Warningf("Groups are modules already", "The configuration has modules with the names of "+
				"these groups: %s. The new objects are in modules of their own, whose names end in numbers. To add them to the old "+
				"ones, before you apply: move the blocks into the directories of these, pass the arguments of the new calls to "+
				"them, delete the new calls, and change the addresses in %s_imports.tf.",
				strings.Join(slices.Sorted(maps.Keys(there)), ", "), prefix))
		}
	} else {
		texts = adopt.Files(imported, block, prefix, a.f.Group)
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := "# __generated__ by \"tofu adopt\". Review this file before you apply it.\n\n" + texts[name]
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = atomicfile.WriteNamed(name, []byte(text), 0o644)
		}
		if err != nil {
			return fmt.Errorf("writing the configuration of adopted objects: %w", err)
		}
		a.out.Files = append(a.out.Files, name)
	}
	if a.f.Modules {
		if plan, err = a.planModules(ctx); err != nil {
			return tfdiags.Join(err, tfdiags.Errorf("The files are written", "But a plan of them failed. Correct them, and run "+
				"\"tofu init\" and \"tofu plan\"."))
		}
	}
	a.count(plan, imported)
	return nil
}

// planModules installs the modules that have been written, and plans the whole configuration.
func (a *adoption) planModules(ctx context.Context) (*plans.Plan, error) {
	a.app.Parser = configs.NewParser(a.files)
	given, err := a.app.Collect(a.f.Variables)
	if err != nil {
		return nil, err
	}
	modules := &moduleInstaller{session: a.app.Session, client: registry.New(a.app.CLI),
		report: &packageReport{term: a.app.Terminal}, view: &a.app.view}
	if _, err := modules.install(ctx, given, &installOptions{Get: true, TestDirectory: "tests"}); err != nil {
		return nil, err
	}
	return a.plan(ctx, "", "")
}

// count adds to the result what a plan does with the objects.
func (a *adoption) count(plan *plans.Plan, imported []*adopt.Object) {
	a.objects = nil
	for _, o := range imported {
		c := plan.Changes.Instance(o.Addr, addrs.NotDeposed)
		a.out.Import++
		if c != nil && c.Action == plans.NoOp {
			a.objects = append(a.objects, o)
			continue
		}
		a.out.Change++
		a.out.Add(o, adopt.Differs, "an apply would change it", changedNames(c))
	}
	for _, c := range plan.Changes.Instances {
		if c.Importing == nil && c.Action != plans.NoOp && c.Action != plans.Read {
			a.out.Others++
		}
	}
}

// prefix returns a beginning for the names of the files that no file in the directory has.
func (a *adoption) prefix() (string, error) {
	dir, base := filepath.Split(filepath.Join(a.app.RootDir, a.f.Out))
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return "", fmt.Errorf("checking the directory for new files: %w", err)
	}
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s%d", base, n)
		}
		used := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			rest, begins := strings.CutPrefix(e.Name(), name)
			return begins && (rest[0:min(1, len(rest))] == "_" || rest == ".tf")
		})
		if !used {
			return filepath.Join(dir, name), nil
		}
	}
}

// planAll plans the imports of the objects. Those that can't be imported become part of the result, and
// the others are planned again. The plan is nil if no object is left.
func (a *adoption) planAll(ctx context.Context, prefix string) (*plans.Plan, error) {
	for found := false; len(a.objects) > 0; {
		before := a.app.Warnings.Take()
		plan, err := a.plan(ctx, filepath.Base(prefix)+"_imports.tf", adopt.Imports(a.objects))
		planned := a.app.Warnings.Take() // they count only if no further plan follows
		a.app.Warnings.Add(before...)
		found = a.setValues(plan) || found
		left := a.leaveOutPlanned(plan)
		switch {
		case err != nil && !left && !a.drop(err):
			a.app.Warnings.Add(planned...)
			return nil, err
		case err == nil && found && !a.f.Pending: // objects whose values are known now may become one block
			found = false
			adopt.Arrange(a.objects, a.schema, a.taken)
		case err == nil && !left:
			a.app.Warnings.Add(planned...)
			return plan, nil
		}
	}
	return nil, nil
}

// leaveOutPlanned leaves out the objects of which only the plan shows, by the identities and values that it has read,
// that a state has them or that another import block imports them. It reports whether there are any.
func (a *adoption) leaveOutPlanned(plan *plans.Plan) bool {
	if plan == nil {
		return false
	}
	ours, read := make(map[addrs.AbsInstance]bool), make(map[*adopt.Object]*adopt.Object)
	for _, o := range a.objects {
		ours[o.Addr] = true
	}
	planned := func(c *plans.InstanceChange, id string) *adopt.Object {
		o := &adopt.Object{Type: c.Addr.Resource.Type, Source: c.Provider.Config.Provider, ID: id, Identity: c.BeforeIdentity}
		o.Value, _ = c.Before.UnmarkDeep()
		return o
	}
	for _, c := range plan.Changes.Instances {
		if c.Importing != nil && !ours[c.Addr] {
			a.managed.AddImport(planned(c, c.Importing.ID), adopt.Owner{Addr: c.Addr.String() + toBeImported})
		}
	}
	for _, o := range a.objects {
		if c := plan.Changes.Instance(o.Addr, addrs.NotDeposed); c != nil && c.Importing != nil {
			read[o] = planned(c, o.ID)
		}
	}
	before := len(a.objects)
	a.leaveOutManaged(func(o *adopt.Object) *adopt.Object { return cmp.Or(read[o], o) })
	return len(a.objects) < before
}

// plan plans the configuration with a file that exists only in memory; see start.
func (a *adoption) plan(ctx context.Context, name, text string) (*plans.Plan, error) {
	op, err := a.start(ctx, session.OperationPlan, name, text)
	if err != nil {
		return nil, err
	}
	defer op.Close()
	op.Env.Observe = a.app.Live.Event
	return op.PlanUnseen(ctx, &engine.PlanOptions{Variables: op.Variables, GenerateConfig: true, NotSaved: true,
		SkipRefresh: true})
}

// setValues sets the values of objects that the plan has read. It reports whether there are new ones.
func (a *adoption) setValues(plan *plans.Plan) (found bool) {
	if plan == nil {
		return false
	}
	for _, o := range a.objects {
		c := plan.Changes.Instance(o.Addr, addrs.NotDeposed)
		if o.Value != adopt.Unknown || c == nil || c.Before.IsNull() {
			continue
		}
		o.Value, _ = c.Before.UnmarkDeep()
		found = true
	}
	return found
}

// importPlace matches the place of an import block, which is in a file that doesn't exist.
var importPlace = regexp.MustCompile(` \(import block at [^)]*\)`)

// drop leaves out the objects that an error is about. It reports whether there are any, and no other
// errors.
func (a *adoption) drop(err error) bool {
	why := make(map[string]string)
	for _, d := range tfdiags.FromError(err) {
		addr := d.Address
		if failed, ok := d.Extra.(engine.ImportFailure); ok {
			addr = failed.Addr.String()
		}
		if d.Severity == tfdiags.Error && why[addr] == "" {
			detail, _, _ := strings.Cut(d.Detail, "\n\n")
			why[addr] = d.Summary + ". " + importPlace.ReplaceAllString(detail, "")
		}
	}
	before := len(a.objects)
	a.objects = slices.DeleteFunc(a.objects, func(o *adopt.Object) bool {
		reason, failed := why[o.Addr.String()]
		if failed {
			a.out.Add(o, adopt.Failed, reason, nil)
		}
		return failed
	})
	return len(a.objects) < before
}

// changedNames returns the names of the arguments and blocks that a change would change, sorted.
func changedNames(c *plans.InstanceChange) []string {
	if c == nil {
		return nil
	}
	before, _ := c.Before.UnmarkDeep()
	after, _ := c.After.UnmarkDeep()
	var out []string
	if before.IsNull() || after.IsNull() {
		return nil
	}
	for name := range after.Type().AttributeTypes() {
		if !after.GetAttr(name).RawEquals(before.GetAttr(name)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
