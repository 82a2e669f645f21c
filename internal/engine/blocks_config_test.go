package engine_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// A mesh is a random configuration whose blocks refer to one another with all kinds of keys and
// expressions. It also records which object refers to which. Objects are identified by name.
type mesh struct {
	*rapid.T
	blocks  []*meshBlock
	main    strings.Builder
	modules map[string]string // contents of the modules' files, by file name
	narrow  bool              // whether most blocks refer to single instances of the block before them

	exact map[string]map[string]bool // the objects that each object reads
	loose map[string]map[string]bool // the objects that each object may wait for
	// versioned holds the keys of the instances of each resource whose objects have a version; see
	// version.
	versioned map[string][]string
}

// meshBlock is a resource block, a data source whose result no other call affects, an ephemeral
// resource, or a call of a module that has the resources p and q.
type meshBlock struct {
	name   string
	mode   string   // "", "count" or "for_each"
	keys   []string // instance keys as they appear in object names; "-" without count or for_each
	module bool
	data   bool
	// reader is the name of the block that reads an ephemeral resource; each of its instances reads
	// the object with the same key. It is "" for all other blocks.
	reader string
	// decidedBy holds the objects that change before the block's instances are decided. Blocks that
	// read none of its instances wait for these objects, too.
	decidedBy []string
}

// meshShape holds the repetition mode of each block, by block name. The entry "NAME inner" of a
// module is "module" if the module has its resources in a nested module. All steps of a history
// have the same shape.
type meshShape map[string]string

var meshNames = []string{"a", "b", "c", "d", "e"}

// meshModules holds the names of the modules. Each module is called once, at a random position
// among the blocks.
var meshModules = []string{"m", "n"}

func (b *meshBlock) address() string {
	switch {
	case b.module:
		return "module." + b.name
	case b.data:
		return "data.fake_find." + b.name
	case b.reader != "":
		return "ephemeral.fake_token." + b.name
	}
	return "fake_thing." + b.name
}

// object returns the name of the block's object with the given key. For a module, this is the
// object of resource q, which the module's output refers to.
func (b *meshBlock) object(key string) string {
	if b.module {
		return meshObject(b.name+"q", key)
	}
	return meshObject(b.name, key)
}

// objects returns the names of the block's objects, one for each key; see object.
func (b *meshBlock) objects() []string {
	var out []string
	for _, key := range b.keys {
		out = append(out, b.object(key))
	}
	return out
}

func meshObject(name, key string) string { return name + ":" + key }

// index returns a key in brackets, as it is written in a reference.
func (b *meshBlock) index(key string) string {
	switch b.mode {
	case "count":
		return "[" + key + "]"
	case "for_each":
		return fmt.Sprintf("[%q]", key)
	}
	return ""
}

func (b *meshBlock) attr() string {
	switch {
	case b.module:
		return ".out"
	case b.data:
		return ".text"
	case b.reader != "":
		return ".name"
	}
	return ".id"
}

// all returns an expression for a string that depends on all instances of the block.
func (b *meshBlock) all() string {
	switch b.mode {
	case "count":
		return fmt.Sprintf(`join("", %s[*]%s)`, b.address(), b.attr())
	case "for_each":
		return fmt.Sprintf(`join("", [for k, o in %s : o%s])`, b.address(), b.attr())
	}
	return b.address() + b.attr()
}

func drawMesh(t *rapid.T, shape meshShape, narrow bool) *mesh {
	m := &mesh{T: t, narrow: narrow, modules: map[string]string{},
		exact: map[string]map[string]bool{}, loose: map[string]map[string]bool{}, versioned: map[string][]string{}}
	at := map[int][]string{}
	for _, name := range meshModules {
		i := rapid.IntRange(0, len(meshNames)).Draw(t, "module at")
		at[i] = append(at[i], name)
	}
	for i, name := range meshNames {
		for _, module := range at[i] {
			if m.odds("module", 60) {
				m.drawCall(module, shape)
			}
		}
		if m.odds("present", 85) {
			m.drawBlock(name, shape)
		}
	}
	return m
}

func (m *mesh) odds(label string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(m.T, label) > 100-percent
}

func (m *mesh) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(m.T, label)
}

// version returns a template for the versions of a resource's objects. A step of a history decides
// which of the given instances have the second version. key is the expression for an instance's key.
func (m *mesh) version(name string, keys []string, key string) string {
	m.versioned[name] = keys
	return fmt.Sprintf(`${lookup(SECOND(%s), %s, "1")}`, name, key)
}

// files returns the files of the configuration. second holds, by resource, the keys of the instances
// that have the second version.
func (m *mesh) files(second map[string][]string) map[string]string {
	var pairs []string
	for name := range m.versioned {
		object := "{"
		for _, key := range second[name] {
			object += fmt.Sprintf(" %q = \"2\",", key)
		}
		pairs = append(pairs, "SECOND("+name+")", object+" }")
	}
	replacer := strings.NewReplacer(pairs...)
	out := map[string]string{"main.tf": replacer.Replace(m.main.String())}
	for name, text := range m.modules {
		out[name] = replacer.Replace(text)
	}
	return out
}

// newBlock returns a block with randomly drawn repetition.
func (m *mesh) newBlock(name string, shape meshShape) *meshBlock {
	b := &meshBlock{name: name, mode: shape[name], keys: []string{"-"}}
	switch b.mode {
	case "count":
		b.keys = []string{"0", "1", "2", "3"}[:rapid.IntRange(0, 4).Draw(m.T, "count")]
	case "for_each":
		b.keys = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"u", "v", "x", "y"}), 0, 4,
			rapid.ID[string]).Draw(m.T, "keys")
		slices.Sort(b.keys)
	}
	return b
}

// meshUser is a block under construction, with the data for drawing its expressions.
type meshUser struct {
	*mesh
	*meshBlock
	chain bool         // whether for_each is another block
	whole []*meshBlock // blocks that u reads as a whole
	// fields holds the attribute names of each object in for_each, or, with count, of each element
	// of a list in a local value.
	fields []string
	values map[string][]string
	wholes int // number of values that are whole blocks
	// callAliases holds the module calls that u reads through locals. If u reads its own instances,
	// it waits for these calls as a whole.
	callAliases []*meshBlock
}

func (m *mesh) user(b *meshBlock) *meshUser {
	return &meshUser{mesh: m, meshBlock: b, values: map[string][]string{}}
}

// reads records that each object of u's i-th instance reads the given objects. It adds them to the
// map into.
func (u *meshUser) reads(into map[string]map[string]bool, i int, objects ...string) {
	for _, user := range u.users(u.keys[i]) {
		if into[user] == nil {
			into[user] = map[string]bool{}
		}
		for _, o := range objects {
			into[user][o] = true
		}
	}
}

// readsNone records that u's i-th instance refers to a block but reads none of its instances. An
// argument of a module call then waits for the block.
func (u *meshUser) readsNone(i int, of *meshBlock) {
	if u.meshBlock.module {
		u.reads(u.loose, i, append(of.objects(), of.object(wholeBlock))...)
	}
}

// wholeBlock is used as the key if a reference names a whole block. The reader may then wait for
// everything that the block refers to, even if the block has no instances, or no instances that
// change.
const wholeBlock = "*"

// readAll records in the map into that each object of u reads all objects of a block. It also
// records in u.loose that the objects of u may wait for the whole block.
func (u *meshUser) readAll(into map[string]map[string]bool, of *meshBlock) {
	u.whole = append(u.whole, of)
	for i := range u.keys {
		for _, key := range of.keys {
			u.reads(into, i, of.object(key))
		}
		u.reads(u.loose, i, of.object(wholeBlock))
	}
}

// mayAwait records that blocks that refer to u as a whole may wait for a block that u refers to.
func (u *meshUser) mayAwait(of *meshBlock) {
	for _, user := range u.users(wholeBlock) {
		if u.loose[user] == nil {
			u.loose[user] = map[string]bool{}
		}
		for _, key := range append([]string{wholeBlock}, of.keys...) {
			u.loose[user][of.object(key)] = true
		}
	}
}

// users returns the objects that read the references in the block's arguments. For a module, these
// are all objects in it. For an ephemeral resource, the object that reads it is one of them.
func (u *meshUser) users(key string) []string {
	switch {
	case u.meshBlock.module:
		return []string{meshObject(u.name+"p", key), meshObject(u.name+"q", key)}
	case u.reader != "":
		return []string{meshObject(u.reader, key), u.object(key)}
	}
	return []string{u.object(key)}
}

// drawRef draws an expression that refers to an earlier block, and records which objects it reads.
func (u *meshUser) drawRef(of *meshBlock) string {
	u.mayAwait(of)
	for i := range u.keys {
		u.reads(u.loose, i, of.decidedBy...)
	}
	whole := func() string {
		u.readAll(u.exact, of)
		u.readAll(u.loose, of)
		return of.all()
	}
	if len(of.keys) == 0 || of.mode == "" {
		return whole()
	}
	kinds := []string{"constant", "local", "listed", "listed"}
	if !u.narrow {
		kinds = append(kinds, "whole")
	}
	if u.mode == of.mode && !slices.ContainsFunc(u.keys, func(key string) bool { return !slices.Contains(of.keys, key) }) {
		kinds = append(kinds, "same", "same", "function")
	}
	if u.mode != "" && !u.chain {
		kinds = append(kinds, "computed", "computed", "computed", "loop", "loop")
	}
	if of.mode == "count" && u.mode == "count" {
		kinds = append(kinds, "element", "position")
	}
	if of.mode == "for_each" && u.mode == "for_each" {
		kinds = append(kinds, "lookup")
	}
	if of.mode == "count" && len(of.keys) == 1 {
		kinds = append(kinds, "one")
	}
	kind := u.pick("kind", kinds...)
	// A module argument with the same key everywhere is evaluated once for all instances of the call.
	if (kind == "constant" || kind == "local") && u.meshBlock.module && !of.module {
		u.readAll(u.loose, of)
	}
	read := func(i int, key string) {
		u.reads(u.exact, i, of.object(key))
		u.reads(u.loose, i, of.object(key))
	}
	own := map[string]string{"count": "count.index", "for_each": "each.key"}[u.mode]
	address, attr := of.address(), of.attr()
	if kind != "whole" && kind != "one" && !of.module && u.odds("alias", 30) {
		address, attr = u.drawAlias(of)
	}
	callAlias := kind != "whole" && kind != "one" && of.module && u.odds("call alias", 40)
	if callAlias {
		address, attr = u.drawCallAlias(of)
		if kind == "listed" {
			u.readAll(u.loose, of)
		}
		u.callAliases = append(u.callAliases, of)
	}
	switch kind {
	case "listed":
		return u.drawListed(of, address, attr)
	case "constant", "local":
		key := u.pick("constant key", of.keys...)
		for i := range u.keys {
			read(i, key)
		}
		if kind == "constant" {
			if of.mode == "count" && u.odds("position", 30) {
				return address + ".*" + attr + of.index(key)
			}
			if of.mode == "for_each" && u.odds("order", 30) {
				return fmt.Sprintf("values(%s)[%d]%s", address, slices.Index(slices.Sorted(slices.Values(of.keys)), key), attr)
			}
			return address + of.index(key) + attr
		}
		name := u.name + "_" + of.name
		fmt.Fprintf(&u.main, "locals {\n  %s = %s\n}\n", name, strings.Trim(of.index(key), "[]"))
		return address + "[local." + name + "]" + attr
	case "same", "function":
		for i, key := range u.keys {
			read(i, key)
		}
		if kind == "function" && u.mode == "count" {
			own = "tonumber(format(\"%d\", count.index))"
		} else if kind == "function" {
			own = "lower(upper(each.key))"
		}
		return address + "[" + own + "]" + attr
	case "computed":
		field := "to_" + of.name
		for i := range u.keys {
			key := u.pick("computed key", append([]string{""}, of.keys...)...)
			if key == "" {
				u.values[field] = append(u.values[field], "null")
				u.readsNone(i, of)
				continue
			}
			read(i, key)
			u.values[field] = append(u.values[field], strings.Trim(of.index(key), "[]"))
		}
		u.fields = append(u.fields, field)
		return u.ifSet(u.field(field), address, attr)
	case "loop":
		u.fields = append(u.fields, "all_"+of.name)
		for i := range u.keys {
			none := true
			u.drawKeys("all_"+of.name, of, of.keys, func(key string) {
				read(i, key)
				none = false
			})
			if none {
				u.readsNone(i, of)
			}
		}
		return u.overKeys("all_"+of.name, address, attr)
	case "element":
		by := rapid.IntRange(0, 5).Draw(u.T, "by")
		for i := range u.keys {
			read(i, of.keys[(i+by)%len(of.keys)])
		}
		return fmt.Sprintf(u.pick("element", "element(%[1]s[*]%[2]s, count.index + %[3]d)",
			"element(%[1]s, count.index + %[3]d)%[2]s"), address, attr, by)
	case "position":
		by := rapid.IntRange(0, 5).Draw(u.T, "by")
		for i := range u.keys {
			read(i, of.keys[(i+by)%len(of.keys)])
		}
		return fmt.Sprintf("%s.*%s[(count.index + %d) %% %d]", address, attr, by, len(of.keys))
	case "lookup":
		for i, key := range u.keys {
			if slices.Contains(of.keys, key) {
				read(i, key)
			} else {
				u.readsNone(i, of)
			}
		}
		none := `"-"`
		if attr != "" {
			none = fmt.Sprintf(`{ %s = "-" }`, attr[1:])
		}
		return fmt.Sprintf("lookup(%s, each.key, %s)%s", address, none, attr)
	case "one":
		whole()
		return fmt.Sprintf("one(%s[*])%s", of.address(), of.attr())
	}
	return whole()
}

// drawListed draws an expression for a string that depends on a list of instances of an earlier block,
// the same for all instances of u. The list is usually in a value.
func (u *meshUser) drawListed(of *meshBlock, address, attr string) string {
	var list []string
	for _, key := range of.keys {
		if !u.odds("listed", 50) {
			continue
		}
		list = append(list, strings.Trim(of.index(key), "[]"))
		for i := range u.keys {
			u.reads(u.exact, i, of.object(key))
			u.reads(u.loose, i, of.object(key))
		}
	}
	for i := range u.keys {
		if len(list) == 0 { // the value then waits until it is decided which instances there are
			u.reads(u.loose, i, of.object(wholeBlock))
		}
	}
	u.values["lists"] = append(u.values["lists"], "")
	name := fmt.Sprint(u.name, "_list_", len(u.values["lists"]))
	keys := "[" + strings.Join(list, ", ") + "]"
	if u.odds("keys in a local", 50) {
		fmt.Fprintf(&u.main, "locals {\n  %s_keys = %s\n}\n", name, keys)
		keys = "local." + name + "_keys"
	}
	each := fmt.Sprintf("[for k in %s : %s[k]%s]", keys, address, attr)
	places := []string{"nothing", "local", "local map", "argument"}
	if !of.module {
		places = append(places, "output")
	}
	switch u.pick("list in", places...) {
	case "local":
		fmt.Fprintf(&u.main, "locals {\n  %s = %s\n}\n", name, each)
		return fmt.Sprintf(`join("", local.%s)`, name)
	case "local map":
		fmt.Fprintf(&u.main, "locals {\n  %s = { for k in %s : \"${k}\" => %s[k]%s }\n}\n", name, keys, address, attr)
		return fmt.Sprintf(`join("", values(local.%s))`, name)
	case "argument":
		u.modules["list_"+name+"/main.tf"] = "variable \"list\" {}\noutput \"all\" {\n  value = join(\"\", var.list)\n}\n"
		fmt.Fprintf(&u.main, "module \"list_%[1]s\" {\n  source = \"./list_%[1]s\"\n  list   = %[2]s\n}\n", name, each)
		return "module.list_" + name + ".all"
	case "output":
		u.modules["list_"+name+"/main.tf"] = "variable \"all\" {}\nvariable \"keys\" {}\noutput \"all\" {\n" +
			"  value = join(\"\", [for k in var.keys : var.all[k]" + attr + "])\n}\n"
		fmt.Fprintf(&u.main, "module \"list_%[1]s\" {\n  source = \"./list_%[1]s\"\n  all    = %[2]s\n  keys   = %[3]s\n}\n",
			name, address, keys)
		return "module.list_" + name + ".all"
	}
	return fmt.Sprintf(`join("", %s)`, each)
}

// drawAlias draws a value that is the whole block, or a map or list with an element for each of its
// instances. It returns the address of the value, and the path to append to an indexed address, such
// as ".id".
func (u *meshUser) drawAlias(of *meshBlock) (address, attr string) {
	u.wholes++
	name := fmt.Sprint(u.name, "_all_", of.name, u.wholes)
	define := func(name, value string) string {
		fmt.Fprintf(&u.main, "locals {\n  %s = %s\n}\n", name, value)
		return "local." + name
	}
	kinds := []string{"local", "local of a local", "output", "typed output"}
	if of.mode == "for_each" {
		kinds = append(kinds, "map", "map of a local")
	}
	if of.mode == "count" {
		kinds = append(kinds, "list", "list of a local", "output with a list", "output with a typed list")
	}
	pass := func(typ, all string) string {
		u.modules["pass_"+name+"/main.tf"] = "variable \"all\" {\n" + typ + "}\noutput \"all\" {\n  value = var.all\n}\n"
		fmt.Fprintf(&u.main, "module \"pass_%[1]s\" {\n  source = \"./pass_%[1]s\"\n  all    = %[2]s\n}\n", name, all)
		return "module.pass_" + name + ".all"
	}
	element := fmt.Sprintf("{ for k, o in %%s : k => o%s }", of.attr())
	list := func(of, attr string) string {
		return fmt.Sprintf(u.pick("list", "%s[*]%s", "%s.*%s", "[for o in %s : o%s]"), of, attr)
	}
	switch u.pick("alias kind", kinds...) {
	case "local of a local":
		return define(name, define(name+"_first", of.address())), of.attr()
	case "output":
		return pass("", of.address()), of.attr()
	case "typed output":
		collection := map[string]string{"count": "list", "for_each": "map"}[of.mode]
		return pass("  type = "+collection+"(object({ "+strings.Trim(of.attr(), ".")+" = string }))\n",
			of.address()), of.attr()
	case "map":
		return define(name, fmt.Sprintf(element, of.address())), ""
	case "list":
		return define(name, list(of.address(), of.attr())), ""
	case "list of a local":
		return define(name, list(define(name+"_first", list(of.address(), of.attr())), "")), ""
	case "output with a list":
		return pass("", list(of.address(), of.attr())), ""
	case "output with a typed list":
		return pass("  type = list(string)\n", list(of.address(), of.attr())), ""
	case "map of a local":
		return define(name, fmt.Sprintf(element, define(name+"_first", of.address()))), ""
	}
	return define(name, of.address()), of.attr()
}

// drawCallAlias draws a local that is a whole module call. It returns the same as drawAlias.
func (u *meshUser) drawCallAlias(of *meshBlock) (address, attr string) {
	u.wholes++
	name, value := fmt.Sprint(u.name, "_call_", of.name, u.wholes), of.address()
	if u.odds("call of a local", 30) {
		fmt.Fprintf(&u.main, "locals {\n  %s_first = %s\n}\n", name, value)
		value = "local." + name + "_first"
	}
	attr = of.attr()
	if of.mode == "for_each" && u.odds("map of outputs", 50) {
		value, attr = "{ for k, o in "+value+" : k => o"+attr+" }", ""
	}
	fmt.Fprintf(&u.main, "locals {\n  %s = %s\n}\n", name, value)
	return "local." + name, attr
}

// field returns the expression for a value that differs between instances.
func (u *meshUser) field(name string) string {
	if u.mode == "count" {
		return "local." + u.name + "_fields[count.index]." + name
	}
	return "each.value." + name
}

func (u *meshUser) ifSet(key, address, attr string) string {
	return fmt.Sprintf(`%s == null ? "-" : %s[%s]%s`, key, address, key, attr)
}

// drawKeys draws a list of some of a block's keys, which is a field of the next instance of u.
func (u *meshUser) drawKeys(field string, of *meshBlock, from []string, read func(key string)) {
	list := []string{"null"}
	for _, key := range from {
		if u.odds("in list", 40) {
			read(key)
			list = append(list, strings.Trim(of.index(key), "[]"))
		}
	}
	u.values[field] = append(u.values[field], "["+strings.Join(list, ", ")+"]")
}

// overKeys returns an expression for a string that depends on some of the instances at an address.
// The given field of u holds their keys.
func (u *meshUser) overKeys(field, address, attr string) string {
	return fmt.Sprintf(u.pick("loop", `join("", [for k in %[1]s : %[2]s[k]%[3]s if k != null])`,
		`join("", [for k in %[1]s : k == null ? "" : %[2]s[k]%[3]s])`,
		`join("", values({ for k in %[1]s : "${k}+" => %[2]s[k]%[3]s if k != null }))`,
		`join("", flatten([for l in [%[1]s] : [for k in l : %[2]s["${k}"]%[3]s if k != null]]))`),
		u.field(field), address, attr)
}

// drawOwn draws a reference to earlier instances of the same block. It may return "" instead.
func (u *meshUser) drawOwn() string {
	if u.mode == "" || u.chain || !u.odds("own", 35) {
		return ""
	}
	for _, of := range u.callAliases {
		u.readAll(u.loose, of)
	}
	read := func(i, of int) {
		u.reads(u.exact, i, u.object(u.keys[of]))
		u.reads(u.loose, i, u.object(u.keys[of]))
	}
	if u.mode == "count" && u.odds("chain", 50) {
		for i := 1; i < len(u.keys); i++ {
			read(i, i-1)
		}
		return fmt.Sprintf(`count.index == 0 ? "-" : %s[count.index - 1]%s`, u.address(), u.attr())
	}
	if u.odds("several", 40) {
		u.fields = append(u.fields, "after")
		for i := range u.keys {
			u.drawKeys("after", u.meshBlock, u.keys[:i], func(key string) { read(i, slices.Index(u.keys, key)) })
		}
		return u.overKeys("after", u.address(), u.attr())
	}
	for i := range u.keys {
		parent := rapid.IntRange(-1, i-1).Draw(u.T, "parent")
		if parent < 0 {
			u.values["up"] = append(u.values["up"], "null")
			continue
		}
		read(i, parent)
		u.values["up"] = append(u.values["up"], strings.Trim(u.index(u.keys[parent]), "[]"))
	}
	u.fields = append(u.fields, "up")
	return u.ifSet(u.field("up"), u.address(), u.attr())
}

// repetition returns the count or for_each argument. All references of the block must have been
// drawn before, because their values are part of the argument.
func (u *meshUser) repetition() string {
	object := func(i int) string {
		var parts []string
		for _, f := range u.fields {
			parts = append(parts, f+" = "+u.values[f][i])
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	var all []string
	switch u.mode {
	case "count":
		for i := range u.keys {
			all = append(all, object(i))
		}
		if len(u.fields) > 0 {
			fmt.Fprintf(&u.main, "locals {\n  %s_fields = [%s]\n}\n", u.name, strings.Join(all, ", "))
		}
		return fmt.Sprintf("  count = %d\n", len(u.keys))
	case "for_each":
		for i, key := range u.keys {
			all = append(all, key+" = "+object(i))
		}
		return "  for_each = { " + strings.Join(all, ", ") + " }\n"
	}
	return ""
}

// key returns the template expression for an instance's key, which is a part of the object's name.
func (b *meshBlock) key() string {
	return map[string]string{"": "-", "count": "${count.index}", "for_each": "${each.key}"}[b.mode]
}

// drawRefs draws references to some of the earlier blocks.
func (u *meshUser) drawRefs() (parts []string) {
	if len(u.blocks) == 0 {
		return nil
	}
	from, fewest := u.blocks, 0
	if u.narrow {
		from, fewest = from[max(0, len(from)-2):], 1
	}
	for _, of := range rapid.SliceOfNDistinct(rapid.SampledFrom(from), fewest, min(2, len(from)),
		rapid.ID[*meshBlock]).Draw(u.T, "refs") {
		parts = append(parts, "${"+u.drawRef(of)+"}")
	}
	return parts
}

func (m *mesh) drawBlock(name string, shape meshShape) {
	u := m.user(m.newBlock(name, shape))
	u.data = m.odds("data", 25)
	var repetition string
	var parts []string
	chained := m.drawChain(u.meshBlock)
	if of := chained; of != nil {
		u.mayAwait(of)
		address, attr := u.drawChainAddress(of)
		u.chain, u.keys, repetition = true, of.keys, "  for_each = "+address+"\n"
		for i, key := range u.keys {
			u.reads(m.exact, i, of.object(key))
			u.reads(m.loose, i, of.object(key))
		}
		parts = append(parts, "${each.value"+attr+"}")
	}
	parts = append(parts, u.drawRefs()...)
	if own := u.drawOwn(); own != "" {
		parts = append(parts, "${"+own+"}")
	}
	if !u.chain {
		repetition = u.repetition()
	}
	token := ""
	if !u.data {
		token = u.drawToken(repetition)
	}
	key := map[string]string{"": `"-"`, "count": "count.index", "for_each": "each.key"}[u.mode]
	parts = append(parts, m.version(name, u.keys, key))
	if u.data {
		fmt.Fprintf(&m.main, "data \"fake_find\" %q {\n%s  name = \"%s:%s %s\"\n", name, repetition, name, u.key(),
			strings.Join(parts, " "))
	} else {
		fmt.Fprintf(&m.main, "resource \"fake_thing\" %q {\n%s  name = \"%s:%s\"\n  v    = \"%s\"\n%s", name, repetition,
			name, u.key(), strings.Join(parts, " "), token)
	}
	if len(m.blocks) > 0 && !m.narrow && m.odds("depends", 12) {
		of := rapid.SampledFrom(m.blocks).Draw(m.T, "depends on")
		fmt.Fprintf(&m.main, "  depends_on = [%s]\n", of.address())
		u.mayAwait(of)
		u.readAll(m.exact, of)
		u.readAll(m.loose, of)
	}
	m.main.WriteString("}\n")
	if chained != nil {
		u.decidedBy = chained.decidedBy
		if slices.Contains(u.whole, chained) {
			u.decidedBy = slices.Concat(u.decidedBy, chained.objects(), []string{chained.object(wholeBlock)})
		}
	}
	m.blocks = append(m.blocks, u.meshBlock)
}

// drawToken draws an ephemeral resource that only u reads. Each instance of u reads the object with
// the same key. drawToken returns the argument of u that reads the object, or "" if it draws none.
func (u *meshUser) drawToken(repetition string) string {
	if !u.odds("token", 25) {
		return ""
	}
	t := u.user(&meshBlock{name: u.name + "t", mode: u.mode, keys: u.keys, reader: u.name})
	t.chain = u.chain
	parts := t.drawRefs()
	if own := t.drawOwn(); own != "" {
		parts = append(parts, "${"+own+"}")
		for i := range u.keys {
			for of := range i {
				u.reads(u.loose, i, t.object(u.keys[of]))
			}
		}
	}
	if !t.chain {
		repetition = t.repetition()
	}
	fmt.Fprintf(&u.main, "ephemeral \"fake_token\" %q {\n%s  name = \"%s:%s %s\"\n}\n", t.name, repetition, t.name, t.key(),
		strings.Join(parts, " "))
	index := map[string]string{"": "", "count": "[count.index]", "for_each": "[each.key]"}[u.mode]
	return "  w    = " + t.address() + index + ".value\n"
}

// drawChain draws an earlier block that b uses as its for_each, or returns nil.
func (m *mesh) drawChain(b *meshBlock) *meshBlock {
	var from []*meshBlock
	for _, of := range m.blocks {
		if b.mode == "for_each" && of.mode == "for_each" {
			from = append(from, of)
		}
	}
	if len(from) == 0 || !m.odds("chained", 25) {
		return nil
	}
	return rapid.SampledFrom(from).Draw(m.T, "chained to")
}

// drawChainAddress returns the address of an earlier block that u uses as its for_each, and the
// path to append to each.value.
func (u *meshUser) drawChainAddress(of *meshBlock) (address, attr string) {
	switch {
	case !of.module && u.odds("chain by alias", 40):
		return u.drawAlias(of)
	case of.module && u.odds("chain by call alias", 40):
		return u.drawCallAlias(of)
	}
	return of.address(), of.attr()
}

// drawCall draws a module and its call. In the module, p and q refer to the input variable, and q
// also refers to p.
func (m *mesh) drawCall(name string, shape meshShape) {
	b := m.newBlock(name, shape)
	b.module = true
	u := m.user(b)
	parts := []string{"i"}
	chained, address := m.drawChain(b), ""
	if chained != nil {
		var attr string
		address, attr = u.drawChainAddress(chained)
		u.mayAwait(chained)
		u.chain, u.keys, u.decidedBy = true, chained.keys, chained.decidedBy
		for i, key := range u.keys {
			u.reads(m.exact, i, chained.object(key))
			u.reads(m.loose, i, chained.object(key))
		}
		parts = append(parts, "${each.value"+attr+"}")
	}
	parts = append(parts, u.drawRefs()...)
	if own := u.drawOwn(); own != "" {
		parts = append(parts, "${"+own+"}")
	}
	repetition := u.repetition()
	if chained != nil {
		repetition = "  for_each = " + address + "\n"
	}
	fmt.Fprintf(&m.main, "module %q {\n%s  source = \"./%s\"\n  key    = \"%s\"\n  in     = \"%s\"\n}\n", b.name,
		repetition, b.name, b.key(), strings.Join(parts, " "))
	file := b.name + "/main.tf"
	if shape[b.name+" inner"] != "" {
		m.modules[file] = `variable "key" {}
variable "in" {}
locals {
  given = var.in
}
module "inner" {
  source = "./inner"
  key    = var.key
  in     = local.given
}
output "out" {
  value = module.inner.out
}
`
		file = b.name + "/inner/main.tf"
	}
	p, q := m.version(b.name+"p", u.keys, "var.key"), m.version(b.name+"q", u.keys, "var.key")
	m.modules[file] = strings.ReplaceAll(fmt.Sprintf(`variable "key" {}
variable "in" {}
locals {
  made = fake_thing.p.id
}
resource "fake_thing" "p" {
  name = "NAMEp:${var.key}"
  v    = "%s ${var.in}"
}
resource "fake_thing" "q" {
  name = "NAMEq:${var.key}"
  v    = "%s ${%s} ${var.in}"
}
output "out" {
  value = fake_thing.q.id
}
`, p, q, m.pick("inner", "fake_thing.p.id", "local.made")), "NAME", b.name)
	for _, key := range b.keys {
		for _, in := range []map[string]map[string]bool{m.exact, m.loose} {
			q := meshObject(b.name+"q", key)
			if in[q] == nil {
				in[q] = map[string]bool{}
			}
			in[q][meshObject(b.name+"p", key)] = true
		}
	}
	m.blocks = append(m.blocks, b)
}
