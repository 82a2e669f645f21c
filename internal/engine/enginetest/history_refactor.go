package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// label sets the name of a unit in the configuration. It occasionally changes the name, the type,
// or the name of a resource within a module.
func (p *plot) label(u *unit) {
	if p.before[u.name] != nil && p.odds("rename", 15) {
		p.labels[u.name]++
	}
	u.label = u.name
	if n := p.labels[u.name]; n > 0 {
		u.label = fmt.Sprintf("%s_%d", u.name, n)
	}
	if u.typ == "fake_thing" && (p.retyped[u.name] || p.before[u.name] != nil && p.odds("retype", 8)) {
		p.retyped[u.name] = true
		u.typ = "fake_unit"
	}
	if u.isModule() && p.before[u.name] != nil && p.odds("rename within", 10) {
		p.inner[u.name] = true
	}
}

// innerLabel returns the name of a module's resource in the configuration.
func (p *plot) innerLabel(module, name string) string {
	if name == "p" && p.inner[module] {
		return "pp"
	}
	return name
}

// refactor adds moved and removed blocks for most objects that have a new address or are no longer
// in the configuration.
func (p *plot) refactor(g *page) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.before)) {
		was, is := p.before[name], g.units[name]
		switch {
		case was.isData():
		case is == nil:
			p.drawRemoved(&b, was)
		case is.address() != was.address():
			if p.odds("moved", 70) {
				p.moved[was.address()] = is.address()
			}
		case is.mode != was.mode && p.labels[name] == 0 && p.odds("moved key", 60):
			p.moveKey(&b, was, is)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(p.moved)) {
		fmt.Fprintf(&b, "moved {\n  from = %s\n  to   = %s\n}\n", from, p.moved[from])
	}
	p.moveIntoModule(&b, g)
	p.moveOutOfModule(&b, g)
	p.moveBetweenModules(&b, g)
	if b.Len() > 0 {
		g.files["refactoring.tf"] = b.String()
	}
}

// drawRemoved draws a removed block for a unit, which forgets or destroys its objects.
func (p *plot) drawRemoved(b *strings.Builder, was *unit) {
	if !p.odds("removed", 40) {
		return
	}
	maps.DeleteFunc(p.moved, func(from, _ string) bool { return strings.Contains(from, "."+was.name) })
	fmt.Fprintf(b, "removed {\n  from = %s\n  lifecycle {\n    destroy = %v\n  }\n}\n", was.address(),
		p.odds("destroyed", 60))
}

// moveKey may move one instance of a unit to another key if the unit's repetition changed.
func (p *plot) moveKey(b *strings.Builder, was, is *unit) {
	if len(was.instances()) == 0 || len(is.instances()) == 0 {
		return
	}
	from := rapid.SampledFrom(was.instances()).Draw(p.T, "moved instance")
	to := rapid.SampledFrom(is.instances()).Draw(p.T, "moved to")
	if from != to {
		fmt.Fprintf(b, "moved {\n  from = %s%s\n  to   = %s%s\n}\n", was.address(), from, is.address(), to)
	}
}

// moveIntoModule may move a resource into a new module if it is no longer in the root module.
func (p *plot) moveIntoModule(b *strings.Builder, g *page) {
	was, m := p.before["r1"], g.units["m"]
	if was == nil || m == nil || g.units["r1"] != nil || p.before["m"] != nil || was.mode != "" ||
		was.typ != "fake_thing" || len(m.instances()) == 0 {
		return
	}
	p.move(b, "into module", was.address(), fmt.Sprintf("%s%s.fake_thing.%s", m.address(), m.instances()[0],
		p.innerLabel("m", "p")))
}

// moveOutOfModule may move a resource into the root module, from a module that the configuration no
// longer calls.
func (p *plot) moveOutOfModule(b *strings.Builder, g *page) {
	was, r := p.before["m"], g.units["r2"]
	if was == nil || r == nil || g.units["m"] != nil || p.before["r2"] != nil || len(was.instances()) == 0 ||
		len(r.instances()) == 0 {
		return
	}
	p.move(b, "out of module", was.address()+was.instances()[0]+".fake_thing.q", r.address()+r.instances()[0])
}

// moveBetweenModules may move everything into a new module, from a module that the configuration no
// longer calls.
func (p *plot) moveBetweenModules(b *strings.Builder, g *page) {
	was, is := p.before["n"], g.units["m"]
	if was == nil || is == nil || g.units["n"] != nil || p.before["m"] != nil || p.inner["n"] ||
		strings.Contains(b.String(), " = "+is.address()) {
		return
	}
	if len(was.instances()) == 1 && len(is.instances()) == 1 {
		p.move(b, "between modules", was.address()+was.instances()[0], is.address()+is.instances()[0])
	}
}

// move may write a moved block. It writes none if another block already applies to the same object,
// or moves something to the same unit.
func (p *plot) move(b *strings.Builder, label, from, to string) {
	unit := func(address string) string {
		block, _, _ := strings.Cut(address, "[")
		return strings.Join(strings.SplitN(block, ".", 3)[:2], ".")
	}
	if p.moved[unit(from)] == "" && !strings.Contains(b.String(), "from = "+unit(from)) &&
		!strings.Contains(b.String(), "to   = "+unit(to)) && p.odds(label, 60) {
		fmt.Fprintf(b, "moved {\n  from = %s\n  to   = %s\n}\n", from, to)
	}
}

// importSome creates objects outside of the engine and imports them, by ID or by identity. It
// writes one import block for each object, or one with for_each.
func (p *plot) importSome(g *page, c *Chapter) {
	u := g.units["imp"]
	if u == nil || !p.odds("import", 50) {
		return
	}
	var b strings.Builder
	repeated := u.mode == "for_each" && p.odds("import for each", 50)
	if repeated {
		b.WriteString("import {\n  to = " + u.address() + "[each.key]\n  id = each.value\n  for_each = {\n")
	}
	for i, key := range u.instances() {
		id := fmt.Sprintf("%s-%d%d", u.objects()[i], 9, p.chapter)
		c.Edits = append(c.Edits, [3]string{id, "+", p.pick("imported v", "1", "2")})
		if repeated {
			fmt.Fprintf(&b, "    %s = %q\n", strings.Trim(key, "[]"), id)
			continue
		}
		by := fmt.Sprintf("id = %q", id)
		if p.odds("by identity", 40) {
			by = fmt.Sprintf("identity = {\n    key = %q\n  }", id)
		}
		fmt.Fprintf(&b, "import {\n  to = %s%s\n  %s\n}\n", u.address(), key, by)
	}
	if repeated {
		b.WriteString("  }\n}\n")
	}
	g.files["imports.tf"] = b.String()
}
