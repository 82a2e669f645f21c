package lsp

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/marks"
	"tofu/internal/lsp/protocol"
)

// completer collects what may be written at a place.
type completer struct {
	*view
	place
	doc      *document
	dir      string
	cfg      *configs.Config // the module; may be nil
	content  content
	snippets bool // the editor understands snippets
	items    []protocol.CompletionItem
	seen     map[string]bool
}

// complete returns what may be written at an offset of a file.
func (v *view) complete(doc *document, dir string, offset int, snippets bool) []protocol.CompletionItem {
	c := &completer{view: v, place: placeAt(doc.text, offset), doc: doc, dir: dir, cfg: v.module(dir), snippets: snippets,
		items: []protocol.CompletionItem{}, seen: map[string]bool{}}
	c.content = v.contentOf(c.cfg, c.blocks)
	switch {
	case c.header != nil:
		if c.quoted || c.word != "" {
			c.labels()
		}
	case c.path != "":
		c.steps()
	case c.quoted:
	case c.key && !c.inObject:
		c.names()
	case c.key:
		c.attributesOfObject()
	default:
		c.expressions()
	}
	return c.items
}

// add adds an item. insert is the text that replaces the word, or "" for the label. It may be a snippet.
func (c *completer) add(label string, kind protocol.CompletionItemKind, detail, doc, insert string) {
	if c.seen[label] || !strings.HasPrefix(label, c.word) {
		return
	}
	c.seen[label] = true
	item := protocol.CompletionItem{Label: label, Kind: kind, Detail: detail}
	if doc != "" {
		item.Documentation = markdown(doc)
	}
	if insert == "" {
		insert = label
	} else if strings.Contains(insert, "$0") {
		if c.snippets {
			item.InsertTextFormat = protocol.InsertTextFormatSnippet
		} else {
			insert = label
		}
	}
	item.TextEdit = &protocol.TextEdit{Range: c.doc.span(c.start, c.start+len(c.word)), NewText: insert}
	c.items = append(c.items, item)
}

func markdown(text string) *protocol.MarkupContent {
	return &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: text}
}

// names adds the arguments and blocks that may be in the block around the cursor.
func (c *completer) names() {
	if s := c.content.schema; s != nil {
		for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
			if a := s.Attributes[name]; a.Required || a.Optional {
				c.argument(name, attributeDetail(a), a.Description)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.BlockTypes)) {
			c.block(name, nil, s.BlockTypes[name].Description)
		}
		if len(s.BlockTypes) > 0 {
			c.block("dynamic", []string{"type"}, "Generates a block for each element of a collection.")
		}
	}
	if m := c.content.called; m != nil {
		for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
			variable := m.Variables[name]
			detail := variable.Type.Type.FriendlyName()
			if variable.Required() {
				detail += ", required"
			}
			c.argument(name, detail, variable.Description.Value)
		}
	}
	if s := c.content.syntax; s != nil {
		for _, a := range s.Attributes {
			c.argument(a.Name, "", "")
		}
		for _, b := range s.Blocks {
			if b.Type != "required_providers" || len(c.blocks) > 0 {
				c.block(b.Type, b.LabelNames, "")
			}
		}
	}
}

func (c *completer) argument(name, detail, doc string) {
	c.add(name, protocol.CompletionItemKindProperty, detail, doc, name+" = $0")
}

func (c *completer) block(name string, labelNames []string, doc string) {
	text := name
	for range labelNames {
		text += ` "$0"`
		break
	}
	if len(labelNames) == 0 {
		text += " {\n  $0\n}"
	}
	c.add(name, protocol.CompletionItemKindStruct, "block", doc, text)
}

func attributeDetail(a *configschema.Attribute) string {
	detail := a.ImpliedType().FriendlyName()
	for _, one := range []struct {
		is   bool
		word string
	}{{a.Required, "required"}, {a.Computed, "computed"}, {a.Sensitive, "sensitive"}, {a.WriteOnly, "write-only"},
		{a.Deprecated, "deprecated"}} {
		if one.is {
			detail += ", " + one.word
		}
	}
	return detail
}

// labels adds the types that the header of a block may name.
func (c *completer) labels() {
	mode, usesProvider := modes[c.header[0]]
	switch {
	case len(c.header) != 1:
	case usesProvider && c.config != nil && c.schemas != nil:
		for provider := range c.config.ProviderRequirements() {
			if s := c.schemas(provider); s != nil && s.Table(mode) != nil {
				for _, name := range s.Table(mode).Names() {
					c.add(name, protocol.CompletionItemKindClass, provider.ForDisplay(), "", "")
				}
			}
		}
	case c.header[0] == "provider" && c.cfg != nil:
		for _, name := range c.cfg.Module.LocalNames {
			c.add(name, protocol.CompletionItemKindModule, "provider", "", "")
		}
	case c.header[0] == "dynamic" && c.content.schema != nil:
		for _, name := range slices.Sorted(maps.Keys(c.content.schema.BlockTypes)) {
			c.add(name, protocol.CompletionItemKindStruct, "block", c.content.schema.BlockTypes[name].Description, "")
		}
	case c.header[0] == "provisioner":
		for _, name := range []string{"file", "local-exec", "remote-exec"} {
			c.add(name, protocol.CompletionItemKindClass, "provisioner", "", "")
		}
	}
}

// rootWords are the words with which references begin, and what they mean.
var rootWords = map[string]string{
	"var": "variables of the module", "local": "local values of the module", "module": "outputs of module calls",
	"data": "data sources", "ephemeral": "ephemeral resources", "each": "the element of for_each", "count": "the index of count",
	"self": "the object itself", "path": "directories", "terraform": "the workspace", "provider": "functions of providers",
}

// fixed are the names after such words that don't depend on the configuration.
var fixed = map[string][]string{"each": {"key", "value"}, "count": {"index"}, "path": {"module", "root", "cwd"},
	"terraform": {"workspace"}}

// expressions adds what an expression may begin with.
func (c *completer) expressions() {
	if c.attr == "provider" && c.cfg != nil {
		for local := range c.cfg.Module.Providers {
			c.add(local.String(), protocol.CompletionItemKindReference, "provider configuration", "", "")
		}
		return
	}
	if c.content.schema != nil && c.content.schema.Attributes[c.attr] != nil &&
		c.content.schema.Attributes[c.attr].ImpliedType() == cty.Bool {
		c.add("true", protocol.CompletionItemKindKeyword, "", "", "")
		c.add("false", protocol.CompletionItemKindKeyword, "", "", "")
	}
	for _, word := range slices.Sorted(maps.Keys(rootWords)) {
		c.add(word, protocol.CompletionItemKindKeyword, rootWords[word], "", "")
	}
	if c.cfg != nil {
		for _, addr := range c.cfg.Module.SortedResources() {
			if addr.Mode == addrs.Managed {
				c.add(addr.Type, protocol.CompletionItemKindClass, "resources of this type", "", "")
			}
		}
	}
	for _, f := range funcs.Docs() {
		c.add(f.Name, protocol.CompletionItemKindFunction, signature(f), f.Description, f.Name+"($0)")
	}
}

// signature returns the parameters and the result of a function.
func signature(f funcs.Doc) string {
	var params []string
	for _, p := range f.Params {
		params = append(params, p.Name+" "+p.Type.FriendlyName())
	}
	if f.Variadic != nil {
		params = append(params, f.Variadic.Name+" "+f.Variadic.Type.FriendlyName()+"…")
	}
	return f.Name + "(" + strings.Join(params, ", ") + ") " + f.ReturnType.FriendlyName()
}

// steps adds what may follow a path such as "var" or "aws_instance.web".
func (c *completer) steps() {
	for _, name := range fixed[c.path] {
		c.add(name, protocol.CompletionItemKindField, "", "", "")
	}
	if c.cfg != nil {
		c.declared(c.cfg.Module)
	}
	if strings.Contains(c.path, ".") || c.path == "self" {
		c.parts()
	}
}

// declared adds the names in a module that may follow the path.
func (c *completer) declared(m *configs.Module) {
	switch c.path {
	case "var":
		for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
			v := m.Variables[name]
			c.reference(name, addrs.InputVariable{Name: name}, v.Type.Type.FriendlyName(), v.Description.Value)
		}
	case "local":
		for _, name := range slices.Sorted(maps.Keys(m.Locals)) {
			c.reference(name, addrs.LocalValue{Name: name}, "", "")
		}
	case "module":
		for _, name := range slices.Sorted(maps.Keys(m.Calls)) {
			c.add(name, protocol.CompletionItemKindModule, "module call", "", "")
		}
	}
	for _, addr := range m.SortedResources() {
		before, word := "", map[addrs.ResourceMode]string{addrs.Data: "data.", addrs.Ephemeral: "ephemeral."}[addr.Mode]
		before = word + addr.Type
		if c.path+"." == word {
			c.add(addr.Type, protocol.CompletionItemKindClass, "", "", "")
		} else if c.path == before {
			c.add(addr.Name, protocol.CompletionItemKindVariable, addr.String(), "", "")
		}
	}
	name, isCall := strings.CutPrefix(c.path, "module.")
	name, _, _ = strings.Cut(name, "[")
	if child := c.cfg.Children[name]; isCall && child != nil && child.Module != nil {
		for _, output := range slices.Sorted(maps.Keys(child.Module.Outputs)) {
			c.add(output, protocol.CompletionItemKindField, "output", child.Module.Outputs[output].Description.Value, "")
		}
	}
}

// reference adds a value of the module, with what it is now.
func (c *completer) reference(name string, subject addrs.Referenceable, detail, doc string) {
	if points, _ := c.points(c.dir, nil, 1); len(points) > 0 {
		if text, ok := short(c.values.Value(points[0].in, subject)); ok {
			detail = text
		}
	}
	c.add(name, protocol.CompletionItemKindVariable, detail, doc, "")
}

// parts adds the attributes or keys of the value of the path: those that it has now, and those that its
// type has.
func (c *completer) parts() {
	path := c.path
	if path == "self" || strings.HasPrefix(path, "self.") {
		if r, ok := c.content.owner.(addrs.Resource); ok && c.cfg != nil {
			if ty := c.typeOfResource(c.cfg, r, true); ty.IsObjectType() {
				c.ofType(follow(ty, traversalOf(strings.TrimPrefix(path, "self"))))
			}
		}
		return
	}
	expr, diags := hclsyntax.ParseExpression([]byte(path), "", hcl.InitialPos)
	if diags.HasErrors() {
		return
	}
	points, _ := c.points(c.dir, c.content.owner, maxKeys)
	places := map[string]int{}
	for _, p := range points {
		if v, err := c.eval(p, expr); err == nil {
			c.ofValue(v, places)
		}
	}
	slices.SortFunc(c.items, func(a, b protocol.CompletionItem) int { return strings.Compare(a.Label, b.Label) })
	c.ofType(c.typeOf(c.cfg, expr))
}

// traversalOf parses steps such as ".tags.name".
func traversalOf(steps string) hcl.Traversal {
	tr, _ := hclsyntax.ParseTraversalAbs([]byte("x"+steps), "", hcl.InitialPos)
	if len(tr) == 0 {
		return nil
	}
	return tr[1:]
}

// maxKeys is the number of instances of a block whose attributes are added.
const maxKeys = 100

// ofValue adds the attributes or keys of a value. places has the items that were added for the values of other
// instances: what isn't the same in all of them ends in an ellipsis.
func (c *completer) ofValue(v cty.Value, places map[string]int) {
	if marks.Has(v, marks.Sensitive) || marks.Has(v, marks.Ephemeral) {
		c.ofType(v.Type())
		return
	}
	v, _ = v.Unmark()
	ty := v.Type()
	if !v.IsKnown() || v.IsNull() || !ty.IsObjectType() && !ty.IsMapType() {
		c.ofType(ty)
		return
	}
	for key, element := range v.AsValueMap() {
		if !c.index && !hclsyntax.ValidIdentifier(key) {
			continue
		}
		detail := element.Type().FriendlyName()
		if text, ok := short(element); ok {
			detail = text
		}
		const others = ", …"
		place, known := places[key]
		switch {
		case !known && !c.seen[key] && strings.HasPrefix(key, c.word):
			places[key] = len(c.items)
			c.add(key, protocol.CompletionItemKindField, detail, "", "")
		case known && strings.TrimSuffix(c.items[place].Detail, others) != detail:
			c.items[place].Detail = strings.TrimSuffix(c.items[place].Detail, others) + others
		}
	}
}

func (c *completer) ofType(ty cty.Type) {
	if !ty.IsObjectType() {
		return
	}
	attrs := ty.AttributeTypes()
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		c.add(name, protocol.CompletionItemKindField, attrs[name].FriendlyName(), "", "")
	}
}

// attributesOfObject adds the attributes of the object that is the value of an argument.
func (c *completer) attributesOfObject() {
	var ty cty.Type
	if s := c.content.schema; s != nil && s.Attributes[c.attr] != nil {
		ty = s.Attributes[c.attr].ConfigType()
	} else if m := c.content.called; m != nil && m.Variables[c.attr] != nil {
		ty = m.Variables[c.attr].Type.WithOptional
	}
	if ty == cty.NilType {
		return
	}
	for ty.IsCollectionType() {
		ty = ty.ElementType()
	}
	if ty.IsObjectType() {
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			c.argument(name, ty.AttributeType(name).FriendlyName(), "")
		}
	}
}
