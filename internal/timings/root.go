package timings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostRoots is the number of root modules on a critical path whose own critical paths are listed.
const mostRoots = 3

// Root returns a recorder for the work on one of many root modules. Work on other root modules may
// go on at the same time. The function end adds everything that the recorder has recorded to r.
func (r *Recorder) Root(name string) (of *Recorder, end func()) {
	if r == nil {
		return nil, func() {}
	}
	o := r.Begin("root module", Attribute{"opentofu.root", name})
	of = New()
	of.trace, of.sink, of.current = r.trace, r.sink, o.id()
	return of, func() {
		o.End(nil)
		r.addRoot(name, of)
	}
}

// addRoot adds what was recorded for a root module. Its phases are summed up by name, because there
// may be many root modules.
func (r *Recorder) addRoot(name string, of *Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inRoots == nil {
		r.inRoots, r.rootPhases = map[string][]path{}, map[string]tally{}
	}
	var outer []string
	for _, p := range of.phases {
		outer = append(outer[:p.depth], p.name)
		what := strings.Join(outer, ", ")
		r.rootPhases[what] = r.rootPhases[what].with(p.took)
	}
	for c, t := range of.calls {
		r.calls[c] = r.calls[c].plus(t)
	}
	for what, t := range of.waits {
		r.waits[what] = r.waits[what].plus(t)
	}
	for _, i := range of.instances {
		i.addr = name + ": " + i.addr
		r.addInstance(i)
	}
	for _, p := range of.paths {
		p.name += " in " + name
		r.inRoots[name] = append(r.inRoots[name], p)
	}
}

// longest returns the names of the n steps of a path that took longest, or of all steps if there
// are fewer.
func (p *path) longest(n int) []string {
	steps := slices.SortedStableFunc(slices.Values(p.steps), func(x, y step) int { return cmp.Compare(y.took, x.took) })
	var out []string
	for _, s := range steps[:min(n, len(steps))] {
		out = append(out, s.name)
	}
	return out
}

func (r *Recorder) reportRootPhases(b *strings.Builder) {
	if len(r.rootPhases) == 0 {
		return
	}
	b.WriteString("\nPhases of all root modules together:\n")
	fmt.Fprintf(b, "  %10s  %7s  %10s\n", "total", "times", "longest")
	names := slices.SortedFunc(maps.Keys(r.rootPhases), func(x, y string) int {
		return cmp.Or(cmp.Compare(r.rootPhases[y].total, r.rootPhases[x].total), strings.Compare(x, y))
	})
	for _, name := range names {
		t := r.rootPhases[name]
		fmt.Fprintf(b, "  %s  %7d  %s  %s\n", seconds(t.total), t.count, seconds(t.longest), name)
	}
}
