package engine_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/engine"
)

// A history is a random sequence of configurations with what happens to each: failures, interruptions, changes from outside. The
// configurations are made of units that refer to one another in an order that differs from step to step, so that what is stored and
// what is configured contradict each other as they do in real life.
type history []*chapter

// chapter is one step of a history.
type chapter struct {
	files   map[string]string
	edits   [][3]string
	fail    map[string]string
	stop    string
	options engine.PlanOptions
}

func (h history) String() string {
	var b strings.Builder
	for i, c := range h {
		fmt.Fprintf(&b, "== step %d: fail %v stop %q edits %v targets %v\n", i+1, c.fail, c.stop, c.edits, c.options.Targets)
		for _, name := range sortedNames(c.files) {
			fmt.Fprintf(&b, "-- %s --\n%s", name, c.files[name])
		}
	}
	return b.String()
}

func sortedNames(m map[string]string) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// units are what a configuration is made of: resources of the root module, and calls of modules that have two resources each.
var units = []string{"r0", "r1", "r2", "r3", "other", "m", "n"}

// unit is a unit as one configuration has it.
type unit struct {
	name string
	mode string // "", "count", "for_each"
	n    int    // instances of a repeated one
}

func (u *unit) isModule() bool { return u.name == "m" || u.name == "n" }

func (u *unit) address() string {
	switch {
	case u.isModule():
		return "module." + u.name
	case u.name == "other":
		return "other_thing.other"
	}
	return "fake_thing." + u.name
}

// repeat gives the meta-argument and the expression of the instance's key.
func (u *unit) repeat() (arg, key string) {
	switch u.mode {
	case "count":
		return fmt.Sprintf("  count = %d\n", u.n), "count.index"
	case "for_each":
		return fmt.Sprintf("  for_each = toset(slice([\"x\", \"y\"], 0, %d))\n", u.n), "each.key"
	}
	return "", `"s"`
}

// expr is an expression of a text that changes with the unit's objects.
func (u *unit) expr() string {
	attr := "id"
	if u.isModule() {
		attr = "out"
	}
	switch u.mode {
	case "count":
		return fmt.Sprintf(`join("", %s[*].%s)`, u.address(), attr)
	case "for_each":
		return fmt.Sprintf(`join("", values(%s)[*].%s)`, u.address(), attr)
	}
	return u.address() + "." + attr
}

// drawHistory draws a history.
func drawHistory(t *rapid.T, steps int) history {
	var h history
	for range rapid.IntRange(1, steps).Draw(t, "steps") {
		h = append(h, drawChapter(t))
	}
	return h
}

func drawChapter(t *rapid.T) *chapter {
	c := &chapter{fail: map[string]string{}}
	c.files = drawFiles(t)
	odds := func(label string, percent int) bool { return rapid.IntRange(1, 100).Draw(t, label) <= percent }
	for range rapid.IntRange(0, 3).Draw(t, "failures") {
		op := rapid.SampledFrom([]string{"create", "update", "delete"}).Draw(t, "op")
		who := drawName(t)
		how := ""
		if op != "delete" && odds("partial", 30) {
			how = "partial"
		}
		if op != "create" {
			who += fmt.Sprintf("-%d", rapid.IntRange(1, 3).Draw(t, "number"))
		}
		c.fail[op+" "+who] = how
	}
	if odds("stop", 15) {
		c.stop = "create " + drawName(t)
	}
	if odds("edit", 25) {
		id := fmt.Sprintf("%s-%d", drawName(t), rapid.IntRange(1, 3).Draw(t, "number"))
		c.edits = append(c.edits, rapid.SampledFrom([][3]string{{id, "", ""}, {id, "v", "drift"}}).Draw(t, "edit"))
	}
	if odds("target", 15) {
		name := rapid.SampledFrom([]string{"fake_thing.r0", "fake_thing.r2", "other_thing.other", "module.m", "module.n.fake_thing.p"}).Draw(t, "target")
		target, diags := addrs.ParseTargetText(name)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if odds("exclude", 40) {
			c.options.Excludes = []addrs.Target{target}
		} else {
			c.options.Targets = []addrs.Target{target}
		}
	}
	c.options.SkipRefresh = len(c.edits) == 0 && odds("skip refresh", 10)
	return c
}

// drawName draws the name of an object: its unit or resource in a module, its module's key and its own.
func drawName(t *rapid.T) string {
	key := rapid.SampledFrom([]string{"s", "0", "1", "x", "y"})
	if rapid.Bool().Draw(t, "in module") {
		return rapid.SampledFrom([]string{"mp", "mq", "np", "nq"}).Draw(t, "resource") + ":" + key.Draw(t, "key") + ":s"
	}
	return rapid.SampledFrom([]string{"r0", "r1", "r2", "r3", "other"}).Draw(t, "unit") + "::" + key.Draw(t, "key")
}

// drawFiles draws a configuration. Each unit may refer to those before it in a random order.
func drawFiles(t *rapid.T) map[string]string {
	files := map[string]string{}
	var main strings.Builder
	var before []*unit
	hosted := false
	for _, name := range rapid.Permutation(units).Draw(t, "order") {
		if rapid.IntRange(1, 100).Draw(t, "present") > 80 {
			continue
		}
		u := &unit{name: name, mode: rapid.SampledFrom([]string{"", "", "count", "for_each"}).Draw(t, "mode"), n: rapid.IntRange(0, 2).Draw(t, "n")}
		if name == "other" {
			hosted = true
			drawProvider(t, &main, before)
		}
		drawUnit(t, &main, files, u, before)
		before = append(before, u)
	}
	if !hosted {
		drawProvider(t, &main, nil)
	}
	drawCheck(t, &main, before)
	if len(before) > 0 {
		fmt.Fprintf(&main, "output \"o\" {\n  value = %s\n}\n", before[len(before)-1].expr())
	}
	files["main.tf"] = main.String()
	return files
}

// drawProvider configures the second provider, from a unit perhaps.
func drawProvider(t *rapid.T, main *strings.Builder, before []*unit) {
	host := `"here"`
	if len(before) > 0 && rapid.Bool().Draw(t, "host refers") {
		host = rapid.SampledFrom(before).Draw(t, "host").expr()
	}
	fmt.Fprintf(main, "provider \"other\" {\n  host = %s\n}\n", host)
}

func drawUnit(t *rapid.T, main *strings.Builder, files map[string]string, u *unit, before []*unit) {
	arg, key := u.repeat()
	v, dependsOn := drawValue(t, main, u, before)
	if !u.isModule() {
		typ, name, _ := strings.Cut(u.address(), ".")
		fmt.Fprintf(main, "resource %q %q {\n%s  name = \"%s::${%s}\"\n  v = %s\n%s%s}\n", typ, name, arg, u.name, key, v, dependsOn, drawFlags(t, before))
		return
	}
	fmt.Fprintf(main, "module %q {\n%s  source = \"./%s\"\n  key = %s\n  in = %s\n%s}\n", u.name, arg, u.name, key, v, dependsOn)
	var b strings.Builder
	b.WriteString("variable \"key\" {}\nvariable \"in\" {}\n")
	first, second := "p", "q"
	if rapid.Bool().Draw(t, "swap") {
		first, second = "q", "p"
	}
	for i, name := range []string{first, second} {
		v := "var.in"
		if i == 1 {
			v = rapid.SampledFrom([]string{"fake_thing." + first + ".id", `"${var.in}2"`, `"const"`}).Draw(t, "inner")
		}
		fmt.Fprintf(&b, "resource \"fake_thing\" %q {\n  name = \"%s%s:${var.key}:s\"\n  v = %s\n%s}\n", name, u.name, name, v, drawFlags(t, nil))
	}
	fmt.Fprintf(&b, "output \"out\" {\n  value = fake_thing.%s.id\n}\n", rapid.SampledFrom([]string{"p", "q"}).Draw(t, "out"))
	files[u.name+"/main.tf"] = b.String()
}

// drawValue draws an expression over units that come before, perhaps by way of a local, and a depends_on argument.
func drawValue(t *rapid.T, main *strings.Builder, u *unit, before []*unit) (v, dependsOn string) {
	v = rapid.SampledFrom([]string{"1", "2"}).Draw(t, "literal")
	var refs []*unit
	if len(before) > 0 {
		refs = rapid.SliceOfNDistinct(rapid.SampledFrom(before), 0, min(2, len(before)), rapid.ID[*unit]).Draw(t, "refs")
	}
	for _, ref := range refs {
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			dependsOn = "  depends_on = [" + ref.address() + "]\n"
		case 1:
			local := u.name + "_" + ref.name
			fmt.Fprintf(main, "locals {\n  %s = %s\n}\n", local, ref.expr())
			v += "${local." + local + "}"
		default:
			v += "${" + ref.expr() + "}"
		}
	}
	return `"` + v + `"`, dependsOn
}

// drawFlags draws what replaces an object, and how.
func drawFlags(t *rapid.T, before []*unit) string {
	f := fmt.Sprintf("%q", rapid.SampledFrom([]string{"1", "2"}).Draw(t, "f"))
	if len(before) > 0 && rapid.IntRange(0, 3).Draw(t, "f refers") == 0 {
		f = rapid.SampledFrom(before).Draw(t, "f of").expr()
	}
	lifecycle := ""
	if rapid.IntRange(0, 3).Draw(t, "cbd") == 0 {
		lifecycle += "    create_before_destroy = true\n"
	}
	if len(before) > 0 && rapid.IntRange(0, 4).Draw(t, "condition") == 0 {
		lifecycle += fmt.Sprintf("    precondition {\n      condition = %s != \"never\"\n      error_message = \"never\"\n    }\n", rapid.SampledFrom(before).Draw(t, "condition of").expr())
	}
	if lifecycle != "" {
		lifecycle = "  lifecycle {\n" + lifecycle + "  }\n"
	}
	return "  f = " + f + "\n" + lifecycle
}

// drawCheck draws a check block, perhaps, that looks at a unit and reads an object that may or may not exist.
func drawCheck(t *rapid.T, main *strings.Builder, before []*unit) {
	if len(before) == 0 || rapid.IntRange(0, 2).Draw(t, "check") > 0 {
		return
	}
	dependsOn := ""
	if rapid.Bool().Draw(t, "check depends") {
		dependsOn = "    depends_on = [" + rapid.SampledFrom(before).Draw(t, "check dependency").address() + "]\n"
	}
	fmt.Fprintf(main, "check \"k\" {\n  data \"fake_read\" \"seen\" {\n    name = %q\n%s  }\n", drawName(t), dependsOn)
	fmt.Fprintf(main, "  assert {\n    condition = %s != \"never\" && data.fake_read.seen.id != \"\"\n    error_message = \"k\"\n  }\n}\n", rapid.SampledFrom(before).Draw(t, "checked").expr())
}
