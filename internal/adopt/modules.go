package adopt

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"tofu/internal/addrs"
)

// Modules is like [Files], but each group becomes a module in the directory PREFIX_GROUP, which the root
// module calls and into which it imports the objects: their addresses change. What objects of a module need
// from elsewhere becomes a variable, and an output of the other module. Objects without a group stay in the
// root module. taken says which names of modules the configuration has already.
func Modules(
	objects []*Object, block func(addrs.AbsResource) string, prefix string, by Grouping, taken func(name string) bool,
) map[string]string {
	w := &moduleWriter{modules: map[string]*module{"": {}}, of: make(map[string]string)}
	texts := make(map[string]string) // of the blocks, by resource
	names := make(map[string]string) // of the modules, by group
	sorted := slices.SortedFunc(slices.Values(objects), func(x, y *Object) int { return x.Addr.Compare(y.Addr) })
	for _, o := range sorted {
		r := o.Addr.Abs().String()
		if _, done := w.of[r]; !done {
			group := by.group(o)
			if group != "" && names[group] == "" {
				used := func(name string) bool { return taken(name) || w.modules[name] != nil }
				names[group] = free(identifier(group, "module"), used)
				w.modules[names[group]] = &module{dir: prefix + "_" + group}
			}
			w.of[r], texts[r] = names[group], strings.TrimSpace(block(o.Addr.Abs()))+"\n"
		}
	}
	for _, o := range sorted {
		r := o.Addr.Abs().String()
		name := w.of[r]
		if text, first := texts[r]; first {
			delete(texts, r)
			w.add(name, text, o)
		}
		if name != "" { // the block in the module names its provider
			in := addrs.ModuleInstance("").Child(name, addrs.NoKey)
			o.Addr, o.Provider = o.Addr.Resource.InInstance(in).Instance(o.Addr.Key), ""
		}
	}
	return w.files(objects, prefix)
}

// free returns a name that is not taken and begins with wanted.
func free(wanted string, taken func(string) bool) string {
	name := wanted
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s_%d", wanted, n)
	}
	return name
}

// moduleWriter writes the modules, by name. The root module is "".
type moduleWriter struct {
	modules map[string]*module
	of      map[string]string // the name of the module that has a resource
}

// module collects the text of one module. The expression of a value is valid in the module that has it.
type module struct {
	dir       string
	blocks    []string
	sources   map[string]string // of providers, by local name
	providers map[string]string // expressions in the root module for provider configurations here
	variables map[string]value
	outputs   map[string]value
}

// value is a value that one module has and another one needs.
type value struct{ expr, typ string }

// put adds a value to a table whose names begin with wanted. It returns the name.
func put(table *map[string]value, wanted string, v value) string {
	if *table == nil {
		*table = make(map[string]value)
	}
	name := free(wanted, func(name string) bool { old, used := (*table)[name]; return used && old != v })
	(*table)[name] = v
	return name
}

// add adds the block of a resource to a module.
func (w *moduleWriter) add(name, text string, o *Object) {
	m := w.modules[name]
	f, diags := hclsyntax.ParseConfig([]byte(text), "adopted.tf", hcl.InitialPos)
	if diags.HasErrors() { // can't happen: the text has been planned
		m.blocks = append(m.blocks, text)
		return
	}
	find := &outside{w: w, in: name, src: text}
	body := f.Body.(*hclsyntax.Body).Blocks[0].Body
	if attr := body.Attributes["provider"]; attr != nil {
		delete(body.Attributes, "provider")
		find.edit(attr.Expr.Range(), m.provider(o))
	} else {
		m.provider(o)
	}
	body.Blocks = slices.DeleteFunc(body.Blocks, func(b *hclsyntax.Block) bool { return b.Type == "lifecycle" })
	_ = hclsyntax.Walk(body, find)
	slices.SortFunc(find.edits, func(x, y edit) int { return x.Start.Byte - y.Start.Byte })
	for _, e := range slices.Backward(find.edits) {
		text = text[:e.Start.Byte] + e.text + text[e.End.Byte:]
	}
	m.blocks = append(m.blocks, text)
}

// provider returns the reference to an object's provider configuration in the module.
func (m *module) provider(o *Object) string {
	if m.dir == "" {
		return o.Provider
	}
	if m.sources == nil {
		m.sources, m.providers = make(map[string]string), make(map[string]string)
	}
	local, alias, aliased := strings.Cut(o.Provider, ".")
	reference := local
	if aliased {
		reference = free(local+"."+plain(alias), func(name string) bool {
			old := m.providers[name]
			return old != "" && old != o.Provider
		})
	}
	m.providers[reference] = o.Provider
	if !o.Source.IsBuiltin() {
		m.sources[local] = o.Source.ForDisplay()
	}
	return reference
}

// edit replaces a part of a block.
type edit struct {
	hcl.Range
	text string
}

// outside finds the references of a block to what is in other modules.
type outside struct {
	w     *moduleWriter
	in    string // the module that has the block
	src   string
	edits []edit
}

func (f *outside) edit(at hcl.Range, text string) { f.edits = append(f.edits, edit{at, text}) }

// Enter implements hclsyntax.Walker.
func (f *outside) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch node := node.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		f.refer(node.Traversal, node.Range())
	case *hclsyntax.RelativeTraversalExpr: // an index that is not constant
		if index, ok := node.Source.(*hclsyntax.IndexExpr); ok {
			if base, ok := index.Collection.(*hclsyntax.ScopeTraversalExpr); ok {
				step := hcl.TraverseIndex{SrcRange: hcl.Range{Start: base.Range().End, End: index.Range().End}}
				f.refer(slices.Concat(base.Traversal, hcl.Traversal{step}, node.Traversal), node.Range())
			}
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (f *outside) Exit(hclsyntax.Node) hcl.Diagnostics { return nil }

// refer replaces a reference to an attribute, if it is in another module. [Refer] and package genconfig write
// TYPE.NAME.ATTRIBUTE, the same with a key, and outputs of data sources.
func (f *outside) refer(tr hcl.Traversal, at hcl.Range) {
	names, index := []string{tr.RootName()}, ""
	for _, step := range tr[1:] {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			names = append(names, step.Name)
		case hcl.TraverseIndex:
			index = f.src[step.SrcRange.Start.Byte:step.SrcRange.End.Byte]
		}
	}
	const least = 3 // a type, a name and an attribute
	if len(names) < least {
		return
	}
	resource, attr := names[0]+"."+names[1], names[2]
	v, owner := value{strings.Join(names, "."), "string"}, ""
	if names[0] != "data" {
		owner = f.w.of[resource]
	} else {
		names = names[2:]
	}
	switch _, err := strconv.Atoi(strings.Trim(index, "[]")); {
	case owner == f.in:
		return
	case err == nil || index == "[count.index]":
		v = value{resource + "[*]." + attr, "list(string)"}
	case index != "":
		v = value{fmt.Sprintf("{ for key, object in %s : key => object.%s }", resource, attr), "map(string)"}
	}
	name := plain(strings.Join(names, "_"))
	if owner != "" {
		v.expr = "module." + owner + "." + put(&f.w.modules[owner].outputs, name, v)
	}
	if f.in != "" {
		v.expr = "var." + put(&f.w.modules[f.in].variables, name, v)
	}
	f.edit(at, v.expr+index)
}

// files returns the text of the files by name.
func (w *moduleWriter) files(objects []*Object, prefix string) map[string]string {
	out := map[string]string{prefix + "_imports.tf": Imports(objects)}
	root := w.modules[""].blocks
	delete(w.modules, "")
	for _, name := range slices.Sorted(maps.Keys(w.modules)) {
		m := w.modules[name]
		root = append(root, m.call(name))
		if len(m.sources) > 0 {
			m.blocks = slices.Insert(m.blocks, 0, m.requires())
		}
		out[filepath.Join(m.dir, "main.tf")] = strings.Join(m.blocks, "\n")
		for file, list := range map[string][]string{"variables.tf": m.declared(), "outputs.tf": m.results()} {
			if len(list) > 0 {
				out[filepath.Join(m.dir, file)] = strings.Join(list, "\n")
			}
		}
	}
	if len(root) > 0 {
		out[prefix+".tf"] = strings.Join(root, "\n")
	}
	return out
}

// call returns the block that calls the module.
func (m *module) call(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "module %q {\nsource = \"./%s\"\n", name, filepath.Base(m.dir))
	for _, name := range slices.Sorted(maps.Keys(m.variables)) {
		fmt.Fprintf(&b, "%s = %s\n", name, m.variables[name].expr)
	}
	if len(m.aliases()) > 0 {
		b.WriteString("providers = {\n")
		for _, reference := range slices.Sorted(maps.Keys(m.providers)) {
			fmt.Fprintf(&b, "%s = %s\n", reference, m.providers[reference])
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return formatted(b.String())
}

// aliases returns the references to provider configurations that the call must pass.
func (m *module) aliases() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.providers)), func(reference string) bool {
		return !strings.Contains(reference, ".")
	})
}

// requires returns the block that says which providers the module needs.
func (m *module) requires() string {
	var b strings.Builder
	b.WriteString("terraform {\nrequired_providers {\n")
	for _, local := range slices.Sorted(maps.Keys(m.sources)) {
		fmt.Fprintf(&b, "%s = {\nsource = %q\n", local, m.sources[local])
		own := slices.DeleteFunc(m.aliases(), func(reference string) bool { return !strings.HasPrefix(reference, local+".") })
		if len(own) > 0 {
			fmt.Fprintf(&b, "configuration_aliases = [%s]\n", strings.Join(own, ", "))
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n}\n")
	return formatted(b.String())
}

// declared returns the blocks of the variables.
func (m *module) declared() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(m.variables)) {
		out = append(out, formatted(fmt.Sprintf("variable %q {\ntype = %s\n}\n", name, m.variables[name].typ)))
	}
	return out
}

// results returns the blocks of the outputs.
func (m *module) results() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(m.outputs)) {
		out = append(out, formatted(fmt.Sprintf("output %q {\nvalue = %s\n}\n", name, m.outputs[name].expr)))
	}
	return out
}

func formatted(text string) string { return string(hclwrite.Format([]byte(text))) }
