package adopt

import (
	"encoding/json"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/genconfig"
	"tofu/internal/states"
)

// Managed finds out which objects some states have. The zero value knows none.
type Managed struct {
	owners map[objectKey][]Owner
}

// objectKey identifies an object by its identity or its ID.
type objectKey struct {
	source   addrs.Provider
	typ      string
	identity bool
	id       string
}

// Owner is the place of an object in a state or in the configuration.
type Owner struct {
	Root string // name of the root module; "" for the root module itself
	Addr string
}

// String names the place in messages.
func (o Owner) String() string {
	if o.Root == "" {
		return o.Addr
	}
	return o.Addr + " of " + o.Root
}

// AddState adds the objects in the state of a root module.
func (m *Managed) AddState(root string, st *states.State) {
	for _, r := range st.Sorted() {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for key, inst := range r.Instances {
			if inst.Current == nil {
				continue
			}
			owner := Owner{root, r.Addr.Instance(key).String()}
			of := objectKey{source: r.Provider.Provider, typ: r.Addr.Resource.Type}
			if len(inst.Current.Identity) > 0 {
				of.identity, of.id = true, compactIdentity(inst.Current.Identity)
				m.add(of, owner)
			}
			var attrs struct {
				ID *string `json:"id"`
			}
			if json.Unmarshal(inst.Current.Attrs, &attrs) == nil && attrs.ID != nil {
				of.identity, of.id = false, *attrs.ID
				m.add(of, owner)
			}
		}
	}
}

// AddImport adds an object that the configuration imports. If a state has it, or another import block, it only gets
// further keys.
func (m *Managed) AddImport(o *Object, owner Owner) {
	owners := m.Owners(o)
	if len(owners) == 0 {
		owners = []Owner{owner}
	}
	for _, key := range o.keys() {
		for _, owner := range owners {
			m.add(key, owner)
		}
	}
}

func (m *Managed) add(key objectKey, owner Owner) {
	if m.owners == nil {
		m.owners = make(map[objectKey][]Owner)
	}
	if !slices.Contains(m.owners[key], owner) {
		m.owners[key] = append(m.owners[key], owner)
	}
}

// keys returns what may identify the object in a state.
func (o *Object) keys() []objectKey {
	of := objectKey{source: o.Source, typ: o.Type}
	var out []objectKey
	add := func(identity bool, id string) {
		if id != "" {
			of.identity, of.id = identity, id
			out = append(out, of)
		}
	}
	add(true, identityText(o.Identity))
	add(false, o.ID)
	if id, known := genconfig.ID(valueOf(o)); known {
		add(false, id)
	}
	return out
}

// Owners returns the places that have the object, sorted. More than one means that several states have
// it, which is a mistake.
func (m *Managed) Owners(o *Object) []Owner {
	var out []Owner
	for _, key := range o.keys() {
		for _, owner := range m.owners[key] {
			if !slices.Contains(out, owner) {
				out = append(out, owner)
			}
		}
	}
	slices.SortFunc(out, func(x, y Owner) int { return slices.Compare([]string{x.Root, x.Addr}, []string{y.Root, y.Addr}) })
	return out
}
