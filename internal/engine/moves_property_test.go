package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/engine/enginetest"
	"tofu/internal/states"
)

// TestMovesOnPartlyAppliedStates checks moved blocks on a state that was only partly applied. Every
// existing, untainted object is kept and gets its new address, whichever calls fail. Missing
// objects are created.
func TestMovesOnPartlyAppliedStates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := drawMoving(rt)
		var err error
		dir := t.TempDir()
		synctest.Test(t, func(*testing.T) { err = m.play(dir) })
		if err != nil {
			rt.Fatalf("%v\n== before, failing %v, stop %q\n%s== after, failing %v, stop %q\n%s", err,
				m.failBefore, m.stopBefore, m.before.text(), m.failAfter, m.stopAfter, m.after.text())
		}
	})
}

// moving is a refactoring: the configurations before and after it, and the calls that fail or are
// interrupted while each is applied.
type moving struct {
	before, after         moveFiles
	places                map[string]string // by object name, each object's address after the move
	failBefore, failAfter map[string]string
	stopBefore, stopAfter string
}

// moveFiles holds the contents of files by file name.
type moveFiles map[string]string

func (f moveFiles) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "-- %s --\n%s", name, f[name])
	}
	return b.String()
}

// thing returns a resource block. The character N in the arguments is replaced with the number of
// the refactored resource, so a test can use several resources of each shape.
func thing(address, repeat, name string) string {
	typ, label, _ := strings.Cut(address, ".")
	if repeat != "" {
		repeat = "  " + repeat + "\n"
	}
	return fmt.Sprintf("resource %q %q {\n%s  name = %s\n}\n", typ, label, repeat, name)
}

func moved(from, to string) string {
	return fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", from, to)
}

// twoThings is a module with two resources, whose object names begin with the module's input.
var twoThings = "variable \"name\" {}\n" + thing("fake_thing.p", "", `"${var.name}p"`) + thing("fake_thing.q",
	"", `"${var.name}q"`)

// moveShapes are the kinds of moves. N is replaced with the number of the refactored resource.
// places holds the new address of each object, by object name.
var moveShapes = []struct {
	name, before, after string
	places              map[string]string
}{
	{"renamed", thing("fake_thing.aN", "", `"oN"`),
		thing("fake_thing.bN", "", `"oN"`) + moved("fake_thing.aN", "fake_thing.bN"),
		map[string]string{"oN": "fake_thing.bN"}},
	{"renamed twice", thing("fake_thing.aN", "", `"oN"`),
		thing("fake_thing.cN", "", `"oN"`) + moved("fake_thing.aN", "fake_thing.bN") + moved("fake_thing.bN",
			"fake_thing.cN"),
		map[string]string{"oN": "fake_thing.cN"}},
	{"got count", thing("fake_thing.aN", "", `"oN"`),
		thing("fake_thing.aN", "count = 2", `"oN${count.index == 0 ? "" : "new"}"`),
		map[string]string{"oN": "fake_thing.aN[0]", "oNnew": "fake_thing.aN[1]"}},
	{"lost count", thing("fake_thing.aN", "count = 1", `"oN"`),
		thing("fake_thing.aN", "", `"oN"`),
		map[string]string{"oN": "fake_thing.aN"}},
	{"count to keys", thing("fake_thing.aN", "count = 2", `"oN${count.index}"`),
		thing("fake_thing.aN", `for_each = toset(["0", "1"])`, `"oN${each.key}"`) + moved("fake_thing.aN[0]",
			`fake_thing.aN["0"]`) + moved("fake_thing.aN[1]", `fake_thing.aN["1"]`),
		map[string]string{"oN0": `fake_thing.aN["0"]`, "oN1": `fake_thing.aN["1"]`}},
	{"instances apart", thing("fake_thing.aN", "count = 2", `"oN${count.index}"`),
		thing("fake_thing.bN", "", `"oN0"`) + thing("fake_thing.cN", "", `"oN1"`) + moved("fake_thing.aN[0]",
			"fake_thing.bN") + moved("fake_thing.aN[1]", "fake_thing.cN"),
		map[string]string{"oN0": "fake_thing.bN", "oN1": "fake_thing.cN"}},
	{"counted resource renamed", thing("fake_thing.aN", "count = 3", `"oN${count.index}"`),
		thing("fake_thing.bN", "count = 3", `"oN${count.index}"`) + moved("fake_thing.aN", "fake_thing.bN"),
		map[string]string{"oN0": "fake_thing.bN[0]", "oN1": "fake_thing.bN[1]", "oN2": "fake_thing.bN[2]"}},
	{"into a module", thing("fake_thing.aN", "", `"oNp"`) + thing("fake_thing.bN", "", `"oNq"`),
		"module \"mN\" {\n  source = \"./two\"\n  name = \"oN\"\n}\n" + moved("fake_thing.aN",
			"module.mN.fake_thing.p") + moved("fake_thing.bN", "module.mN.fake_thing.q"),
		map[string]string{"oNp": "module.mN.fake_thing.p", "oNq": "module.mN.fake_thing.q"}},
	{"module renamed and counted", "module \"mN\" {\n  source = \"./two\"\n  name = \"oN\"\n}\n",
		"module \"nN\" {\n  source = \"./two\"\n  count = 1\n  name = \"oN\"\n}\n" + moved("module.mN", "module.nN[0]"),
		map[string]string{"oNp": "module.nN[0].fake_thing.p", "oNq": "module.nN[0].fake_thing.q"}},
	{"module keys", "module \"mN\" {\n  source = \"./two\"\n  for_each = toset([\"x\"])\n  name = \"oN\"\n}\n",
		"module \"mN\" {\n  source = \"./two\"\n  for_each = toset([\"y\"])\n  name = \"oN\"\n}\n" +
			moved(`module.mN["x"]`, `module.mN["y"]`),
		map[string]string{"oNp": `module.mN["y"].fake_thing.p`, "oNq": `module.mN["y"].fake_thing.q`}},
	{"another type", thing("fake_thing.aN", "", `"oN"`),
		thing("fake_unit.bN", "", `"oN"`) + moved("fake_thing.aN", "fake_unit.bN"),
		map[string]string{"oN": "fake_unit.bN"}},
}

func drawMoving(t *rapid.T) *moving {
	m := &moving{before: moveFiles{"two/main.tf": twoThings}, after: moveFiles{"two/main.tf": twoThings},
		places:     map[string]string{},
		failBefore: map[string]string{}, failAfter: map[string]string{}}
	var names []string
	for i := range rapid.IntRange(1, 6).Draw(t, "things") {
		s := moveShapes[rapid.IntRange(0, len(moveShapes)-1).Draw(t, "shape")]
		number := func(text string) string { return strings.ReplaceAll(text, "N", fmt.Sprint(i)) }
		m.before["main.tf"] += number(s.before)
		m.after["main.tf"] += number(s.after)
		for _, name := range slices.Sorted(maps.Keys(s.places)) {
			m.places[number(name)] = number(s.places[name])
			names = append(names, number(name))
		}
	}
	for _, fail := range []map[string]string{m.failBefore, m.failAfter} {
		for _, name := range names {
			switch rapid.IntRange(0, 9).Draw(t, "failure of "+name) {
			case 0, 1, 2:
				fail["create "+name] = ""
			case 3:
				fail["create "+name] = "partial"
			}
		}
	}
	for _, stop := range []*string{&m.stopBefore, &m.stopAfter} {
		if rapid.IntRange(0, 3).Draw(t, "stop") == 0 {
			*stop = "create " + rapid.SampledFrom(names).Draw(t, "stopped at")
		}
	}
	return m
}

func (m *moving) play(dir string) error {
	p := newPlayer(dir)
	if err := p.under(m.before, m.failBefore, m.stopBefore); err != nil {
		return fmt.Errorf("before the moves: %w", err)
	}
	whole := wholeObjects(p.s.State)
	if err := p.under(m.after, m.failAfter, m.stopAfter); err != nil {
		return fmt.Errorf("with the moves: %w", err)
	}
	if err := m.check(p, whole, false); err != nil {
		return fmt.Errorf("after the first apply: %w", err)
	}
	if err := p.under(m.after, nil, ""); err != nil {
		return fmt.Errorf("again: %w", err)
	}
	if err := m.check(p, whole, true); err != nil {
		return fmt.Errorf("in the end: %w", err)
	}
	return p.settled()
}

// under applies a configuration. fail holds the calls that fail. stop is the call that interrupts
// the apply, or "" for none.
func (p *player) under(files moveFiles, fail map[string]string, stop string) error {
	p.files = files
	c := &enginetest.Chapter{Files: files, Fail: fail, Stop: stop}
	p.setTrouble(c)
	return p.apply(c)
}

// wholeObjects returns the IDs of current objects that are not tainted, by name.
func wholeObjects(s *states.State) map[string]string {
	out := map[string]string{}
	for r := range s.Resources() {
		for _, inst := range r.Instances {
			if inst.Current != nil && inst.Current.Status == states.Ready {
				out[nameOf(inst.Current)] = idOf(inst.Current.Attrs)
			}
		}
	}
	return out
}

func nameOf(o *states.Object) string {
	var attrs struct{ Name string }
	if err := json.Unmarshal(o.Attrs, &attrs); err != nil {
		return ""
	}
	return attrs.Name
}

// check checks that objects still exist, and that the state has them at their new addresses. whole
// holds the IDs of these objects by name. If all is set, every new address must have an object.
func (m *moving) check(p *player, whole map[string]string, all bool) error {
	exist := p.s.Cloud.Objects()
	for name, place := range m.places {
		addr, err := addrs.ParseInstanceText(place)
		if err != nil {
			return err
		}
		inst := p.s.State.Instance(addr)
		id := ""
		if inst != nil && inst.Current != nil && nameOf(inst.Current) == name {
			id = idOf(inst.Current.Attrs)
		}
		if want, ok := whole[name]; ok && (id != want || !slices.Contains(exist, want)) {
			return fmt.Errorf("%s has %q and not %q, of which there are %v", place, id, want, exist)
		}
		if all && id == "" {
			return fmt.Errorf("%s has nothing", place)
		}
	}
	return nil
}
