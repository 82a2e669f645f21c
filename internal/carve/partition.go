package carve

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tofu/internal/dag"
)

// Group is a proposed part of a root module.
type Group struct {
	Name    string // "" for the part that stays
	Items   []string
	Objects int // the number of their objects
}

// Grouping says how Partition forms groups.
type Grouping struct {
	// Parts is the number of groups along the references of the root module, with the smallest number of
	// references between them. It is not used with By.
	Parts int
	// By returns the group of an item, "" for those that stay. It may be nil.
	By func(item string) string
	// Objects returns the number of objects of an item.
	Objects func(item string) int
}

// Partition proposes a partition of the root module in which no two groups need one another. The first group
// has what stays: it may read all others, as the outputs of the root module do. Items that must be together
// are, so there may be fewer groups than were asked for.
func (m *Module) Partition(by Grouping) []Group {
	g := m.units(by)
	var groups map[int]string
	if by.By != nil {
		groups = g.grouped(by.By)
		if one(groups) && slices.ContainsFunc(m.Items(), func(item string) bool { return by.By(item) != "" }) {
			// What belongs to no group is between the groups and the outputs, so it becomes one.
			groups = g.grouped(func(item string) string { return cmp.Or(by.By(item), "base") })
		}
	} else {
		groups = g.along(by.Parts)
	}
	byName := make(map[string]*Group)
	for i, u := range g.list {
		out := byName[groups[i]]
		if out == nil {
			out = &Group{Name: groups[i]}
			byName[out.Name] = out
		}
		out.Items, out.Objects = append(out.Items, u.items...), out.Objects+u.objects
	}
	out := []Group{{}}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if name == "" {
			out[0] = *byName[name]
		} else if len(byName[name].Items) > 0 {
			out = append(out, *byName[name])
		}
	}
	return out
}

// one reports whether everything stays.
func one(groups map[int]string) bool {
	for _, name := range groups {
		if name != "" {
			return false
		}
	}
	return true
}

// unit is a set of items that must be in one group.
type unit struct {
	items   []string
	objects int
	needs   map[int]int // number of references to other units
	stays   bool
}

// units is the graph of the units of a root module. The last unit stands for the blocks that are no items,
// such as outputs: it has no items and stays.
type units struct {
	*Module
	list []*unit
	of   map[string]int // by item
}

// units returns the graph of units. The items that one replace_triggered_by names are one unit, and those that
// blocks such as moved and import name stay.
func (m *Module) units(by Grouping) *units {
	parent := make(map[string]string)
	var root func(string) string
	root = func(key string) string {
		if p, ok := parent[key]; ok && p != key {
			return root(p)
		}
		return key
	}
	stays := make(map[string]bool)
	for _, b := range m.blocks {
		for _, r := range b.refs {
			switch {
			case r.use != inStatic || !m.byKey[r.key].item():
			case b.item():
				parent[root(r.key)] = root(b.key)
			default:
				stays[r.key] = true
			}
		}
	}
	g := &units{Module: m, of: make(map[string]int)}
	at := make(map[string]int)
	for _, key := range m.Items() {
		i, known := at[root(key)]
		if !known {
			i = len(g.list)
			at[root(key)] = i
			g.list = append(g.list, &unit{needs: make(map[int]int)})
		}
		u := g.list[i]
		u.items, u.objects, u.stays = append(u.items, key), u.objects+by.Objects(key), u.stays || stays[key]
		g.of[key] = i
	}
	rest := len(g.list)
	g.list = append(g.list, &unit{needs: make(map[int]int), stays: true})
	reached := make(map[*block]map[int]int)
	for _, b := range m.blocks {
		from := rest
		switch {
		case b.item():
			from = g.of[b.key]
		case b.typ == "local" || b.typ == "data" || b.typ == "ephemeral":
			continue // they count where they are used
		}
		for to, n := range g.reach(b, reached) {
			if to != from {
				g.list[from].needs[to] += n
			}
		}
	}
	return g
}

// reach returns the units to which a block refers, directly or through shared blocks.
func (g *units) reach(b *block, reached map[*block]map[int]int) map[int]int {
	if out, done := reached[b]; done {
		return out
	}
	out := make(map[int]int)
	reached[b] = out // a cycle of local values is an error elsewhere
	for _, r := range b.refs {
		if to := g.byKey[r.key]; to.item() {
			out[g.of[r.key]]++
		} else {
			for i := range g.reach(to, reached) {
				out[i]++
			}
		}
	}
	return out
}

// graph returns the graph in which units are merged by their groups.
func (g *units) graph(group func(int) int, groups int) *dag.Graph {
	out := &dag.Graph{}
	for range groups {
		out.Add()
	}
	for i, u := range g.list {
		for to := range u.needs {
			if group(i) != group(to) {
				out.Connect(dag.ID(group(i)), dag.ID(group(to)))
			}
		}
	}
	return out
}

// grouped returns the group of each unit by a rule. Groups that would need one another are merged.
func (g *units) grouped(by func(item string) string) map[int]string {
	names, index := []string{""}, map[string]int{"": 0}
	group := make([]int, len(g.list))
	for i, u := range g.list {
		name := ""
		if !u.stays {
			name = by(u.items[0])
		}
		if _, known := index[name]; !known {
			index[name] = len(names)
			names = append(names, name)
		}
		group[i] = index[name]
	}
	for {
		cycles := g.graph(func(i int) int { return group[i] }, len(names)).Cycles()
		if len(cycles) == 0 {
			break
		}
		into := make(map[int]int)
		for _, cycle := range cycles {
			first := slices.Min(cycle) // the group that stays is 0
			for _, id := range cycle {
				if other, merged := into[int(id)]; merged {
					first = min(first, dag.ID(other))
				}
			}
			for _, id := range cycle {
				into[int(id)] = int(first)
			}
		}
		for i := range group {
			if first, merged := into[group[i]]; merged {
				group[i] = first
			}
		}
	}
	out := make(map[int]string)
	for i := range group {
		out[i] = names[group[i]]
	}
	return out
}

// along cuts an order in which each unit comes after those that it needs into parts of similar size, where the
// fewest references cross. So no two parts need one another. The last part is the one that stays.
func (g *units) along(parts int) map[int]string {
	order := g.order()
	n := len(order)
	at := make([]int, len(g.list)) // position in the order
	for i, id := range order {
		at[id] = i
	}
	total, heaviest := 0, 0
	weights := make([]int, n+1) // sums
	needs := make([][]reference, n)
	for i, id := range order {
		u := g.list[id]
		total, heaviest = total+u.objects, max(heaviest, u.objects)
		weights[i+1] = total
		for to, count := range u.needs {
			needs[i] = append(needs[i], reference{at[to], count})
		}
	}
	fixed := n // from here on, everything stays
	for i := n - 1; i >= 0 && g.list[order[i]].stays; i-- {
		fixed = i
	}
	parts = max(1, min(parts, n))
	limit := max(heaviest, (total*13/10+parts-1)/parts)
	// best[j] is the smallest number of references that cross if the first j units form k parts.
	best, cuts := make([]int, n+1), make([][]int, parts+1)
	for j := range best {
		best[j] = math.MaxInt / 2
	}
	best[0] = 0
	for k := 1; k <= parts; k++ {
		next := make([]int, n+1)
		cuts[k] = make([]int, n+1)
		for j := range next {
			next[j] = math.MaxInt / 2
		}
		if k == parts {
			limit = max(limit, total-weights[fixed])
		}
		for i := range n { // the part begins at i
			cost := best[i]
			if cost >= math.MaxInt/2 || i > fixed {
				continue
			}
			for j := i; j < n && weights[j+1]-weights[i] <= limit; j++ {
				for _, r := range needs[j] {
					if r.to < i {
						cost += r.count
					}
				}
				last := k == parts
				if j+1 > fixed && j+1 < n || last != (j+1 == n) {
					continue
				}
				if cost < next[j+1] {
					next[j+1], cuts[k][j+1] = cost, i
				}
			}
		}
		best = next
	}
	if best[n] >= math.MaxInt/2 { // no cut fits: large units
		if parts > 1 {
			return g.along(parts - 1)
		}
		return map[int]string{}
	}
	part := make([]int, n)
	for k, end := parts, n; k > 0; k-- {
		begin := cuts[k][end]
		for i := begin; i < end; i++ {
			part[i] = k
		}
		end = begin
	}
	out := make(map[int]string)
	names := g.names(order, part, parts)
	for i, id := range order {
		out[id] = names[part[i]]
	}
	return out
}

type reference struct{ to, count int }

// order returns the units so that each one comes after those that it needs, and close to them. Units that
// stay come last, with all that need them.
func (g *units) order() []int {
	for changed := true; changed; { // what needs something that stays, stays
		changed = false
		for _, u := range g.list {
			if !u.stays {
				for to := range u.needs {
					if g.list[to].stays {
						u.stays, changed = true, true
						break
					}
				}
			}
		}
	}
	users := make([][]int, len(g.list))
	for i, u := range g.list {
		for to := range u.needs {
			users[to] = append(users[to], i)
		}
	}
	seen, waiting := make([]bool, len(g.list)), make([]int, len(g.list))
	for i, u := range g.list {
		waiting[i] = len(u.needs)
		slices.Sort(users[i])
	}
	var out []int
	var visit func(int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, to := range slices.Sorted(maps.Keys(g.list[i].needs)) {
			visit(to)
		}
		out = append(out, i)
		for _, user := range users[i] { // those that need nothing else follow at once
			waiting[user]--
			if waiting[user] == 0 && g.list[user].stays == g.list[i].stays {
				visit(user)
			}
		}
	}
	for _, stays := range []bool{false, true} {
		for i, u := range g.list {
			if u.stays == stays {
				visit(i)
			}
		}
	}
	return out
}

// names returns a name for each part: that of the module or type with the most objects in it.
func (g *units) names(order, part []int, parts int) []string {
	weight := make([]map[string]int, parts+1)
	for k := range weight {
		weight[k] = make(map[string]int)
	}
	for i, id := range order {
		for _, item := range g.list[id].items {
			weight[part[i]][ItemName(item)] += g.list[id].objects + 1
		}
	}
	out := make([]string, parts+1)
	used := make(map[string]bool)
	for k := 1; k < parts; k++ {
		candidates := slices.SortedFunc(maps.Keys(weight[k]), func(a, b string) int {
			return cmp.Or(weight[k][b]-weight[k][a], strings.Compare(a, b))
		})
		base := "part"
		for _, name := range candidates {
			if base = name; !used[name] {
				break
			}
		}
		out[k] = unique(base, used)
	}
	return out
}

func unique(base string, used map[string]bool) string {
	name := base
	for n := 2; used[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	used[name] = true
	return name
}

// ItemName returns a name for the kind of an item: that of a module, or the type of a resource without the name
// of its provider.
func ItemName(item string) string {
	typ, label, _ := strings.Cut(item, ".")
	if typ == "module" {
		return label
	}
	if _, short, ok := strings.Cut(typ, "_"); ok && short != "" {
		return short
	}
	return typ
}
