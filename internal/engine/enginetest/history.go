package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
)

// A History is a random sequence of configurations, each with failures, interruptions and changes
// made outside of the engine. Configurations consist of units that refer to one another. Which unit
// refers to which differs between steps, so stored dependencies can contradict configured ones, as
// they do in practice.
type History []*Chapter

// A Chapter is one step of a History.
type Chapter struct {
	Files   map[string]string
	Edits   [][3]string       // changes made outside of the engine: ID, attribute and value; see Cloud.Edit
	Fail    map[string]string // calls that fail; see Provider
	Stop    string            // the user interrupts the apply when this call starts
	Kill    bool              // a second interrupt follows at once
	Crash   int               // the process is killed after this many events; 0 for never
	Options engine.PlanOptions
	Single  bool // some references are only to the first or the last of several instances
	Indexed bool // some references are only to the instance with the same key
	// Rewritten is true if another program has written the state before this step, and has dropped
	// the instances on which objects depend.
	Rewritten bool
}

// SetTrouble sets the failures and the interruption of a chapter, and clears those of the previous
// one. abort is called if the chapter has a second interrupt.
func (s *Session) SetTrouble(c *Chapter, abort func()) {
	s.Cloud.Fail, s.Cloud.On, s.Stop = c.Fail, nil, nil
	if c.Stop == "" {
		return
	}
	stop := make(chan struct{})
	s.Stop = stop
	s.Cloud.On = map[string]func(){c.Stop: func() {
		close(stop)
		if c.Kill {
			abort()
		}
	}}
}

func (h History) String() string {
	var b strings.Builder
	for i, c := range h {
		o := &c.Options
		fmt.Fprintf(&b, "== step %d: fail %v stop %q kill %v crash %d edits %v targets %v excludes %v replace "+
			"%v mode %v no refresh %v rewritten %v\n", i+1, c.Fail, c.Stop, c.Kill, c.Crash, c.Edits, o.Targets,
			o.Excludes, o.ForceReplace, o.Mode, o.SkipRefresh, c.Rewritten)
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			fmt.Fprintf(&b, "-- %s --\n%s", name, c.Files[name])
		}
	}
	return b.String()
}

// plot is the data that the chapters of a history share while they are drawn.
type plot struct {
	*rapid.T
	chapter int
	before  map[string]*unit // units of the previous chapter, by name
	labels  map[string]int   // how many times each unit was renamed
	// steady holds the units whose object names don't depend on their keys, so their objects can
	// move to other keys unchanged.
	steady  map[string]bool
	keyed   map[string]bool // modules that are passed an instance of a provider configuration
	own     map[string]bool // modules with a provider configuration of their own, which are called once
	retyped map[string]bool // units whose resource type changed
	inner   map[string]bool // modules whose first resource was renamed
	moved   map[string]string
}

// odds draws true with the given probability in percent.
func (p *plot) odds(label string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(p.T, label) > 100-percent
}

func (p *plot) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(p.T, label)
}

// DrawHistory draws a history of at most the given number of steps.
func DrawHistory(t *rapid.T, steps int) History {
	p := &plot{T: t, labels: map[string]int{}, steady: map[string]bool{}, keyed: map[string]bool{}, own: map[string]bool{},
		retyped: map[string]bool{}, inner: map[string]bool{}, moved: map[string]string{}}
	for _, kind := range unitKinds {
		p.steady[kind.name], p.keyed[kind.name] = p.odds("steady", 40), p.odds("keyed", 30)
		p.own[kind.name] = kind.typ == "module" && !p.keyed[kind.name] && p.odds("own provider", 20)
	}
	var h History
	for range rapid.IntRange(1, steps).Draw(t, "steps") {
		h = append(h, p.drawChapter())
	}
	return h
}

func (p *plot) drawChapter() *Chapter {
	p.chapter++
	c := &Chapter{Fail: map[string]string{}}
	page := p.drawFiles()
	p.refactor(page)
	p.importSome(page, c)
	c.Files, c.Single, c.Indexed = page.files, page.single, page.indexed
	p.drawTrouble(c)
	p.drawOptions(c, page)
	c.Rewritten = p.odds("rewritten", 10)
	p.before = page.units
	return c
}

// drawTrouble draws failures and interruptions.
func (p *plot) drawTrouble(c *Chapter) {
	for range rapid.IntRange(0, 3).Draw(p.T, "failures") {
		op := p.pick("op", "create", "update", "delete", "create", "update", "delete", "plan", "final", "read",
			"data", "open")
		who, how := p.drawName(), ""
		if p.odds("otherwise", 40) {
			how = map[string]string{"create": p.pick("how", "partial", "other", "unknown"),
				"update": p.pick("how", "partial", "other", "unknown")}[op]
		}
		if op == "update" || op == "delete" || op == "read" {
			who += fmt.Sprintf("-%d", rapid.IntRange(1, 3).Draw(p.T, "number"))
		}
		c.Fail[op+" "+who] = how
	}
	switch {
	case p.odds("stop", 15):
		c.Stop, c.Kill = "create "+p.drawName(), p.odds("kill", 40)
	case p.odds("crash", 25):
		c.Crash = rapid.IntRange(1, 12).Draw(p.T, "crash after")
	}
	if p.odds("edit", 25) {
		id := fmt.Sprintf("%s-%d", p.drawName(), rapid.IntRange(1, 3).Draw(p.T, "number"))
		c.Edits = append(c.Edits, rapid.SampledFrom([][3]string{{id, "", ""}, {id, "v", "drift"}}).Draw(p.T, "edit"))
	}
}

// drawOptions draws the options of the plan.
func (p *plot) drawOptions(c *Chapter, g *page) {
	o := &c.Options
	if p.odds("target", 20) {
		targets := []addrs.Target{p.drawTarget(g)}
		if p.odds("second target", 30) {
			targets = append(targets, p.drawTarget(g))
		}
		if p.odds("exclude", 40) {
			o.Excludes = targets
		} else {
			o.Targets = targets
		}
	}
	switch {
	case p.odds("refresh only", 8):
		o.Mode = plans.RefreshOnly
		return
	case p.odds("destroy", 8):
		o.Mode = plans.Destroy
	case p.odds("replace", 15):
		addr, err := addrs.ParseInstanceText(p.drawAddress(g, true))
		if err != nil {
			p.Fatal(err)
		}
		o.ForceReplace = []addrs.AbsInstance{addr}
	}
	o.SkipRefresh = len(c.Edits) == 0 && p.odds("skip refresh", 10)
}

func (p *plot) drawTarget(g *page) addrs.Target {
	target, err := addrs.ParseTargetText(p.drawAddress(g, false))
	if err != nil {
		p.Fatal(err)
	}
	return target
}

// drawAddress draws an existing or former address. If instance is set, it draws the address of a
// resource instance; otherwise, it may also draw the address of a resource or module.
func (p *plot) drawAddress(g *page, instance bool) string {
	units := slices.Clone(g.order)
	for _, name := range slices.Sorted(maps.Keys(p.before)) {
		units = append(units, p.before[name])
	}
	if len(units) == 0 {
		return "fake_thing.r0"
	}
	u := rapid.SampledFrom(units).Draw(p.T, "address of")
	text := u.address()
	if keys := u.instances(); len(keys) > 0 && p.odds("with key", 60) {
		text += rapid.SampledFrom(keys).Draw(p.T, "address key")
	}
	if u.isModule() && (instance || p.odds("within", 60)) {
		text += ".fake_thing." + p.pick("resource within", p.innerLabel(u.name, "p"), "q")
	}
	return text
}

// drawName draws the name of an object: the name of a unit, or of a module and its resource,
// followed by the keys of the module instance and of the object itself.
func (p *plot) drawName() string {
	key := p.pick("key", "s", "0", "1", "x", "y")
	if p.odds("in module", 50) {
		return p.pick("resource", "mp", "mq", "np", "nq") + ":" + key + ":s"
	}
	return p.pick("unit", "r0", "r1", "r2", "r3", "other", "aliased", "imp") + "::" + key
}
