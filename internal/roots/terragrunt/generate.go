package terragrunt

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// wanted is a file that Terragrunt generates for a unit each time it runs.
type wanted struct {
	path     string // relative to the directory of the module
	at       hcl.Range
	segments []segment
	keeps    bool // whether an existing file is kept
}

// segment is a part of a file's content: fixed text, or the value of an expression in a template.
type segment struct {
	text  string
	value bool
	name  string    // suggested name for a variable that holds the value
	typed cty.Value // value before its conversion to text
	expr  string    // expression for roots.tofu.hcl, if the value has outputs; then text and typed are not set
}

// hasOutputs reports whether the content has outputs of other units.
func (w *wanted) hasOutputs() bool {
	return slices.ContainsFunc(w.segments, func(s segment) bool { return s.expr != "" })
}

func (w *wanted) text() string {
	var b strings.Builder
	for _, s := range w.segments {
		b.WriteString(s.text)
	}
	return b.String()
}

// wanted finds the files that Terragrunt generates for a unit.
func (im *importer) wanted(r *root) {
	found := make(map[string]*wanted) // by label; nil if the file is disabled or left out
	for _, c := range r.layers {
		for _, b := range c.blocks("generate") {
			if len(b.Labels) == 1 {
				found[b.Labels[0]] = im.generateBlock(r, c, b)
			}
		}
		attr := c.body.Attributes["generate"]
		if attr == nil {
			continue
		}
		v, err := c.marked(attr.Expr)
		if err != nil {
			if list := asBlocks(attr); list != nil {
				for _, b := range list {
					found[b.Labels[0]] = im.generateBlock(r, c, b)
				}
				continue
			}
		}
		if err == nil && v.IsMarked() {
			err = public(v, attr.SrcRange)
		}
		if err != nil || !isObject(v) {
			im.leave(r.name, attr.SrcRange, "generate: %s", im.reason(err, attr.SrcRange))
			continue
		}
		for label, one := range v.AsValueMap() {
			found[label] = im.fromValue(r, one, attr.SrcRange)
		}
	}
	for _, label := range slices.Sorted(maps.Keys(found)) {
		w := found[label]
		if w == nil {
			continue
		}
		if why := notGenerated(w.path); why != "" {
			im.leave(r.name, w.at, "the file %s, which Terragrunt generates: %s", w.path, why)
			continue
		}
		if typ, settings, ok := backendIn(w.text()); ok && !w.hasOutputs() {
			if err := im.backend(r, w.at, typ, w.path, settings); err != nil {
				im.leave(r.name, w.at, "the backend: %s", im.reason(err, w.at))
			}
			continue
		}
		r.wants = append(r.wants, w)
	}
}

// notGenerated says why a file doesn't become part of a module, or returns "". A tree of Terragrunt
// files may come from others, and other files than configuration, such as hooks of git, would run
// programs.
func notGenerated(path string) string {
	path = slash(filepath.Clean(filepath.FromSlash(path)))
	name := strings.TrimSuffix(path, ".json")
	switch {
	case !filepath.IsLocal(filepath.FromSlash(path)):
		return "it is not in the directory of the module"
	case strings.HasPrefix(path, ".") || strings.Contains(path, "/."):
		return "its name or a directory in its path begins with a dot"
	case !configs.IsConfigFile(path) && !strings.HasSuffix(name, ".tfvars"):
		return "only *.tf, *.tofu and *.tfvars files and their JSON variants are written"
	}
	return ""
}

// generateBlock returns the file that a generate block describes. It returns nil if the block is
// disabled or has no content, or if one of its arguments is not constant.
func (im *importer) generateBlock(r *root, c *config, b *hclsyntax.Block) *wanted {
	w := &wanted{at: b.DefRange()}
	for _, name := range []string{"path", "if_exists", "disable"} {
		attr := b.Body.Attributes[name]
		if attr == nil {
			continue
		}
		v, err := c.value(attr.Expr)
		text, _ := stringOf(v)
		switch {
		case err != nil:
			im.leave(r.name, attr.SrcRange, "%s of generate %q: %s", name, b.Labels[0], im.reason(err, attr.SrcRange))
			return nil
		case name == "path":
			w.path = text
		case name == "if_exists":
			w.keeps = text == "skip"
		case v.RawEquals(cty.True):
			return nil
		}
	}
	contents := b.Body.Attributes["contents"]
	if contents == nil {
		return nil
	}
	var err error
	if w.segments, err = im.segments(c, contents.Expr, r.needs); err != nil {
		im.leave(r.name, contents.SrcRange, "the file %s, which Terragrunt generates: %s", w.path,
			im.reason(err, contents.SrcRange))
		return nil
	}
	return w
}

// asBlocks returns the generate blocks with the content of a generate argument, or nil if its value
// is not written as an object of objects.
func asBlocks(attr *hclsyntax.Attribute) (out []*hclsyntax.Block) {
	object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return nil
	}
	for _, item := range object.Items {
		label, diags := item.KeyExpr.Value(nil)
		name, isText := stringOf(label)
		one, isObject := item.ValueExpr.(*hclsyntax.ObjectConsExpr)
		if diags.HasErrors() || !isText || !isObject {
			return nil
		}
		b := &hclsyntax.Block{Type: "generate", Labels: []string{name}, TypeRange: item.KeyExpr.Range(),
			OpenBraceRange: item.KeyExpr.Range(), Body: &hclsyntax.Body{Attributes: make(hclsyntax.Attributes)}}
		for _, arg := range one.Items {
			key, diags := arg.KeyExpr.Value(nil)
			name, isText := stringOf(key)
			if diags.HasErrors() || !isText {
				return nil
			}
			b.Body.Attributes[name] = &hclsyntax.Attribute{Name: name, Expr: arg.ValueExpr, NameRange: arg.KeyExpr.Range(),
				SrcRange: hcl.RangeBetween(arg.KeyExpr.Range(), arg.ValueExpr.Range())}
		}
		out = append(out, b)
	}
	return out
}

// fromValue returns the file that the value of a generate argument describes. It returns nil if the
// value doesn't describe a file, or if the file is disabled.
func (im *importer) fromValue(r *root, v cty.Value, where hcl.Range) *wanted {
	if !isObject(v) {
		return nil
	}
	if err := public(v, where); err != nil {
		im.leave(r.name, where, "a file that Terragrunt generates: %s", im.reason(err, where))
		return nil
	}
	parts := v.AsValueMap()
	path, _ := stringOf(parts["path"])
	contents, ok := stringOf(parts["contents"])
	ifExists, _ := stringOf(parts["if_exists"])
	if !ok || path == "" || parts["disable"] == cty.True {
		return nil
	}
	return &wanted{path: path, at: where, segments: []segment{{text: contents}}, keeps: ifExists == "skip"}
}

// segments evaluates the content of a file and splits it into segments. needs are the root modules
// by dependency block.
func (im *importer) segments(c *config, expr hclsyntax.Expression, needs map[string]*root) ([]segment, error) {
	template, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok {
		v, err := c.written(expr)
		if err != nil {
			return nil, err
		}
		text, ok := stringOf(v)
		if !ok {
			return nil, tfdiags.Errorf("Invalid value", "It must be a string.").At(expr.Range())
		}
		return []segment{{text: text}}, nil
	}
	var out []segment
	for _, part := range template.Parts {
		v, err := c.written(part)
		if err != nil && usesOutputs(part) {
			text, err := im.rewrite(c, part, needs)
			if err != nil {
				return nil, err
			}
			out = append(out, segment{value: true, name: nameOf(part), expr: text})
			continue
		}
		if err != nil {
			return nil, err
		}
		text, err := convert.Convert(v, cty.String)
		if err != nil || text.IsNull() {
			return nil, tfdiags.Errorf("Invalid value", "It must be a string, a number or a bool.").At(part.Range())
		}
		_, isText := part.(*hclsyntax.LiteralValueExpr)
		out = append(out, segment{text: text.AsString(), value: !isText, name: nameOf(part), typed: v})
	}
	return out, nil
}

// usesOutputs reports whether an expression refers to dependency blocks.
func usesOutputs(expr hcl.Expression) bool {
	return slices.ContainsFunc(expr.Variables(), func(tr hcl.Traversal) bool { return tr.RootName() == "dependency" })
}

// nameOf suggests a variable name for the value of an expression: the last name in a reference.
func nameOf(expr hclsyntax.Expression) string {
	name := "generated"
	for _, tr := range expr.Variables() {
		for _, step := range tr {
			if attr, ok := step.(hcl.TraverseAttr); ok {
				name = attr.Name
			}
		}
	}
	return name
}

// generate decides which generated files can become part of the modules. All root modules that
// share a directory must have the same file there. Where the files differ only in values, variables
// replace the values.
func (im *importer) generate() {
	byDir := make(map[string][]*root)
	for _, r := range im.roots {
		byDir[r.dir] = append(byDir[r.dir], r)
	}
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		g := &generation{im: im, dir: dir, roots: byDir[dir], declared: make(map[string]bool)}
		paths := make(map[string]bool)
		for _, r := range g.roots {
			for _, w := range r.wants {
				paths[w.path] = true
			}
		}
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			g.file(path)
		}
	}
}

// generation handles the generated files of one module directory.
type generation struct {
	im       *importer
	dir      string
	roots    []*root
	declared map[string]bool // names of variables that generated files declare
}

// file decides whether the generated file at path can become part of the module, and records the
// result.
func (g *generation) file(path string) {
	var all []*wanted
	for _, r := range g.roots {
		for _, w := range r.wants {
			if w.path == path {
				all = append(all, w)
				break
			}
		}
	}
	leave := func(format string, args ...any) {
		for _, r := range g.roots {
			for _, w := range r.wants {
				if w.path == path {
					why := fmt.Sprintf(format, args...)
					g.im.leave(r.name, w.at, "the file %s, which Terragrunt generates: %s", path, why)
				}
			}
		}
	}
	module := g.im.relative(g.dir)
	if len(all) < len(g.roots) {
		leave("other units with the module %s don't generate it", module)
		return
	}
	t := merge(all)
	switch {
	case t == nil && slices.ContainsFunc(all, (*wanted).hasOutputs):
		leave("it has outputs of other units where no variable can be")
		return
	case t == nil:
		leave("it differs between units that share a module, in more than values that variables can have")
		return
	}
	full := filepath.Join(g.dir, filepath.FromSlash(path))
	text, declared := g.content(t, full)
	before, err := os.ReadFile(full)
	missing := err != nil
	if missing {
		g.im.result.Files = append(g.im.result.Files, File{Path: full, Data: hclwrite.Format([]byte(text))})
	}
	differs := !missing && !sameContent(string(before), text)
	if differs && !all[0].keeps {
		leave("%s has such a file with other content", module)
	}
	if differs || missing && !g.im.opts.Generate {
		for _, name := range declared {
			delete(g.declared, name)
			for _, r := range g.roots {
				delete(r.extra, name)
			}
		}
	}
}

// content returns the content of a file in which variables replace the differing values. At its end,
// the content declares the variables that no other file declares. declared are their names.
func (g *generation) content(t *template, full string) (text string, declared []string) {
	var declarations strings.Builder
	names := make([]string, len(t.varying))
	for i, v := range t.varying {
		var isNew bool
		names[i], isNew = g.variable(v, full)
		if isNew {
			declared = append(declared, names[i])
			fmt.Fprintf(&declarations, "\nvariable %q {\n  type = %s\n}\n", names[i], v.typ)
		}
	}
	return strings.TrimRight(t.insert(names), "\n") + "\n" + declarations.String(), declared
}

// variable returns the name of the variable for a differing value, and sets the variable in all
// root modules. isNew reports whether the file must declare the variable.
func (g *generation) variable(v varying, full string) (name string, isNew bool) {
	taken := make(map[string]bool)
	if cfg := g.im.module(g.dir); cfg != nil {
		for name, declared := range cfg.Module.Variables {
			taken[name] = declared.Range.Filename != full // the file's own variables are replaced
		}
	}
	name = v.name
	for n := 2; taken[name] || g.declared[name] && !g.equal(name, v); n++ {
		name = "generated_" + v.name
		if n > 2 {
			name += "_" + strconv.Itoa(n)
		}
	}
	isNew = !g.declared[name]
	g.declared[name] = true
	for i, r := range g.roots {
		r.extra[name] = v.exprs[i]
	}
	return name, isNew
}

// equal reports whether the variable with the given name already has the values of v in all root
// modules.
func (g *generation) equal(name string, v varying) bool {
	for i, r := range g.roots {
		if r.extra[name] != v.exprs[i] {
			return false
		}
	}
	return true
}
