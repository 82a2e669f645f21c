package states

import (
	"encoding/json"

	"tofu/internal/addrs"
)

// ObjectIdentity identifies an object in all states, regardless of its address.
type ObjectIdentity struct {
	provider addrs.Provider
	typ, id  string
}

// Identify returns the identity of an object of a resource type. This is its attribute id or, if it
// has none, its resource identity. It returns false if the object has neither.
func (o *Object) Identify(provider addrs.Provider, typ string) (ObjectIdentity, bool) {
	var in struct {
		ID *string `json:"id"`
	}
	if json.Unmarshal(o.Attrs, &in) != nil || in.ID == nil || *in.ID == "" {
		return ObjectIdentity{provider, typ, string(o.Identity)}, len(o.Identity) > 0
	}
	return ObjectIdentity{provider, typ, *in.ID}, true
}
