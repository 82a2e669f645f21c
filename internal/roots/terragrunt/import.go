package terragrunt

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend/all"
	"tofu/internal/configs"
	"tofu/internal/configs/blocks"
	"tofu/internal/tfdiags"
)

// Result is the outcome of an import.
type Result struct {
	Text    []byte   // the roots.tofu.hcl
	Roots   int      // how many root modules it declares
	LeftOut []string // what has no counterpart, by unit
}

// Import reads the terragrunt.hcl files below a directory. getenv returns environment variables.
func Import(dir string, getenv func(string) string) (*Result, error) {
	top, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	im := &importer{top: top, parser: configs.NewParser(nil), result: &Result{}, uses: make(map[string]int)}
	units, err := im.find(getenv)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		im.read(u)
	}
	var text strings.Builder
	text.WriteString("# Written by \"tofu roots import-terragrunt\". Paths are relative to this file.\n")
	for _, r := range im.roots {
		text.WriteString(im.block(r))
	}
	inEstate := regexp.MustCompile(regexp.QuoteMeta(slash(top)) + "([/\"])")
	im.result.Text = hclwrite.Format([]byte(inEstate.ReplaceAllString(text.String(), "$${path.root}$1")))
	im.result.Roots = len(im.roots)
	slices.Sort(im.result.LeftOut)
	im.result.LeftOut = slices.Compact(im.result.LeftOut)
	return im.result, nil
}

// importer is one import.
type importer struct {
	top    string
	parser *configs.Parser
	result *Result
	roots  []*root
	units  map[string]string // names by directory
	uses   map[string]int    // how many root modules have a directory
}

// root is a root module to declare.
type root struct {
	name, dir string
	files     []string
	backend   map[string]string
	variables string // expression; "" for none
	after     []string
}

// find returns the units: directories with a terragrunt.hcl that isn't only included by others.
func (im *importer) find(getenv func(string) string) ([]*unit, error) {
	im.units = make(map[string]string)
	var units []*unit
	err := filepath.WalkDir(im.top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != im.top && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(d.Name(), ".stack.hcl"):
			im.leave(im.name(filepath.Dir(path)), "the file %s of a stack: run \"terragrunt stack generate\" first",
				d.Name())
		case !d.IsDir() && d.Name() == fileName:
			u := &unit{dir: filepath.Dir(path), getenv: getenv}
			im.units[u.dir] = im.name(u.dir)
			units = append(units, u)
		}
		return nil
	})
	if err == nil && len(units) == 0 {
		err = tfdiags.Errorf("Nothing to import", "There is no terragrunt.hcl in or below %s.", im.top)
	}
	return units, err
}

// name returns the name of the root module of a unit.
func (im *importer) name(dir string) string {
	rel, err := relative(im.top, dir)
	if err != nil {
		return dir
	}
	return rel
}

// leave records that something in a unit has no counterpart.
func (im *importer) leave(unit, what string, args ...any) {
	im.result.LeftOut = append(im.result.LeftOut, unit+": "+fmt.Sprintf(what, args...))
}

// kept lists blocks and arguments that are imported, or not needed.
var kept = []string{"include", "locals", "dependency", "dependencies", "inputs", "remote_state", "terraform",
	"generate", "terragrunt_version_constraint", "terraform_version_constraint", "terraform_binary"}

// read reads a unit and adds its root module.
func (im *importer) read(u *unit) {
	name := im.units[u.dir]
	own, err := u.read(filepath.Join(u.dir, fileName), 0)
	if err != nil {
		im.leave(name, "the whole unit: %s", im.oneLine(err))
		delete(im.units, u.dir)
		return
	}
	r := &root{name: name, dir: u.dir, backend: make(map[string]string)}
	layers := own.layers()
	source := ""
	for _, c := range layers { // the unit's own file is the last one
		for _, b := range c.blocks("terraform") {
			if text, err := c.text(b.Body, "source"); err != nil {
				im.leave(name, "the source: %s", im.oneLine(err))
			} else if text != "" {
				source = text
			}
			im.terraform(r, c, b)
		}
	}
	if !im.place(r, source) {
		return
	}
	names := im.dependencies(r, layers)
	im.state(r, layers)
	im.inputs(r, own, names)
	im.others(r, layers)
	im.uses[r.dir]++
	im.roots = append(im.roots, r)
}

// layers returns the included files whose content is merged, and the unit's own file.
func (c *config) layers() []*config {
	var out []*config
	for _, in := range c.includes {
		if in.merge {
			out = append(out, in.config.layers()...)
		}
	}
	return append(out, c)
}

// place finds the directory of the root module. It returns false if there is none.
func (im *importer) place(r *root, source string) bool {
	switch {
	case source == "" && im.parser.IsModuleDir(r.dir):
		return true
	case source == "":
		return false // a file that others include
	case !filepath.IsAbs(source) && !strings.HasPrefix(source, "."):
		im.leave(r.name, "the whole unit: its source %q is remote. Write a root module that calls it, and declare that",
			source)
		return false
	}
	source = strings.ReplaceAll(source, "//", "/")
	if !filepath.IsAbs(source) {
		source = filepath.Join(r.dir, filepath.FromSlash(source))
	}
	r.dir = filepath.Clean(source)
	if !im.parser.IsModuleDir(r.dir) {
		im.leave(r.name, "the whole unit: its source %s has no configuration", r.dir)
		return false
	}
	return true
}

// terraform imports the variable files of a terraform block.
func (im *importer) terraform(r *root, c *config, block *hclsyntax.Block) {
	for _, b := range block.Body.Blocks {
		if b.Type != "extra_arguments" {
			im.leave(r.name, "the block %s: no programs run before or after", b.Type)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(b.Body.Attributes)) {
			attr := b.Body.Attributes[name]
			optional := name == "optional_var_files"
			if name == "commands" {
				continue
			}
			if !optional && name != "required_var_files" {
				im.leave(r.name, "%s of extra_arguments: set options and variables in the environment instead", name)
				continue
			}
			v, err := c.value(attr.Expr)
			if err != nil || !v.CanIterateElements() {
				im.leave(r.name, "%s of extra_arguments, which is not known", name)
				continue
			}
			for it := v.ElementIterator(); it.Next(); {
				_, file := it.Element()
				path := c.absolute(file.AsString())
				_, err := os.Stat(path)
				if err == nil || !optional {
					r.files = append(r.files, path)
				}
			}
		}
	}
}

// dependencies returns the names of root modules by the names of dependency blocks, and adds those
// that only come before.
func (im *importer) dependencies(r *root, layers []*config) map[string]string {
	names := make(map[string]string)
	for _, c := range layers {
		for _, b := range c.blocks("dependency") {
			path, err := c.text(b.Body, "config_path")
			target := im.units[filepath.Join(c.unit.dir, filepath.FromSlash(path))]
			if filepath.IsAbs(path) {
				target = im.units[filepath.Clean(path)]
			}
			switch {
			case len(b.Labels) != 1:
			case err != nil:
				im.leave(r.name, "the dependency %q: %s", b.Labels[0], im.oneLine(err))
			case target == "":
				im.leave(r.name, "the dependency %q: %s is no unit below the directory", b.Labels[0], path)
			default:
				names[b.Labels[0]] = target
			}
		}
		for _, b := range c.blocks("dependencies") {
			im.after(r, c, b)
		}
	}
	return names
}

func (im *importer) after(r *root, c *config, block *hclsyntax.Block) {
	attr := block.Body.Attributes["paths"]
	if attr == nil {
		return
	}
	v, err := c.value(attr.Expr)
	if err != nil || !v.CanIterateElements() {
		im.leave(r.name, "the paths of dependencies, which are not known")
		return
	}
	for it := v.ElementIterator(); it.Next(); {
		_, path := it.Element()
		target := filepath.FromSlash(path.AsString())
		if !filepath.IsAbs(target) {
			target = filepath.Join(c.unit.dir, target)
		}
		if name := im.units[filepath.Clean(target)]; name != "" {
			r.after = append(r.after, name)
			continue
		}
		im.leave(r.name, "the dependency %s, which is no unit below the directory", path.AsString())
	}
}

// state imports the settings of remote_state, of which the last one counts.
func (im *importer) state(r *root, layers []*config) {
	var block *hclsyntax.Block
	var of *config
	for _, c := range layers {
		for _, b := range c.blocks("remote_state") {
			block, of = b, c
		}
	}
	if block == nil {
		return
	}
	typ, err := of.text(block.Body, "backend")
	if err != nil || block.Body.Attributes["config"] == nil {
		im.leave(r.name, "remote_state: its backend or config is not known")
		return
	}
	driver, driverErr := all.Driver(typ)
	settings, err := of.value(block.Body.Attributes["config"].Expr)
	if err != nil || driverErr != nil || !settings.CanIterateElements() {
		im.leave(r.name, "remote_state: %s", im.oneLine(tfdiags.Join(err, driverErr)))
		return
	}
	schema := blocks.Schema(driver.Config())
	for it := settings.ElementIterator(); it.Next(); {
		key, v := it.Element()
		switch name := key.AsString(); {
		case schema.Attributes[name] == nil:
			im.leave(r.name, "%s of remote_state, which is no setting of the backend %q", name, typ)
		case v.IsNull():
		case v.Type().IsPrimitiveType():
			r.backend[name] = primitive(v)
		default:
			r.backend[name] = literal(v)
		}
	}
	cfg, err := configs.LoadRootModule(r.dir, &configs.LoadOptions{Parser: im.parser}, tfdiags.Drop)
	if err == nil && cfg.Module.Backend == nil {
		im.leave(im.name(r.dir), "its backend block was generated: add terraform { backend %q {} } to the module", typ)
	}
}

func primitive(v cty.Value) string {
	if v.Type() == cty.String {
		return v.AsString()
	}
	return literal(v)
}

// others records what else the files have.
func (im *importer) others(r *root, layers []*config) {
	for _, c := range layers {
		for _, b := range c.blocks("generate") {
			path, err := c.text(b.Body, "path")
			if err != nil {
				path = "a file"
			}
			im.leave(im.name(r.dir), "%s was generated: add the file to the module, with variables for what differs", path)
		}
		for _, b := range c.body.Blocks {
			if !slices.Contains(kept, b.Type) {
				im.leave(r.name, "the block %s", b.Type)
			}
		}
		for name := range c.body.Attributes {
			if !slices.Contains(kept, name) {
				im.leave(r.name, "the argument %s", name)
			}
		}
	}
}

// block returns the text of a root block.
func (im *importer) block(r *root) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nroot %q {\n", r.name)
	if rel, err := relative(im.top, r.dir); err == nil && rel != r.name {
		fmt.Fprintf(&b, "path = %s\n", quoted(rel))
	}
	if len(r.backend) == 0 && im.uses[r.dir] > 1 { // states of their own
		fmt.Fprintf(&b, "workspace = %s\n", quoted(strings.ReplaceAll(r.name, "/", "_")))
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
	if len(r.after) > 0 {
		list := make([]string, len(r.after))
		for i, name := range r.after {
			list[i] = fmt.Sprintf("root[%q]", name)
		}
		fmt.Fprintf(&b, "after = [%s]\n", strings.Join(list, ", "))
	}
	b.WriteString("}\n")
	return b.String()
}

func quoted(text string) string { return literal(cty.StringVal(text)) }

// oneLine returns an error as a part of a line, with paths relative to the estate.
func (im *importer) oneLine(err error) string {
	if err == nil {
		return "it is not known"
	}
	d := tfdiags.FromError(err)[0]
	text := strings.TrimSuffix(strings.Join(strings.Fields(d.Detail), " "), ".")
	if text == "" {
		text = d.Summary
	}
	if d.Subject != nil {
		text += " (" + tfdiags.Place(*d.Subject) + ")"
	}
	return strings.ReplaceAll(text, im.top+string(filepath.Separator), "")
}
