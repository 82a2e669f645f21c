package roots

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/lang/marks"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/session"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// candidates returns the root modules that the roots.tofu.hcl files declare, and one root module
// for each other directory with configuration files. Some of these directories may turn out to be
// modules that others call. Of a part of an estate, it returns only the root modules that are there.
func candidates(dirs []string, t *tree, part *Part, open func(session.RootModule) *session.Session) ([]*Root, error) {
	var all []*Root
	files, err := loadFiles(dirs, part, func(dir string) *configs.Parser { return open(session.RootModule{Dir: dir}).Parser })
	t.exclude(files)
	errs := tfdiags.FromError(err)
	declared := make(map[string]int) // number of root modules per directory, by [Real] path
	for _, f := range files {
		t.limits, t.share = t.limits.Over(f.Limits), t.share || f.ShareProviders
		maps.Copy(t.labels, f.LabelLimits)
		for _, r := range f.Roots {
			declared[Real(r.Dir)]++
			all = append(all, &Root{Name: r.Name, Dir: r.Dir, Declared: r})
		}
	}
	var linked error
	for _, r := range all {
		r.shared = declared[Real(r.Dir)] > 1
		if r.shared && linked == nil { // one error is enough: most often the link is above all of them
			linked = r.checkDataDir(open(session.RootModule{Dir: r.Dir}).DataDir)
		}
	}
	errs = errs.AppendError(linked)
	for _, d := range t.found {
		if declared[d.Real] > 0 || !d.Configured {
			continue
		}
		r, err := undeclared(d, files)
		errs = append(errs, tfdiags.FromError(err).Dedup(errs)...) // shared defaults cause the same errors
		all = append(all, r)
	}
	return all, errs.Err()
}

// loadFiles reads the roots.tofu.hcl in each of the directories that has one. Of a part of an estate it
// reads the pieces of that file.
func loadFiles(dirs []string, part *Part, parser func(dir string) *configs.Parser) ([]*rootsfile.File, error) {
	var files []*rootsfile.File
	var errs tfdiags.Diagnostics
	seen := make(map[string]bool)
	for _, dir := range dirs {
		if seen[Real(dir)] || isNoDirectory(dir) {
			continue
		}
		seen[Real(dir)] = true
		f, err := part.file(parser(dir), dir)
		errs = errs.AppendError(err)
		if f != nil {
			files = append(files, f)
		}
	}
	return files, errs.Err()
}

// nearest returns the nearest roots.tofu.hcl above a directory, or nil, and the path of the
// directory relative to it.
func nearest(d Directory, files []*rootsfile.File) (nearest *rootsfile.File, best string) {
	for _, f := range files {
		rel, err := filepath.Rel(Real(f.Dir), d.Real)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		if nearest == nil || len(rel) < len(best) {
			best, nearest = rel, f
		}
	}
	return nearest, filepath.ToSlash(best)
}

// undeclared returns the root module in a directory that no file declares. Its name is the path
// relative to the nearest roots.tofu.hcl above it or, without such a file, the path of the
// directory.
func undeclared(d Directory, files []*rootsfile.File) (*Root, error) {
	f, name := nearest(d, files)
	if f == nil {
		return &Root{Name: filepath.ToSlash(d.Dir), Dir: d.Dir, locked: d.Locked}, nil
	}
	settings, err := f.Found(name, d.Dir)
	return &Root{Name: name, Dir: d.Dir, Declared: settings, excluded: f.Excludes(name), locked: d.Locked}, err
}

// IsDeclared reports whether a roots.tofu.hcl has a block for the root module.
func (r *Root) IsDeclared() bool { return r.Declared != nil && r.Declared.Range.Filename != "" }

// Shared reports whether other root modules have the same directory.
func (r *Root) Shared() bool { return r.shared }

// Tags returns the tags of the root module, sorted.
func (r *Root) Tags() []string {
	if r.Declared == nil {
		return nil
	}
	return r.Declared.Tags
}

// Labels returns the labels that a worker must have to process the root module, such as "zone=eu", sorted.
func (r *Root) Labels() (out []string) {
	if r.Declared != nil {
		for name, value := range r.Declared.Labels {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// Module returns the root module with its settings in roots.tofu.hcl. Variables that use outputs of
// other root modules are unknown; see [Root.Inputs].
//
// Root modules that share a directory get separate directories for working files.
func (r *Root) Module() session.RootModule {
	m := session.RootModule{Dir: r.Dir, Preset: session.Preset{Elsewhere: r.elsewhere}}
	if r.shared {
		m.Own = r.ownDataDir()
	}
	d := r.Declared
	if d == nil {
		return m
	}
	m.Preset.Workspace, m.Preset.Backend, m.Preset.From = d.Workspace, d.Backend, rootsfile.FileName
	if r.IsDeclared() {
		m.Preset.From = tfdiags.Place(d.Range)
	}
	for _, name := range d.VarFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.Dir, name)
		}
		m.Preset.VarFiles = append(m.Preset.VarFiles, name)
	}
	m.Preset.Variables, _ = r.Inputs(unknown) // Load reports errors
	return m
}

// ownDataDir returns the data directory of a root module that shares its directory with others.
// It is relative to the usual one.
func (r *Root) ownDataDir() string { return filepath.Join("roots", url.PathEscape(r.Name)) }

// checkDataDir returns an error if a symbolic link leads from the data directory to the root
// module's own one. All commands write and delete files in a data directory, so they trust its
// path.
func (r *Root) checkDataDir(dataDir string) error {
	err := atomicfile.CheckBelow(dataDir, filepath.Join(dataDir, r.ownDataDir()))
	if err == nil {
		return nil
	}
	return tfdiags.Errorf("Data directory behind a link", "%s. The working files of the root module %q would be written "+
		"and deleted there. Remove the link; to keep working files in another place, set TF_DATA_DIR.", err,
		r.Name).At(r.Declared.Range)
}

// unknown is an argument of [Root.Inputs].
func unknown(*Root) (map[string]cty.Value, error) { return nil, nil }

// Inputs returns the variables that roots.tofu.hcl assigns. outputs returns the outputs of another
// root module, or nil if they are not known yet.
func (r *Root) Inputs(outputs func(*Root) (map[string]cty.Value, error)) (map[string]configs.Given, error) {
	if r.Declared == nil {
		return nil, nil
	}
	byName := make(map[string]*Root)
	for _, read := range r.Reads {
		if read.Kind == Variable {
			byName[read.Root.Name] = read.Root
		}
	}
	all := make(map[string]configs.Given)
	var errs tfdiags.Diagnostics
	for _, v := range r.Declared.Variables {
		value, err := v.Value(func(name string) (cty.Value, error) {
			of := byName[name]
			if of == nil {
				return cty.DynamicVal, nil // the reference is not resolved yet
			}
			values, err := outputs(of)
			return of.outputsValue(values), err
		})
		errs = errs.AppendError(err)
		given := configs.Given{Val: value, Range: v.Range, From: tfdiags.Place(v.Range)}
		if v.Own {
			given.Undeclared = configs.UndeclaredError
		}
		all[v.Name] = given
	}
	return all, errs.Err()
}

// outputsValue returns the outputs of the root module as an object. Outputs missing from values are
// null, because states do not store null outputs. If values is nil, the result is unknown.
func (r *Root) outputsValue(values map[string]cty.Value) cty.Value {
	if values == nil {
		return cty.DynamicVal
	}
	all := make(map[string]cty.Value, len(values))
	for _, name := range r.Outputs {
		all[name] = cty.NullVal(cty.DynamicPseudoType)
	}
	maps.Copy(all, values)
	for _, name := range r.sensitive {
		all[name] = all[name].Mark(marks.Sensitive)
	}
	return cty.ObjectVal(all)
}

// check returns an error if a declared root module's directory is missing or has no configuration.
func (r *Root) check() error {
	if !r.IsDeclared() {
		return nil
	}
	info, err := os.Stat(r.Dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return tfdiags.Errorf("Directory of a root module can't be read",
			"The directory %s of the root module %q can't be read: %s.", r.Dir, r.Name, err).At(r.Declared.Range)
	case err == nil && !info.IsDir():
		return tfdiags.Errorf("No directory of a root module",
			"The path %s of the root module %q is not a directory.", r.Dir, r.Name).At(r.Declared.Range)
	case err != nil:
		return tfdiags.Errorf("Missing directory of a root module",
			"The directory %s of the root module %q doesn't exist. Paths are relative to the directory of %s.",
			r.Dir, r.Name, rootsfile.FileName).At(r.Declared.Range)
	}
	entries, err := List(r.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() && configs.IsConfigFile(e.Name()) {
			return nil
		}
	}
	return tfdiags.Errorf("No configuration in the directory of a root module",
		"The directory %s of the root module %q has no configuration files.", r.Dir, r.Name).At(r.Declared.Range)
}

// checkVariables returns an error for each variable that the root module's own block sets but the
// root module doesn't declare.
func (r *Root) checkVariables(declared map[string]*configs.Variable) error {
	if r.Declared == nil {
		return nil
	}
	var errs tfdiags.Diagnostics
	for _, v := range r.Declared.Variables {
		if v.Own && declared[v.Name] == nil {
			errs.Add(tfdiags.Errorf("Value for undeclared variable",
				"The root module %q has no variable %q.%s", r.Name, v.Name,
				suggest.DidYouMean(v.Name, slices.Sorted(maps.Keys(declared)))).At(v.Range))
		}
	}
	return errs.Err()
}

// checkBackend returns an error if the root module's own block has backend settings but the root
// module has no backend block.
func (r *Root) checkBackend(m *configs.Module) error {
	if r.Declared == nil || r.Declared.BackendRange.Empty() || len(r.Declared.Backend) == 0 || m.Backend != nil {
		return nil
	}
	return tfdiags.Errorf("Settings without a backend block",
		"The root module %q has no backend block that these settings could complete. Add one to a file in %s: "+
			"terraform { backend \"TYPE\" {} }.", r.Name, r.Dir).At(r.Declared.BackendRange)
}

// resolve finds the root modules that the files refer to, and adds these references to Reads.
func (e *Estate) resolve() error {
	var errs tfdiags.Diagnostics
	for _, r := range e.Roots {
		if r.Declared == nil {
			continue
		}
		for _, v := range r.Declared.Variables {
			for _, ref := range v.Refs {
				read := Read{Kind: Variable, User: "var." + v.Name, Range: ref.Range, Outputs: Outputs{All: true}}
				if ref.Output != "" {
					read.Outputs = Outputs{Names: []string{ref.Output}}
				}
				errs = errs.AppendError(e.refer(r, read, ref.Root))
			}
		}
		for _, ref := range r.Declared.After {
			errs = errs.AppendError(e.refer(r, Read{Kind: After, Range: ref.Range}, ref.Root))
		}
	}
	return errs.Err()
}

// refer adds a reference from r to the root module with the given name.
func (e *Estate) refer(r *Root, read Read, name string) error {
	read.Root = e.byName[name]
	target := read.Root
	switch {
	case target == nil:
		return tfdiags.Errorf("Unknown root module", "There is no root module %q.%s", name,
			e.didYouMean(name)).At(read.Range)
	case target == r:
		return tfdiags.Errorf("A root module refers to itself",
			"The root module %q can't wait for itself or use its own outputs.", name).At(read.Range)
	}
	for _, output := range read.Outputs.Names {
		if target.Err == nil && !slices.Contains(target.Outputs, output) {
			return tfdiags.Errorf("Unknown output", "The root module %q has no output %q.%s", name, output,
				suggest.DidYouMean(output, target.Outputs)).At(read.Range)
		}
	}
	r.Reads = append(r.Reads, read)
	return nil
}

// didYouMean suggests a root module with a similar name, or with the same last path element.
func (e *Estate) didYouMean(name string) string {
	names := e.Names()
	if text := suggest.DidYouMean(name, names); text != "" {
		return text
	}
	last := name[strings.LastIndex(name, "/")+1:]
	for _, other := range names {
		if other[strings.LastIndex(other, "/")+1:] == last {
			return fmt.Sprintf(" Did you mean %q?", other)
		}
	}
	return " To list the names, run: tofu roots list"
}

// twoNames returns the error about two root modules that have the same name.
func twoNames(a, b *Root) tfdiags.Diagnostic {
	d := tfdiags.Errorf("Two root modules with one name",
		"The root modules in %s and %s are both called %q. Rename one of them in %s.", a.Dir, b.Dir, a.Name,
		rootsfile.FileName)
	return declaredAt(d, b, a)
}

// declaredAt sets the position of a diagnostic to the first block that declares one of the root
// modules.
func declaredAt(d tfdiags.Diagnostic, list ...*Root) tfdiags.Diagnostic {
	for _, r := range list {
		if r.IsDeclared() {
			return d.At(r.Declared.Range)
		}
	}
	return d
}
