package engine_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// tree is a random configuration of nested modules.
type tree struct {
	*rapid.T
	root *item
	mode map[string]string // repetition mode of each item, by path; it is the same in all trees of a test
}

// item is a resource, a data source or a module call; the root module is an item too.
type item struct {
	kind  string // resource, data or module
	name  string
	in    *item // call of the module that contains it; nil for the root
	mode  string
	keys  []addrs.InstanceKey
	gen   string
	refs  []*item // references within the same module
	input bool    // whether the item also refers to the input of its module
	after []*item // depends_on
	items []*item // items of a module; each may refer to earlier ones
	out   []*item // items that the module's output refers to
	whole bool    // whether references to the output name the whole call, and so depend on everything in the module
}

func (it *item) path() string {
	if it.in == nil {
		return it.name
	}
	return it.in.path() + "/" + it.name
}

// moduleNames holds the names of the module calls in each module, by path; resourceNames holds the
// names of resources.
var (
	moduleNames   = map[string][]string{"": {"m", "n"}, "/m": {"c", "d"}, "/n": {"c"}}
	resourceNames = []string{"p", "q"}
)

func drawTree(t *rapid.T, like *tree) *tree {
	tr := &tree{T: t, mode: map[string]string{}}
	if like != nil {
		tr.mode = like.mode
	}
	tr.root = &item{kind: "module", keys: []addrs.InstanceKey{addrs.NoKey}}
	tr.fill(tr.root)
	return tr
}

func (tr *tree) odds(label string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(tr.T, label) > 100-percent
}

// fill draws the items of a module and their references.
func (tr *tree) fill(m *item) {
	var all []*item
	for _, name := range resourceNames {
		all = append(all, &item{kind: "resource", name: name})
	}
	all = append(all, &item{kind: "data", name: "l"})
	for _, name := range moduleNames[m.path()] {
		all = append(all, &item{kind: "module", name: name})
	}
	for _, it := range rapid.Permutation(all).Draw(tr.T, "order") {
		if !tr.odds("present", 80) {
			continue
		}
		it.in = m
		tr.refer(it)
		if it.kind == "data" && len(it.refs) == 0 {
			continue
		}
		tr.repeat(it)
		m.items = append(m.items, it)
	}
	m.out = tr.some(m.items, 2)
}

func (tr *tree) some(from []*item, most int) []*item {
	if len(from) == 0 {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, min(most, len(from)), rapid.ID[*item]).Draw(tr.T, "some")
}

// refer draws the references of an item to earlier ones.
func (tr *tree) refer(it *item) {
	it.gen = rapid.SampledFrom([]string{"1", "2"}).Draw(tr.T, "generation")
	if it.kind == "data" {
		resources := slices.DeleteFunc(slices.Clone(it.in.items),
			func(other *item) bool { return other.kind != "resource" })
		it.refs = tr.some(resources, 1)
		return
	}
	it.refs, it.input = tr.some(it.in.items, 2), it.in.in != nil && tr.odds("input", 50)
	if tr.odds("depends", 25) {
		it.after = tr.some(it.in.items, 1)
	}
	if it.kind == "module" {
		it.whole = tr.odds("whole", 30)
		tr.fill(it)
	}
}

// repeat draws the repetition and instance keys of an item.
func (tr *tree) repeat(it *item) {
	mode, known := tr.mode[it.path()]
	if !known {
		mode = rapid.SampledFrom([]string{"", "count", "for_each"}).Draw(tr.T, "mode")
		tr.mode[it.path()] = mode
	}
	it.mode, it.keys = mode, []addrs.InstanceKey{addrs.NoKey}
	switch {
	case it.kind == "data":
		it.mode = ""
	case mode == "count":
		it.keys = []addrs.InstanceKey{addrs.IntKey(0), addrs.IntKey(1)}[:rapid.IntRange(0, 2).Draw(tr.T, "count")]
	case mode == "for_each":
		it.keys = [][]addrs.InstanceKey{{addrs.StringKey("x"), addrs.StringKey("y")}, {addrs.StringKey("x")},
			{addrs.StringKey("y")}}[rapid.IntRange(0, 2).Draw(tr.T, "keys")]
	}
}

// resource returns the address of a resource within its module.
func (it *item) resource() addrs.Resource {
	if it.kind == "data" {
		return addrs.Resource{Mode: addrs.Data, Type: "fake_find", Name: it.name}
	}
	return addrs.Resource{Mode: addrs.Managed, Type: "fake_thing", Name: it.name}
}

// files returns the contents of the configuration's files, by file name.
func (tr *tree) files() map[string]string {
	out := map[string]string{}
	tr.root.write(out)
	return out
}

func (it *item) write(files map[string]string) {
	var b strings.Builder
	at := `locals {
  at = ""
}
`
	if it.in != nil {
		at = "variable \"at\" {}\nvariable \"in\" {}\nlocals {\n  at = var.at\n}\n"
	}
	b.WriteString(at)
	for _, inner := range it.items {
		inner.block(&b)
		if inner.kind == "module" {
			inner.write(files)
		}
	}
	fmt.Fprintf(&b, "output \"out\" {\n  value = %s\n}\n", joined(it.out, false))
	files[strings.TrimPrefix(it.path()+"/main.tf", "/")] = b.String()
}

// block writes the block of an item, as it appears in the item's module.
func (it *item) block(b *strings.Builder) {
	repetition, key := "", ""
	switch it.mode {
	case "count":
		repetition, key = fmt.Sprintf("  count = %d\n", len(it.keys)), "-${count.index}"
	case "for_each":
		var keys []string
		for _, k := range it.keys {
			s, _ := k.IsString()
			keys = append(keys, fmt.Sprintf("%q", s))
		}
		repetition, key = fmt.Sprintf("  for_each = toset([%s])\n", strings.Join(keys, ", ")), "-${each.key}"
	}
	after := ""
	for _, other := range it.after {
		after = fmt.Sprintf("  depends_on = [%s]\n", other.reference())
	}
	name := fmt.Sprintf("${local.at}%s%s", it.name, key)
	switch it.kind {
	case "module":
		fmt.Fprintf(b, "module %q {\n%s  source = \"./%s\"\n  at = \"%s.\"\n  in = %s\n%s}\n", it.name,
			repetition, it.name, name, joined(it.refs, it.input), after)
	case "data":
		of := it.refs[0]
		fmt.Fprintf(b, "data \"fake_find\" %q {\n  name = \"${local.at}%s%s\"\n  depends_on = [%s]\n}\n",
			it.name, of.name, firstKey(of), of.reference())
	default:
		fmt.Fprintf(b, "resource \"fake_thing\" %q {\n%s  name = \"%s\"\n  v = md5(\"%s${%s}\")\n%s}\n",
			it.name, repetition, name, it.gen, joined(it.refs, it.input), after)
	}
}

// firstKey returns the suffix of the name of an item's first object: a hyphen and the instance key,
// or "" if there is no key.
func firstKey(it *item) string {
	if len(it.keys) == 0 || it.keys[0] == addrs.NoKey {
		return ""
	}
	return "-" + strings.Trim(it.keys[0].String(), `[]"`)
}

func (it *item) reference() string {
	if it.kind == "module" {
		return "module." + it.name
	}
	return it.resource().String()
}

// joined returns an expression for a string that depends on all objects of the given items.
func joined(items []*item, input bool) string {
	texts := []string{`""`}
	if input {
		texts = append(texts, "var.in")
	}
	for _, it := range items {
		attr := map[string]string{"module": "out", "data": "text", "resource": "v"}[it.kind]
		switch {
		case it.kind == "module" && it.mode != "" && !it.whole:
			for _, key := range it.keys {
				texts = append(texts, it.reference()+key.String()+".out")
			}
		case it.mode == "count":
			texts = append(texts, fmt.Sprintf("join(\"\", %s[*].%s)", it.reference(), attr))
		case it.mode == "for_each":
			texts = append(texts, fmt.Sprintf("join(\"\", values(%s)[*].%s)", it.reference(), attr))
		default:
			texts = append(texts, it.reference()+"."+attr)
		}
	}
	return "join(\"\", [" + strings.Join(texts, ", ") + "])"
}

// place is a resource or data source in one instance of its module, or in a module without
// instances. In that case it refers to nothing, and only targets without keys include it.
type place struct {
	it     *item
	at     addrs.ModuleInstance
	absent bool // the module has no instance; at then has no key
}

// oracle determines the expected dependencies by following references from place to place.
type oracle struct {
	root      *item
	instances map[addrs.Module][]addrs.ModuleInstance // module instances that the configuration declares
	items     map[addrs.ConfigResource]*item
	modules   map[addrs.Module]bool // called modules in the configuration
	gone      []place               // resources in these modules that only the state has
}

func newOracle(tr *tree, state *states.State) *oracle {
	o := &oracle{root: tr.root, instances: map[addrs.Module][]addrs.ModuleInstance{},
		items: map[addrs.ConfigResource]*item{}, modules: map[addrs.Module]bool{}}
	o.expand(tr.root, addrs.ModuleInstance(""))
	for r := range state.Resources() {
		if o.items[r.Addr.Config()] == nil && o.modules[r.Addr.Module.Module()] {
			it := &item{kind: "resource", name: r.Addr.Resource.Name, in: tr.root}
			if r.Addr.Resource.Mode == addrs.Data {
				it.kind = "data"
			}
			o.gone = append(o.gone, place{it: it, at: r.Addr.Module})
		}
	}
	return o
}

// expand adds an instance of a module, and those of the calls in it.
func (o *oracle) expand(m *item, at addrs.ModuleInstance) {
	o.instances[at.Module()] = append(o.instances[at.Module()], at)
	for _, it := range m.items {
		if it.kind != "module" {
			o.items[it.resource().In(at.Module())] = it
			continue
		}
		o.index(it, at.Module())
		for _, key := range it.keys {
			o.expand(it, at.Child(it.name, key))
		}
	}
}

// index records the resources of a module, which may have no instances.
func (o *oracle) index(call *item, parent addrs.Module) {
	m := parent.Child(call.name)
	o.modules[m] = true
	for _, it := range call.items {
		if it.kind == "module" {
			o.index(it, m)
		} else {
			o.items[it.resource().In(m)] = it
		}
	}
}

func (o *oracle) placeOf(addr addrs.AbsInstance) place {
	return place{it: o.items[addr.Config()], at: addr.Module}
}

func (o *oracle) places() []place {
	var out []place
	for addr, it := range o.items {
		for _, at := range o.instances[addr.Module] {
			out = append(out, place{it: it, at: at})
		}
	}
	return out
}

// meets reports whether any target in the list includes a place. The instance keys of resources are
// ignored.
func (o *oracle) meets(list []addrs.Target, p place) bool {
	return slices.ContainsFunc(list, func(t addrs.Target) bool {
		keyed := func(s addrs.Step) bool { return s.Key != addrs.NoKey }
		if p.absent && (t.HasKey || slices.ContainsFunc(t.Module.Steps(), keyed)) {
			return false
		}
		t.HasKey = false
		return t.ContainsInstance(p.it.resource().InInstance(p.at).Instance(addrs.NoKey))
	})
}

// start returns what a place refers to that targets in list include. If they name only instances
// that are no longer configured, nothing is read by key.
func (o *oracle) start(list []addrs.Target, p place) []place {
	return o.needsOf(p, slices.ContainsFunc(p.it.keys, func(key addrs.InstanceKey) bool {
		return named(list, p.it.resource().InInstance(p.at).Instance(key))
	}))
}

// reach adds the given places, and all their direct and indirect dependencies, to seen.
func (o *oracle) reach(places []place, seen map[place]bool) {
	for _, p := range places {
		if !seen[p] {
			seen[p] = true
			o.reach(o.needs(p), seen)
		}
	}
}

// dependsOnAny reports whether a place depends on a place that a target in list includes.
func (o *oracle) dependsOnAny(p place, list []addrs.Target) bool {
	seen := map[place]bool{}
	o.reach(o.needs(p), seen)
	for next := range seen {
		if o.meets(list, next) {
			return true
		}
	}
	return false
}

// needs returns the places that a place refers to.
func (o *oracle) needs(p place) []place {
	return o.needsOf(p, len(p.it.keys) > 0)
}

// needsOf returns the places that a place refers to. declared reports whether the place has
// instances in the configuration. Without them, nothing is read by key.
func (o *oracle) needsOf(p place, declared bool) []place {
	if p.absent {
		return nil
	}
	return append(o.arguments(p.it, p.at, declared), o.around(p.it.in, p.at)...)
}

// arguments returns the places that the arguments of an item refer to, in the module instance at.
func (o *oracle) arguments(it *item, at addrs.ModuleInstance, declared bool) []place {
	var out []place
	for _, ref := range it.refs {
		switch {
		case it.kind == "data":
			out = append(out, place{it: ref, at: at})
		case declared || ref.kind != "module" || ref.mode == "" || ref.whole:
			out = append(out, o.value(ref, at)...)
		}
	}
	if it.input {
		parent, _ := at.Parent()
		out = append(out, o.arguments(it.in, parent, true)...)
	}
	for _, dep := range it.after {
		out = append(out, o.contents(dep, at)...)
	}
	return out
}

// around returns the places that enclosing module calls refer to in depends_on.
func (o *oracle) around(call *item, at addrs.ModuleInstance) []place {
	var out []place
	for ; call.in != nil; call = call.in {
		at, _ = at.Parent()
		for _, dep := range call.after {
			out = append(out, o.contents(dep, at)...)
		}
	}
	return out
}

// value returns the places that the value of an item depends on.
func (o *oracle) value(it *item, at addrs.ModuleInstance) []place {
	switch {
	case it.kind != "module":
		return []place{{it: it, at: at}}
	case it.mode != "" && it.whole:
		return append(o.contents(it, at), o.values(it, at)...)
	case len(it.keys) == 0:
		return nil
	}
	return o.values(it, at)
}

// values returns the places that the value of a module's output depends on.
func (o *oracle) values(it *item, at addrs.ModuleInstance) []place {
	var out []place
	for _, inner := range o.children(it, at) {
		for _, ref := range it.out {
			out = append(out, o.value(ref, inner)...)
		}
	}
	for _, dep := range it.after {
		out = append(out, o.contents(dep, at)...)
	}
	return out
}

// contents returns all places in an item: the item itself, or everything in the declared instances
// of the module that it calls, and what the arguments of the call refer to. The arguments of a call
// without instances aren't evaluated; absent places represent such a module.
func (o *oracle) contents(it *item, at addrs.ModuleInstance) []place {
	if it.kind != "module" {
		return []place{{it: it, at: at}}
	}
	instances := o.children(it, at)
	if len(instances) == 0 {
		return o.absent(it, at.Child(it.name, addrs.NoKey))
	}
	out := o.arguments(it, at, true)
	for _, p := range o.gone { // also in instances of the module that are no longer declared
		inside := addrs.Target{Module: at.Child(it.name, addrs.NoKey)}
		if inside.ContainsInstance(p.it.resource().InInstance(p.at).Instance(addrs.NoKey)) {
			out = append(out, p)
		}
	}
	for _, inner := range instances {
		for _, ref := range it.items {
			out = append(out, o.contents(ref, inner)...)
		}
	}
	return out
}

// absent returns places for everything in a module without instances.
func (o *oracle) absent(call *item, at addrs.ModuleInstance) []place {
	var out []place
	for _, p := range o.gone {
		if p.at.Module() == at.Module() {
			out = append(out, place{it: p.it, at: at, absent: true})
		}
	}
	for _, it := range call.items {
		if it.kind == "module" {
			out = append(out, o.absent(it, at.Child(it.name, addrs.NoKey))...)
		} else {
			out = append(out, place{it: it, at: at, absent: true})
		}
	}
	return out
}

// children returns the instances of a called module within an instance of the calling one.
func (o *oracle) children(call *item, at addrs.ModuleInstance) []addrs.ModuleInstance {
	return slices.DeleteFunc(slices.Clone(o.instances[at.Module().Child(call.name)]),
		func(m addrs.ModuleInstance) bool {
			parent, _ := m.Parent()
			return parent != at
		})
}
