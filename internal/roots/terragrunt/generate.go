package terragrunt

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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
		if typ, settings, ok := backendIn(w.text()); ok {
			if err := im.backend(r, w.at, typ, w.path, settings); err != nil {
				im.leave(r.name, w.at, "the backend: %s", im.reason(err, w.at))
			}
			continue
		}
		r.wants = append(r.wants, w)
	}
}

// notGenerated says why a file doesn't become part of a module, or returns "". A tree of Terragrunt files
// may come from others, and other files than configuration, such as hooks of git, would run programs.
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
	if w.segments, err = c.segments(contents.Expr); err != nil {
		im.leave(r.name, contents.SrcRange, "the file %s, which Terragrunt generates: %s", w.path,
			im.reason(err, contents.SrcRange))
		return nil
	}
	return w
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

// segments evaluates the content of a file and splits it into segments.
func (c *config) segments(expr hclsyntax.Expression) ([]segment, error) {
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
	if t == nil {
		leave("it differs between units that share a module, in more than values that variables can have")
		return
	}
	full := filepath.Join(g.dir, filepath.FromSlash(path))
	text, names := g.content(t, full)
	switch before, err := os.ReadFile(full); {
	case err != nil:
		g.im.result.Files = append(g.im.result.Files, File{Path: full, Data: hclwrite.Format([]byte(text))})
	case !all[0].keeps && !sameContent(string(before), text):
		leave("%s has such a file with other content", module)
		for _, r := range g.roots {
			maps.DeleteFunc(r.extra, func(name string, _ cty.Value) bool { return slices.Contains(names, name) })
		}
	}
}

// content returns the content of a file in which variables replace the differing values, and the
// names of these variables. At its end, the content declares those that no other file declares.
func (g *generation) content(t *template, full string) (text string, names []string) {
	var declarations strings.Builder
	names = make([]string, len(t.varying))
	for i, v := range t.varying {
		var isNew bool
		names[i], isNew = g.variable(v, full)
		if isNew {
			fmt.Fprintf(&declarations, "\nvariable %q {\n  type = %s\n}\n", names[i], v.values[0].Type().FriendlyName())
		}
	}
	return strings.TrimRight(t.insert(names), "\n") + "\n" + declarations.String(), names
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
		r.extra[name] = v.values[i]
	}
	return name, isNew
}

// equal reports whether the variable with the given name already has the values of v in all root
// modules.
func (g *generation) equal(name string, v varying) bool {
	for i, r := range g.roots {
		if !r.extra[name].RawEquals(v.values[i]) {
			return false
		}
	}
	return true
}

// template is the content that a file has in common for several units. The text has marks in place
// of the values that differ.
type template struct {
	text    string
	varying []varying
}

// varying is a value in a file that differs between units.
type varying struct {
	name   string
	values []cty.Value // one value per unit, all of the same primitive type
}

// mark returns the text that replaces the i-th differing value. It is a valid identifier.
func mark(i int) string { return fmt.Sprintf("terragrunt_value_%d_", i) }

var marks = regexp.MustCompile(`terragrunt_value_(\d+)_`)

// merge returns the common content of the files of several units. It returns nil if variables can't
// replace the differences.
func merge(all []*wanted) *template {
	first := all[0]
	same := func(equal func(w *wanted) bool) bool {
		return !slices.ContainsFunc(all, func(w *wanted) bool { return !equal(w) })
	}
	text := first.text()
	sameText := same(func(w *wanted) bool { return w.text() == text })
	if sameText {
		return &template{text: text}
	}
	sameLength := same(func(w *wanted) bool { return len(w.segments) == len(first.segments) })
	if !sameLength {
		return nil
	}
	t := &template{}
	for i, s := range first.segments {
		isFixed := same(func(w *wanted) bool { return w.segments[i].text == s.text })
		if isFixed {
			t.text += s.text
			continue
		}
		isValue := same(func(w *wanted) bool { return w.segments[i].value })
		if !isValue {
			return nil
		}
		v := varying{name: s.name}
		for _, w := range all {
			v.values = append(v.values, w.segments[i].typed)
		}
		sameType := same(func(w *wanted) bool { return w.segments[i].typed.Type().Equals(s.typed.Type()) })
		if !sameType {
			for j, w := range all {
				v.values[j] = cty.StringVal(w.segments[i].text)
			}
		}
		t.text += mark(len(t.varying))
		t.varying = append(t.varying, v)
	}
	if !t.insertable() {
		return nil
	}
	return t
}

// insertable reports whether a variable is allowed at every mark. Each mark must be in a quoted
// string or a whole expression, and not in a terraform block.
func (t *template) insertable() bool {
	file, diags := hclsyntax.ParseConfig([]byte(t.text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return false
	}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		if b.Type == "terraform" && marks.Match(b.Range().SliceBytes([]byte(t.text))) {
			return false
		}
	}
	found := 0
	for _, token := range t.tokens() {
		text := string(token.Bytes)
		switch n := len(marks.FindAllString(text, -1)); {
		case n == 0:
		case inText(token), token.Type == hclsyntax.TokenIdent && marks.FindString(text) == text:
			found += n
		}
	}
	return found == len(t.varying)
}

func (t *template) tokens() hclsyntax.Tokens {
	tokens, _ := hclsyntax.LexConfig([]byte(t.text), "", hcl.InitialPos)
	return tokens
}

func inText(t hclsyntax.Token) bool {
	return t.Type == hclsyntax.TokenQuotedLit || t.Type == hclsyntax.TokenStringLit
}

// insert returns the content with variables in place of the marks.
func (t *template) insert(names []string) string {
	var b strings.Builder
	end := 0
	for _, token := range t.tokens() {
		b.WriteString(t.text[end:token.Range.Start.Byte])
		end = token.Range.End.Byte
		b.WriteString(marks.ReplaceAllStringFunc(string(token.Bytes), func(found string) string {
			i, _ := strconv.Atoi(marks.FindStringSubmatch(found)[1])
			if inText(token) {
				return "${var." + names[i] + "}"
			}
			return "var." + names[i]
		}))
	}
	return b.String()
}

// sameContent reports whether a file contains the given text. It ignores formatting and the comment
// that Terragrunt adds to files that it generates.
func sameContent(file, text string) bool {
	normal := func(text string) string {
		if first, rest, _ := strings.Cut(text, "\n"); strings.Contains(first, "Generated by Terragrunt") {
			text = rest
		}
		return strings.TrimSpace(string(hclwrite.Format([]byte(text))))
	}
	return normal(file) == normal(text)
}
