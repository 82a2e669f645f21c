package enginetest

import (
	"fmt"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// unitKinds are the parts of configurations: resources in the root module, data sources, and calls
// of modules with two resources each.
var unitKinds = []struct{ name, typ string }{
	{"r0", "fake_thing"}, {"r1", "fake_thing"}, {"r2", "fake_thing"}, {"r3", "fake_unit"},
	{"other", "other_thing"}, {"aliased", "fake_thing"},
	{"imp", "fake_unit"}, {"d0", "data.fake_find"}, {"d1", "data.fake_find"}, {"m", "module"}, {"n", "module"},
}

// unit is one part of a configuration.
type unit struct {
	name, typ string
	label     string // name in the configuration
	mode      string // "", "count", "for_each", "enabled"
	n         int    // number of instances; 0 or 1 with "enabled"
	steady    bool
	chained   *unit    // unit that for_each iterates over
	made      []string // names of the module's resources, as they appear in object names
}

func (u *unit) isModule() bool { return u.typ == "module" }

func (u *unit) isData() bool { return strings.HasPrefix(u.typ, "data.") }

func (u *unit) address() string { return u.typ + "." + u.label }

// keys returns the keys of the unit's instances as they appear in object names.
func (u *unit) keys() []string {
	switch {
	case u.mode == "":
		return []string{"s"}
	case u.mode == "count" && !u.steady:
		return []string{"0", "1"}[:u.n]
	case u.mode == "for_each" && !u.steady:
		return []string{"x", "y"}[:u.n]
	}
	return []string{"s"}[:u.n]
}

// instances returns the keys of the unit's instances as they appear in addresses.
func (u *unit) instances() []string {
	switch u.mode {
	case "count":
		return []string{"[0]", "[1]"}[:u.n]
	case "for_each":
		return []string{`["x"]`, `["y"]`}[:u.n]
	case "":
		return []string{""}
	}
	return []string{""}[:u.n]
}

// objects returns the names of the unit's objects.
func (u *unit) objects() []string {
	var out []string
	for _, key := range u.keys() {
		if u.isModule() {
			for _, name := range u.made {
				out = append(out, u.name+name+":"+key+":s")
			}
		} else if !u.isData() {
			out = append(out, u.name+"::"+key)
		}
	}
	return out
}

// repeat returns the meta-argument that repeats the unit, and the expression for its instance key.
func (u *unit) repeat() (arg, key string) {
	switch u.mode {
	case "count":
		arg, key = fmt.Sprintf("  count = %d\n", u.n), "count.index"
	case "for_each":
		arg, key = fmt.Sprintf("  for_each = toset(slice([\"x\", \"y\"], 0, %d))\n", u.n), "each.key"
	case "enabled":
		arg = fmt.Sprintf("  lifecycle {\n    enabled = %v\n  }\n", u.n == 1)
	}
	if key == "" || u.steady {
		key = `"s"`
	}
	return arg, key
}

// result returns the name of the attribute or output that depends on an object of the unit.
func (u *unit) result() string {
	switch {
	case u.isModule():
		return "out"
	case u.isData():
		return "text"
	}
	return "id"
}

// expr returns an expression for a string that depends on the unit's objects.
func (u *unit) expr() string { return u.attr(u.result()) }

func (u *unit) attr(name string) string {
	switch u.mode {
	case "count":
		return fmt.Sprintf(`join("", %s[*].%s)`, u.address(), name)
	case "for_each":
		return fmt.Sprintf(`join("", values(%s)[*].%s)`, u.address(), name)
	case "enabled":
		return fmt.Sprintf(`try(%s.%s, "off")`, u.address(), name)
	}
	return u.address() + "." + name
}

// single is like expr, but if there are several instances, it refers only to the first or last one.
func (u *unit) single(last bool) string {
	whole := u.expr()
	if keys := u.instances(); len(keys) > 0 && keys[0] != "" {
		key := keys[0]
		if last {
			key = keys[len(keys)-1]
		}
		return u.address() + key + whole[strings.LastIndex(whole, "."):strings.LastIndex(whole, ")")]
	}
	return whole
}

// page is a configuration under construction.
type page struct {
	*plot
	main    strings.Builder
	files   map[string]string
	units   map[string]*unit
	order   []*unit         // units drawn so far
	tokens  bool            // whether the configuration has an ephemeral token
	single  bool            // whether some expressions refer only to first instances
	indexed bool            // whether some expressions refer only to instances with the same key
	wholes  int             // number of values that are whole units
	used    map[string]bool // keys of the provider instances that the configuration uses
	secrets map[string]bool // the secret variables that are declared
}

func (g *page) writef(format string, args ...any) { fmt.Fprintf(&g.main, format, args...) }

// any draws one of the preceding units.
func (g *page) any(label string) *unit { return rapid.SampledFrom(g.order).Draw(g.T, label) }

// drawFiles draws a configuration. The units are in random order, and each may refer to the units
// before it.
func (p *plot) drawFiles() *page {
	g := &page{plot: p, files: map[string]string{}, units: map[string]*unit{}, used: map[string]bool{},
		secrets: map[string]bool{}}
	hosted := false
	for _, kind := range rapid.Permutation(unitKinds).Draw(p.T, "order") {
		if !p.odds("present", 65) {
			continue
		}
		u := &unit{name: kind.name, typ: kind.typ, steady: p.steady[kind.name]}
		u.mode, u.n = p.pick("mode", "", "", "count", "for_each", "enabled"), rapid.IntRange(0, 2).Draw(p.T, "n")
		if p.own[u.name] {
			u.mode = ""
		}
		if u.steady || u.mode == "enabled" {
			u.n = min(u.n, 1)
		}
		p.label(u)
		if u.name == "other" {
			hosted = true
			g.drawProvider()
		}
		if u.name == "r2" || u.name == "other" {
			g.drawToken()
		}
		g.drawUnit(u)
		g.order = append(g.order, u)
		g.units[u.name] = u
	}
	if !hosted && g.odds("unused provider", 50) {
		g.writef("provider \"other\" {\n  host = \"here\"\n}\n")
	}
	g.drawInstances()
	g.writef("locals {\n  keys = { 0 = 0, 1 = 1, x = \"x\", y = \"y\" }\n" +
		"  before = { 0 = null, 1 = 0, x = null, y = \"x\" }\n  after = { x = \"y\", y = null }\n}\n")
	g.drawCheck()
	if len(g.order) > 0 {
		g.writef("output \"o\" {\n  value = %s\n}\n", g.order[len(g.order)-1].expr())
	}
	g.files["main.tf"] = g.main.String()
	return g
}

// drawInstances configures the provider with instances. It may leave out the instances that the
// configuration doesn't use, even if the objects of a previous chapter need them.
func (g *page) drawInstances() {
	var keys []string
	for _, key := range []string{"x", "y"} {
		if g.used[key] || g.odds("unused instance", 50) {
			keys = append(keys, strconv.Quote(key))
		}
	}
	host := g.pick("host of instances", "each.key", `"${each.key} ${`+g.drawSecret()+`}"`)
	if len(keys) > 0 || len(g.used) > 0 || g.odds("no instance", 50) {
		g.writef("provider \"fake\" {\n  alias    = \"by\"\n  for_each = toset([%s])\n  host     = %s\n}\n",
			strings.Join(keys, ", "), host)
	}
}

// Secret is the start of the values of all secret variables. No state may have it.
const Secret = "hidden "

// drawSecret draws a reference to a secret variable of the root module. Another chapter may not declare the
// variable, or name it otherwise, while the state has the provider configuration that read it.
func (g *page) drawSecret() string {
	name := g.pick("secret", "secret", "renamed")
	if !g.secrets[name] {
		g.secrets[name] = true
		g.writef("variable %q {\n  default   = %q\n  sensitive = true\n}\n", name, Secret+name)
	}
	return "var." + name
}

// drawProvider configures the second provider, possibly from a unit or a token.
func (g *page) drawProvider() {
	host := `"here"`
	switch {
	case g.odds("host is secret", 30):
		host = g.drawSecret()
	case g.tokens && g.odds("host is token", 40):
		host = "ephemeral.fake_token.e.value"
	case len(g.order) > 0 && g.odds("host refers", 50):
		host = g.drawExpr(g.any("host"))
	}
	g.writef("provider \"other\" {\n  host = %s\n}\n", host)
}

// drawToken may draw an ephemeral resource, which may refer to a unit. It draws at most one.
func (g *page) drawToken() {
	if g.tokens || !g.odds("token", 40) {
		return
	}
	g.tokens = true
	name := `"e"`
	if len(g.order) > 0 && g.odds("token refers", 50) {
		name = g.any("token of").expr()
	}
	g.writef("ephemeral \"fake_token\" \"e\" {\n  name = \"${%s}\"\n}\n", name)
}

// drawExpr draws an expression for a string that depends on some of a unit's objects.
func (g *page) drawExpr(u *unit) string {
	if g.odds("first", 30) {
		g.single = true
		return u.single(g.odds("last", 40))
	}
	return u.expr()
}

// drawSame draws an expression for a string that depends on some of u's objects, for use in the
// block of user. The expression may read only the object of u that has the same key as the current
// instance of user.
func (g *page) drawSame(user, u *unit) string {
	if user.chained == u && g.odds("each.value", 60) {
		return "each.value." + u.result()
	}
	if user.mode != u.mode || user.mode != "count" && user.mode != "for_each" || !g.odds("same key", 60) {
		return g.drawExpr(u)
	}
	g.indexed = true
	index := map[string]string{"count": "count.index", "for_each": "each.key"}[user.mode]
	switch {
	case g.odds("in a loop", 20):
		return fmt.Sprintf("join(\"\", [for k in [%s] : try(%s[k].%s, \"none\")])", index, u.address(), u.result())
	case u.mode == "count" && g.odds("element", 20):
		return fmt.Sprintf("try(element(%s[*].%s, count.index), \"none\")", u.address(), u.result())
	}
	index = g.pick("index", index, "local.keys["+index+"]")
	return fmt.Sprintf("try(%s[%s].%s, \"none\")", g.drawWhole(user, u), index, u.result())
}

// drawWhole draws an expression in user for the whole unit u: its address, or a value.
func (g *page) drawWhole(user, u *unit) string {
	if !g.odds("whole value", 30) {
		return u.address()
	}
	g.wholes++
	name := fmt.Sprintf("%s_whole_%d", user.name, g.wholes)
	g.writef("locals {\n  %s = %s\n}\n", name, u.address())
	return "local." + name
}

func (g *page) drawUnit(u *unit) {
	arg, key := u.repeat()
	u.chained = g.drawChain(u)
	if u.chained != nil {
		g.indexed = true
		arg = "  for_each = " + g.drawWhole(u, u.chained) + "\n"
	}
	switch {
	case u.isModule():
		g.drawModule(u, arg, key)
	case u.isData():
		g.drawData(u, arg)
	default:
		v, dependsOn := g.drawValue(u)
		if u.mode == "enabled" {
			arg = ""
		}
		if u.name == "aliased" {
			arg += "  provider = fake.by[" + g.drawProviderKey(u) + "]\n"
		}
		if g.tokens && g.odds("w", 40) {
			arg += "  w = ephemeral.fake_token.e.value\n"
		}
		g.writef("resource %q %q {\n%s  name = \"%s::${%s}\"\n  v = %s\n%s%s}\n", u.typ, u.label, arg, u.name,
			key, v, dependsOn, g.drawFlags(u, true))
	}
}

// drawChain draws a preceding unit that has the same keys as u, so that u can use it as its
// for_each. It may return nil.
func (g *page) drawChain(u *unit) *unit {
	var same []*unit
	for _, of := range g.order {
		if of.mode == "for_each" && u.mode == "for_each" && of.n == u.n && of.n > 0 && !of.isModule() {
			same = append(same, of)
		}
	}
	if len(same) == 0 || !g.odds("chained", 50) {
		return nil
	}
	return rapid.SampledFrom(same).Draw(g.T, "chained to")
}

func (g *page) drawProviderKey(u *unit) string {
	if u.mode == "for_each" && g.odds("by each.key", 50) {
		g.used[""] = true // the block is needed even if there are no keys
		for _, key := range []string{"x", "y"}[:u.n] {
			g.used[key] = true
		}
		return "each.key"
	}
	key := g.pick("provider key", "x", "y")
	g.used[key] = true
	return strconv.Quote(key)
}

// drawData draws a data source that depends on the object that it reads. Its result is therefore up
// to date after every apply.
func (g *page) drawData(u *unit, arg string) {
	name := `"nothing::s"`
	switch of := u.chained; {
	case of != nil && !of.isData() && !of.steady && g.odds("data of instance", 60):
		name = fmt.Sprintf(`"%s::${each.key}${substr(each.value.name, 0, 0)}"`, of.name)
	case len(g.order) > 0:
		of := g.any("data of")
		if objects := of.objects(); len(objects) > 0 {
			name = fmt.Sprintf("%q", rapid.SampledFrom(objects).Draw(g.T, "found"))
		}
		if of.isModule() || of.isData() || g.odds("data depends", 50) {
			arg += "  depends_on = [" + of.address() + "]\n"
		} else {
			name = fmt.Sprintf("\"%s${substr(%s, 0, 0)}\"", strings.Trim(name, `"`), of.attr("name"))
		}
	}
	g.writef("data \"fake_find\" %q {\n%s  name = %s\n}\n", u.label, arg, name)
}

func (g *page) drawModule(u *unit, arg, key string) {
	v, dependsOn := g.drawValue(u)
	if g.own[u.name] {
		dependsOn = "" // not allowed for such modules
	}
	if g.keyed[u.name] {
		g.used["x"] = true
		arg += "  providers = {\n    fake = fake.by[\"x\"]\n  }\n"
	}
	g.writef("module %q {\n%s  source = \"./%s\"\n  key = %s\n  in = %s\n%s}\n", u.label, arg, u.name, key, v,
		dependsOn)
	var b strings.Builder
	b.WriteString("variable \"key\" {}\nvariable \"in\" {}\n")
	own := ""
	if g.own[u.name] {
		b.WriteString("provider \"fake\" {\n  alias = \"own\"\n  host  = var.key\n}\n")
		own = "  provider = fake.own\n"
	}
	names := map[string]string{g.innerLabel(u.name, "p"): "p", "q": "q"}
	first, second := g.innerLabel(u.name, "p"), "q"
	if first != "p" && g.odds("moved within", 70) {
		fmt.Fprintf(&b, "moved {\n  from = fake_thing.p\n  to   = fake_thing.%s\n}\n", first)
	}
	if g.odds("swap", 50) {
		first, second = second, first
	}
	made := []string{first, second}
	if g.odds("one gone", 12) {
		made = made[:1]
		if g.odds("removed within", 60) {
			fmt.Fprintf(&b, "removed {\n  from = fake_thing.%s\n  lifecycle {\n    destroy = %v\n  }\n}\n",
				second, g.odds("destroyed within", 60))
		}
	}
	inner := []string{"fake_thing." + first + ".id", `"${var.in}2"`, `"const"`}
	var out []string
	for _, label := range made {
		out = append(out, "fake_thing."+label+".id")
		u.made = append(u.made, names[label])
	}
	if g.odds("data in module", 30) {
		fmt.Fprintf(&b, "data \"fake_find\" \"l\" {\n  name = \"%s%s:${var.key}:s\"\n  depends_on = "+
			"[fake_thing.%s]\n}\n", u.name, names[first], first)
		inner, out = append(inner, "data.fake_find.l.text"), append(out, "data.fake_find.l.text")
	}
	for i, label := range made {
		v := "var.in"
		if i == 1 {
			v = g.pick("inner", inner...)
		}
		fmt.Fprintf(&b, "resource \"fake_thing\" %q {\n%s  name = \"%s%s:${var.key}:s\"\n  v = %s\n%s}\n", label,
			own, u.name, names[label], v, g.drawFlags(&unit{}, false))
	}
	fmt.Fprintf(&b, "output \"out\" {\n  value = %s\n}\n", g.pick("out", out...))
	g.files[u.name+"/main.tf"] = b.String()
}

// drawValue draws an expression that refers to preceding units, directly or through local values.
// It may also draw a depends_on argument.
func (g *page) drawValue(u *unit) (v, dependsOn string) {
	v = g.pick("literal", "1", "2")
	var refs []*unit
	if len(g.order) > 0 {
		refs = rapid.SliceOfNDistinct(rapid.SampledFrom(g.order), 0, min(2, len(g.order)),
			rapid.ID[*unit]).Draw(g.T, "refs")
	}
	for _, ref := range refs {
		switch rapid.IntRange(0, 3).Draw(g.T, "how") {
		case 0:
			dependsOn = "  depends_on = [" + ref.address() + "]\n"
		case 1:
			local := u.name + "_" + ref.name
			g.writef("locals {\n  %s = %s\n}\n", local, g.drawExpr(ref))
			v += "${local." + local + "}"
		default:
			v += "${" + g.drawSame(u, ref) + "}"
		}
	}
	return `"` + v + g.drawOwn(u) + `"`, dependsOn
}

// drawOwn draws a part of a string template that depends on another instance of the same unit. It
// may return "".
func (g *page) drawOwn(u *unit) string {
	if u.isModule() || u.isData() || u.mode != "count" && u.mode != "for_each" || !g.odds("own", 30) {
		return ""
	}
	g.indexed = true
	index := map[string][]string{
		"count":    {"count.index - 1", "count.index + 1", "local.before[count.index]"},
		"for_each": {"local.before[each.key]", "local.after[each.key]"},
	}[u.mode]
	own := g.pick("own index", index...)
	if g.odds("own in a loop", 30) {
		return fmt.Sprintf("${join(\"\", [for k in [%s] : try(%s[k].id, \"end\")])}", own, u.address())
	}
	return fmt.Sprintf("${try(%s[%s].id, \"end\")}", u.address(), own)
}

// drawFlags draws arguments that affect replacement. If refers is set, the arguments may refer to
// preceding units.
func (g *page) drawFlags(u *unit, refers bool) string {
	refers = refers && len(g.order) > 0
	f := fmt.Sprintf("%q", g.pick("f", "1", "2"))
	if refers && g.odds("f refers", 25) {
		f = g.drawExpr(g.any("f of"))
	}
	lifecycle := ""
	if g.odds("cbd", 25) {
		lifecycle += "    create_before_destroy = true\n"
	}
	if u.mode == "enabled" {
		lifecycle += fmt.Sprintf("    enabled = %v\n", u.n == 1)
	}
	if g.odds("forgets", 4) {
		lifecycle += "    destroy = false\n"
	}
	if g.odds("ignore", 8) {
		lifecycle += "    ignore_changes = [v]\n"
	}
	if refers && g.odds("condition", 20) {
		lifecycle += fmt.Sprintf("    precondition {\n      condition = %s != \"never\"\n      error_message "+
			"= \"never\"\n    }\n", g.any("condition of").expr())
	}
	if refers && g.odds("triggers", 15) {
		if by := g.any("trigger"); !by.isModule() && !by.isData() {
			lifecycle += "    replace_triggered_by = [" + by.address() + "]\n"
		}
	}
	if lifecycle != "" {
		lifecycle = "  lifecycle {\n" + lifecycle + "  }\n"
	}
	return "  f = " + f + "\n" + lifecycle
}

// drawCheck may draw a check block that refers to a unit. The check block reads an object that may
// not exist.
func (g *page) drawCheck() {
	if len(g.order) == 0 || !g.odds("check", 33) {
		return
	}
	dependsOn := ""
	if g.odds("check depends", 50) {
		dependsOn = "    depends_on = [" + g.any("check dependency").address() + "]\n"
	}
	g.writef("check \"k\" {\n  data \"fake_read\" \"seen\" {\n    name = %q\n%s  }\n", g.drawName(), dependsOn)
	g.writef("  assert {\n    condition = %s != \"never\" && data.fake_read.seen.id != \"\"\n    "+
		"error_message = \"k\"\n  }\n}\n", g.any("checked").expr())
}
