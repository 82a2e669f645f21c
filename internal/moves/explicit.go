package moves

import (
	"slices"

	"tofu/internal/addrs"
)

// explicitEnds holds the endpoints of explicit statements. An implied move of the same addresses is
// suppressed.
type explicitEnds struct {
	ends   map[endKey][]*endpoint       // endpoints by their resource or module
	within map[addrs.Module][]*endpoint // endpoints by each module that contains them
}

func newExplicitEnds(list []*statement) explicitEnds {
	x := explicitEnds{ends: map[endKey][]*endpoint{}, within: map[addrs.Module][]*endpoint{}}
	for _, st := range list {
		for _, e := range []*endpoint{&st.from, &st.to} {
			id := endKey{module: e.module(), res: e.res}
			x.ends[id] = append(x.ends[id], e)
			for n := range e.steps {
				if in := pathOf(e.steps[:n+1]); n+1 < len(e.steps) || !e.isModule() {
					x.within[in] = append(x.within[in], e)
				}
			}
		}
	}
	return x
}

// suppress reports whether to suppress the implied move st of a resource or module in p. It returns
// true if an explicit statement names an endpoint of the move, or names something within the module
// instance that would be moved.
func (x explicitEnds) suppress(st *statement, p *stateModule) bool {
	at := st.from
	at.steps = exactly(p.addr)
	overlaps := func(e *endpoint) bool { return e.overlaps(&at) }
	if st.from.isModule() && slices.ContainsFunc(x.within[st.from.module()], overlaps) {
		return true
	}
	for _, e := range x.ends[endKey{module: st.from.module(), res: st.from.res}] {
		for _, end := range []*endpoint{&st.from, &st.to} {
			here := at
			here.key = end.key
			if end.isModule() {
				here.steps = append(slices.Clone(at.steps[:len(at.steps)-1]), *end.last())
			}
			if e.overlaps(&here) {
				return true
			}
		}
	}
	return false
}
