package adopt

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/text/unicode/norm"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
)

// Arrange chooses addresses for the objects in the root module. Objects that are equal except for one name
// become instances of one resource, with this name as the key. schema returns the schema of a type, and
// taken says which addresses the configuration has already.
func Arrange(objects []*Object, schema func(typ string) *configschema.Block, taken func(addrs.Resource) bool) {
	a := &arranger{taken: taken, used: make(map[addrs.Resource]bool)}
	byType := make(map[string][]*Object)
	for _, o := range objects {
		of := o.Type + " " + o.Provider
		byType[of] = append(byType[of], o)
	}
	for _, of := range slices.Sorted(maps.Keys(byType)) {
		list := byType[of]
		slices.SortStableFunc(list, func(x, y *Object) int {
			return cmp.Or(cmp.Compare(x.called(), y.called()), cmp.Compare(x.String(), y.String()))
		})
		groups, rest := fold(list, schema(list[0].Type))
		for _, g := range groups {
			r := a.resource(list[0].Type, g.name())
			for i, o := range g.objects {
				o.Addr = r.InInstance("").Instance(addrs.StringKey(g.keys[i]))
			}
		}
		for _, o := range rest {
			o.Addr = a.resource(o.Type, o.called()).InInstance("").Instance(addrs.NoKey)
		}
	}
}

// arranger finds names of resources that are not used yet.
type arranger struct {
	taken func(addrs.Resource) bool
	used  map[addrs.Resource]bool
}

func (a *arranger) resource(typ, wanted string) addrs.Resource {
	r := addrs.Resource{Mode: addrs.Managed, Type: typ}
	r.Name = free(identifier(wanted, typ), func(name string) bool {
		r.Name = name
		return a.used[r] || a.taken(r)
	})
	a.used[r] = true
	return r
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// plain returns text in small letters without accents, with one underscore for all that is between words.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) { // an accent
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
	return strings.Trim(notName.ReplaceAllString(text, "_"), "_")
}

// identifier returns the name of a resource for what people call an object.
func identifier(called, typ string) string {
	name := plain(called)
	_, noun, found := strings.Cut(typ, "_")
	if !found {
		noun = typ
	}
	switch {
	case name == "":
		return noun
	case name[0] >= '0' && name[0] <= '9':
		return noun + "_" + name
	}
	return name
}

// called returns what people call an object: its tag Name, the name with which the provider listed it, or
// its ID.
func (o *Object) called() string {
	for _, tags := range []string{"tags", "labels"} {
		for _, tag := range []string{"Name", "name"} {
			if name := tagOf(valueOf(o), tags, tag); name != "" {
				return name
			}
		}
	}
	if o.Name != "" {
		return o.Name
	}
	if o.ID != "" {
		return o.ID
	}
	values := o.Identity.AsValueMap()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v := values[name]; v.Type() == cty.String && !v.IsNull() && name != "account_id" && name != "region" {
			parts = append(parts, v.AsString())
		}
	}
	return strings.Join(parts, "_")
}

// valueOf returns the value of an object, or a null value if it isn't known.
func valueOf(o *Object) cty.Value {
	if o.Value == cty.NilVal {
		return cty.NullVal(cty.EmptyObject)
	}
	return o.Value
}

// tagOf returns the value of a tag in a map attribute of an object, or "".
func tagOf(v cty.Value, attr, tag string) string {
	if v.IsNull() || !v.Type().IsObjectType() || !v.Type().HasAttribute(attr) {
		return ""
	}
	tags := v.GetAttr(attr)
	if tags.IsNull() || !tags.IsKnown() || !tags.CanIterateElements() {
		return ""
	}
	for it := tags.ElementIterator(); it.Next(); {
		name, value := it.Element()
		if name.Type() == cty.String && name.AsString() == tag && value.Type() == cty.String && value.IsKnown() &&
			!value.IsNull() {
			return value.AsString()
		}
	}
	return ""
}

// group is some objects of a type that one block can describe, with a key for each of them.
type group struct {
	objects []*Object
	keys    []string
}

// name returns what people may call the group: what its keys begin with.
func (g *group) name() string {
	prefix := g.keys[0]
	for _, key := range g.keys[1:] {
		n := 0
		for n < min(len(prefix), len(key)) && prefix[n] == key[n] {
			n++
		}
		prefix = prefix[:n]
	}
	prefix = strings.TrimRight(prefix, "-_./ 0123456789")
	const least = 3 // a shorter beginning is a coincidence
	if len(prefix) < least {
		return ""
	}
	return prefix
}
