package adopt

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
)

// Pending is a creation that began and never ended, so that its object may exist.
type Pending struct {
	Addr    addrs.AbsInstance
	Planned cty.Value // the planned object, as far as it is known
	Problem string    // the reason if the object can't be looked for
}

// Settle finds the objects of creations that never ended, and sets their addresses. The object of a creation
// is the only one of its type that has all planned values. For each other creation, unsettled has the
// reason.
func Settle(pending []Pending, objects []*Object) (found []*Object, unsettled map[addrs.AbsInstance]string) {
	unsettled = make(map[addrs.AbsInstance]string)
	claimed := make(map[*Object]bool)
	byType := make(map[string][]*Object)
	for _, o := range objects {
		byType[o.Type] = append(byType[o.Type], o)
	}
	for _, p := range pending {
		if p.Problem != "" {
			unsettled[p.Addr] = p.Problem
			continue
		}
		var matching []*Object
		var names []string
		for _, o := range byType[p.Addr.Resource.Type] {
			if !claimed[o] && p.made(o) {
				matching, names = append(matching, o), append(names, o.String())
			}
		}
		switch len(matching) {
		case 0:
			unsettled[p.Addr] = fmt.Sprintf("no object has the planned values. If it doesn't exist, run \"tofu state rm "+
				"-in-doubt '%s'\"", p.Addr)
		case 1:
			claimed[matching[0]] = true
			matching[0].Addr = p.Addr
			found = append(found, matching[0])
		default:
			unsettled[p.Addr] = "several objects have the planned values: " + strings.Join(names, ", ")
		}
	}
	return found, unsettled
}

// made reports whether an object has the values that were planned. Values that the plan did not know, and
// those that must not be shown, are not compared; at least one must be equal.
func (p Pending) made(o *Object) bool {
	planned, _ := p.Planned.Unmark()
	value := valueOf(o)
	if planned.IsNull() || !planned.IsKnown() || !planned.Type().IsObjectType() || value.IsNull() {
		return false
	}
	equal := 0
	for name, want := range planned.AsValueMap() {
		if marks.Contains(want, marks.Sensitive) || !value.Type().HasAttribute(name) {
			continue
		}
		want, _ = want.UnmarkDeep()
		is := value.GetAttr(name)
		if want.IsNull() || !want.IsWhollyKnown() || is.IsNull() {
			continue
		}
		want, err := convert.Convert(want, is.Type())
		if err != nil || !want.RawEquals(is) {
			return false
		}
		equal++
	}
	return equal > 0
}
