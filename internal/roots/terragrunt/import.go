package terragrunt

import (
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/getmodules"
	"tofu/internal/memo"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// Options are the settings of an import.
type Options struct {
	// Getenv returns the value of an environment variable, or "" if it is not set.
	Getenv func(string) string
	// Fetch copies the package of a remote source to this machine and returns the module's
	// directory in it. version is used for sources in registries. If Fetch is nil, units with
	// remote sources are left out.
	Fetch func(source, version string) (dir string, err error)
	// Generate says that the caller writes the files of the result. Without it, the variables that
	// these files declare are not set, because they would be errors.
	Generate bool
}

// Result is the outcome of an import.
type Result struct {
	Text    []byte   // content of the roots.tofu.hcl
	Roots   int      // number of root modules in it
	LeftOut []string // what could not be imported, as "FILE:LINE: TEXT" or "UNIT: TEXT"
	Summary []string // like LeftOut, with one entry for all that differ only in names and places
	// Files are the files that Terragrunt generates each time it runs, and that must become part of
	// the modules, sorted by path. None of them exists yet.
	Files []File
	Mocks int // number of mock outputs, which are not needed
}

// File is a file that the caller should write.
type File struct {
	Path string // absolute path
	Data []byte
}

// Import reads the terragrunt.hcl and terragrunt.stack.hcl files below a directory.
func Import(dir string, opts *Options) (*Result, error) {
	top, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	im := &importer{top: top, opts: opts, parser: configs.NewParser(nil), result: &Result{},
		noted: make(map[noteKey]*note), units: make(map[string]string), uses: make(map[string]int),
		names: make(map[string]bool), placed: make(map[string]*root), leftUnits: make(map[string]bool), generated: make(map[string]string),
		workspaces: make(map[placed]int)}
	units, err := im.find()
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		im.read(u)
	}
	for _, r := range im.roots { // now it is known which units others can refer to
		im.workspaces[placed{r.dir, workspaceName(r.name)}]++
		im.content(r)
	}
	im.generate()
	var text strings.Builder
	text.WriteString("# Written by \"tofu roots import-terragrunt\". Paths are relative to this file.\n\n" +
		"# Only the directories below are root modules.\nexclude = [\"**\"]\n")
	for _, r := range im.roots {
		im.inputs(r)
		im.order(r)
		text.WriteString(im.block(r))
	}
	im.result.Text = hclwrite.Format([]byte(im.withoutAbsolute(text.String())))
	im.result.Roots = len(im.roots)
	if n := len(im.locks); n > 0 {
		im.leave(im.locks[0], hcl.Range{}, "lock files of units (%d): \"tofu roots init\" writes one in each module", n)
	}
	im.result.LeftOut, im.result.Summary = im.leftOut()
	return im.result, nil
}

// withoutAbsolute makes the absolute paths in the text of a roots.tofu.hcl relative to path.root.
// Paths in a directory that a stack generates become paths in the directory from which the stack
// copies it.
func (im *importer) withoutAbsolute(text string) string {
	path := func(dir string) *regexp.Regexp { return regexp.MustCompile(regexp.QuoteMeta(slash(dir)) + "([/\"])") }
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(im.generated))) {
		if strings.Contains(text, slash(dir)) {
			text = path(dir).ReplaceAllString(text, strings.ReplaceAll(slash(im.generated[dir]), "$", "$$")+"$1")
		}
	}
	text = path(im.top).ReplaceAllString(text, "$${path.root}$1")
	if top, err := repository(im.top); err == nil && top != slash(im.top) {
		if up, err := relative(im.top, filepath.FromSlash(top)); err == nil {
			text = path(top).ReplaceAllString(text, "$${path.root}/"+up+"$1")
		}
	}
	return text
}

// importer is the state of one import.
type importer struct {
	top        string
	opts       *Options
	parser     *configs.Parser
	result     *Result
	notes      []*note
	noted      map[noteKey]*note
	roots      []*root
	units      map[string]string // names of root modules by unit directory
	uses       map[string]int    // number of root modules per module directory
	names      map[string]bool   // names of root modules
	workspaces map[placed]int    // number of root modules that would have a workspace
	placed     map[string]*root  // root modules by unit directory
	leftUnits  map[string]bool   // directories of units that are left out
	generated  map[string]string // source directories of generated directories, by generated directory
	locks      []string          // lock files found in units
	files      files
	modules    memo.Map[string, *configs.Config]
}

// root is a root module that the roots.tofu.hcl will declare.
type root struct {
	name, dir string
	unit      *unit
	layers    []*config
	needs     map[string]*root // by dependency block
	ordered   []string         // root modules that must be applied first, but whose outputs aren't used

	files     []string
	backend   map[string]string
	wants     []*wanted         // files that Terragrunt generates
	extra     map[string]string // expressions for variables that generated files declare
	variables string            // expression for the "variables" argument; "" if there are no inputs
}

// skipped are the names of directories that have no units, although they may have unit files.
var skipped = []string{".git", ".terraform", ".terragrunt-cache", stackDir}

// find returns the units: directories with a terragrunt.hcl, and directories that stacks generate.
// It leaves out directories that stacks copy, and copies of packages.
func (im *importer) find() ([]*unit, error) {
	var dirs, stacks []string
	err := filepath.WalkDir(im.top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != im.top && (slices.Contains(skipped, d.Name()) || getmodules.HasCopies(path)):
			return fs.SkipDir
		case d.IsDir():
		case d.Name() == fileName+".json":
			dir := filepath.Dir(path)
			im.leave(im.relative(dir), hcl.Range{}, "the whole unit: its file is %s, and only the native syntax can be read",
				fileName+".json")
		case d.Name() == stackName:
			stacks = append(stacks, filepath.Dir(path))
		case d.Name() == fileName:
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(dirs)+len(stacks) == 0 {
		return nil, tfdiags.Errorf("Nothing to import",
			"There is no %s or %s in or below %s.", fileName, stackName, im.top)
	}
	copied := im.copiedByStacks(stacks)
	var units []*unit
	for _, dir := range stacks {
		if !copied[dir] {
			units = append(units, im.stack(im.unit(dir, dir), 0)...)
		}
	}
	for _, dir := range dirs {
		if !copied[dir] && im.units[dir] == "" {
			im.units[dir] = im.name(dir)
			units = append(units, im.unit(dir, dir))
		}
	}
	slices.SortStableFunc(units, func(a, b *unit) int { return strings.Compare(im.units[a.dir], im.units[b.dir]) })
	return units, nil
}

// unit returns a unit that has not been read yet.
func (im *importer) unit(dir, source string) *unit {
	return &unit{dir: dir, source: source, getenv: im.opts.Getenv, files: &im.files}
}

// name returns the name of a unit's root module. It is the unit's path without the names of the
// directories in which stacks generate units.
func (im *importer) name(dir string) string {
	parts := strings.Split(im.relative(dir), "/")
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == stackDir || p == ".." }), "/")
}

// kept lists the blocks and arguments that are imported or not needed.
var kept = []string{"include", "locals", "dependency", "dependencies", "inputs", "remote_state", "terraform",
	"generate", "feature", "catalog", "terragrunt_version_constraint", "terraform_version_constraint",
	"terraform_binary", "download_dir"}

// read reads a unit and adds its root module.
func (im *importer) read(u *unit) {
	name := im.units[u.dir]
	own, err := u.read(filepath.Join(u.dir, fileName))
	if err != nil {
		im.leave(name, hcl.Range{}, "the whole unit: %s", im.reason(err, hcl.Range{}))
		im.leftUnits[u.dir] = true
		return
	}
	why := ""
	switch {
	case im.names[name]:
		why = "another one has the same name"
	case rootsfile.CheckName(name) != nil:
		why = "its path has characters that the name of a root module can't have"
	}
	if why != "" {
		im.leave(name, hcl.Range{}, "the whole unit in %s: %s", im.relative(u.dir), why)
		im.leftUnits[u.dir] = true
		return
	}
	r := &root{name: name, dir: u.dir, unit: u, layers: own.layers(), backend: make(map[string]string),
		extra: make(map[string]string)}
	if !im.place(r) {
		im.leftUnits[u.dir] = true
		return
	}
	im.names[name] = true
	im.uses[r.dir]++
	im.placed[u.dir] = r
	im.roots = append(im.roots, r)
}

// content imports the content of a unit, apart from its inputs.
func (im *importer) content(r *root) {
	for _, l := range r.unit.undefined {
		im.leave(r.name, l.at, "the local value %q: %s", l.name, im.reason(l.err, l.at))
	}
	im.terraform(r)
	im.dependencies(r)
	im.state(r)
	im.wanted(r)
	im.others(r)
}

// layers returns the included files whose content is merged, c itself and, for the unit's own file,
// the configuration that a stack adds. Later files override earlier ones.
func (c *config) layers() []*config {
	var out []*config
	for _, in := range c.includes {
		if in.merge {
			out = append(out, in.config.layers()...)
		}
	}
	out = append(out, c)
	if c == c.unit.own && c.unit.auto != nil {
		out = append(out, c.unit.auto)
	}
	return out
}

// terraform imports the variable files that terraform blocks pass to commands.
func (im *importer) terraform(r *root) {
	for _, c := range r.layers {
		for _, block := range c.blocks("terraform") {
			for _, b := range block.Body.Blocks {
				if b.Type == "extra_arguments" {
					im.arguments(r, c, b)
					continue
				}
				im.leave(r.name, b.DefRange(), "the block %s: no programs run before or after", b.Type)
			}
		}
	}
}

// withoutValue returns a command line argument, without the value in -var=NAME=VALUE or NAME=VALUE,
// because it may be a secret.
func withoutValue(arg string) string {
	option, pair := "", arg
	if strings.HasPrefix(arg, "-") {
		option, pair, _ = strings.Cut(arg, "=")
		option += "="
	}
	if name, _, ok := strings.Cut(pair, "="); ok {
		return option + name
	}
	return arg
}

// varFileOption is the prefix of the command line option that names a variable file.
const varFileOption = "-var-file="

// arguments imports an extra_arguments block.
func (im *importer) arguments(r *root, c *config, b *hclsyntax.Block) {
	for _, name := range slices.Sorted(maps.Keys(b.Body.Attributes)) {
		attr := b.Body.Attributes[name]
		if name == "commands" {
			continue
		}
		list, err := c.texts(attr.Expr)
		if err != nil || name == "env_vars" {
			im.leave(r.name, attr.SrcRange, "%s of extra_arguments: set what you need in the environment", name)
			continue
		}
		for _, text := range list {
			file, isFile := strings.CutPrefix(text, varFileOption)
			if name == "arguments" && !isFile {
				im.leave(r.name, attr.SrcRange, "the argument %s: use options or TF_CLI_ARGS instead", withoutValue(text))
				continue
			}
			path := c.unit.real(c.absolute(file))
			_, err := os.Stat(path)
			if err == nil || name != "optional_var_files" {
				r.files = append(r.files, path)
			}
		}
	}
}

// texts evaluates an expression that must be a list of strings.
func (c *config) texts(expr hcl.Expression) ([]string, error) {
	v, err := c.value(expr)
	if err != nil {
		return nil, err
	}
	if v.IsNull() || !v.CanIterateElements() {
		return nil, tfdiags.Errorf("Invalid value", "This must be a list of strings.").At(expr.Range())
	}
	var out []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() || e.Type() != cty.String {
			return nil, tfdiags.Errorf("Invalid value", "This must be a list of strings.").At(expr.Range())
		}
		out = append(out, e.AsString())
	}
	return out, nil
}

// others handles what no other method imports. It records blocks and arguments without a
// counterpart as left out, imports configuration files in the directory of the unit's file, and
// records a lock file there.
func (im *importer) others(r *root) {
	for _, c := range r.layers {
		for _, b := range c.body.Blocks {
			if !slices.Contains(kept, b.Type) {
				im.leave(r.name, b.DefRange(), "the block %s%s", b.Type, because[b.Type])
			}
		}
		for name, attr := range c.body.Attributes {
			if !slices.Contains(kept, name) {
				im.leave(r.name, attr.SrcRange, "the argument %s%s", name, because[name])
			}
		}
	}
	if r.unit.source == r.dir {
		return
	}
	entries, _ := os.ReadDir(r.unit.source)
	for _, e := range entries {
		switch name := e.Name(); {
		case configs.IsConfigFile(name):
			im.beside(r, name)
		case name == depsfile.FileName:
			im.locks = append(im.locks, im.relative(filepath.Join(r.unit.source, name)))
		}
	}
}

// beside imports a configuration file in the directory of the unit's file. Terragrunt copies such a
// file into the module each time it runs. A note asks the user to remove the file.
func (im *importer) beside(r *root, name string) {
	path := filepath.Join(r.unit.source, name)
	text, err := os.ReadFile(path)
	if err != nil {
		im.leave(r.name, hcl.Range{}, "the file %s: %s", name, err)
		return
	}
	where := hcl.Range{Filename: path, Start: hcl.InitialPos}
	r.wants = append(r.wants, &wanted{path: name, at: where, segments: []segment{{text: string(text)}}})
	im.leave(r.name, where, "the file is copied into the module in each run: remove it here when %s has it",
		im.relative(r.dir))
}

// because maps blocks and arguments without a counterpart to advice on what to do instead.
var because = map[string]string{
	"exclude":                      ": select root modules with -only, -skip and -tag",
	"skip":                         ": select root modules with -only, -skip and -tag",
	"errors":                       ": nothing is repeated or ignored",
	"retryable_errors":             ": nothing is repeated or ignored",
	"prevent_destroy":              ": use prevent_destroy of resources",
	"iam_role":                     ": use assume_role of the provider and the backend",
	"iam_assume_role_duration":     ": use assume_role of the provider and the backend",
	"iam_web_identity_token":       ": use assume_role_with_web_identity of the provider and the backend",
	"iam_assume_role_session_name": ": use assume_role of the provider and the backend",
}

// module returns the configuration in a directory, or nil if it can't be loaded.
func (im *importer) module(dir string) *configs.Config {
	cfg, _ := im.modules.Do(dir, func() (*configs.Config, error) {
		cfg, err := configs.LoadRootModule(dir, &configs.LoadOptions{Parser: im.parser}, tfdiags.Drop)
		if err != nil {
			return nil, nil
		}
		return cfg, nil
	})
	return cfg
}

// block returns the text of the root block for a root module.
func (im *importer) block(r *root) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nroot %q {\n", r.name)
	if rel := im.relative(r.dir); rel != r.name {
		fmt.Fprintf(&b, "path = %s\n", quoted(rel))
	}
	if len(r.backend) == 0 && im.uses[r.dir] > 1 { // root modules that share a directory need separate states
		fmt.Fprintf(&b, "workspace = %s\n", quoted(im.workspace(r)))
	}
	if len(r.files) > 0 {
		list := make([]string, len(r.files))
		for i, f := range r.files {
			rel, err := relative(r.dir, f)
			if err != nil {
				rel = f
			}
			list[i] = quoted(rel)
		}
		fmt.Fprintf(&b, "var_files = [%s]\n", strings.Join(list, ", "))
	}
	if len(r.backend) > 0 {
		b.WriteString("backend = {\n")
		for _, name := range slices.Sorted(maps.Keys(r.backend)) {
			fmt.Fprintf(&b, "%s = %s\n", name, quoted(r.backend[name]))
		}
		b.WriteString("}\n")
	}
	if r.variables != "" {
		fmt.Fprintf(&b, "variables = %s\n", r.variables)
	}
	if len(r.ordered) > 0 {
		list := make([]string, len(r.ordered))
		for i, name := range r.ordered {
			list[i] = fmt.Sprintf("root[%q]", name)
		}
		fmt.Fprintf(&b, "after = [%s]\n", strings.Join(list, ", "))
	}
	b.WriteString("}\n")
	return b.String()
}

// workspace returns the name of the workspace for a root module. If several in one directory would
// have the same, as a/b and a_b would, each name ends with a checksum.
func (im *importer) workspace(r *root) string {
	found := workspaceName(r.name)
	if im.workspaces[placed{r.dir, found}] > 1 {
		return fmt.Sprintf("%s_%08x", found, crc32.ChecksumIEEE([]byte(r.name)))
	}
	return found
}

// placed is a workspace of the module in a directory.
type placed struct{ dir, workspace string }

// workspaceName replaces what a workspace must not have in its name.
func workspaceName(name string) string {
	return strings.Map(func(c rune) rune {
		if session.ValidWorkspaceName(string(c)) {
			return c
		}
		return '_'
	}, name)
}

func quoted(text string) string { return literal(cty.StringVal(text)) }

// at returns the range of an argument in a block, or the range of the block if the argument is
// absent.
func at(b *hclsyntax.Block, name string) hcl.Range {
	if attr := b.Body.Attributes[name]; attr != nil {
		return attr.SrcRange
	}
	return b.DefRange()
}
