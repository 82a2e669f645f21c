package engine

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
)

// stripUnknownAttrs removes attributes that a type doesn't have any more from a value's JSON, from nested objects too: a provider may
// drop an attribute without a new schema version, and then knows nothing of it in what was stored before. It tells whether there were
// any.
func stripUnknownAttrs(raw []byte, ty cty.Type) ([]byte, bool) {
	switch {
	case ty.IsObjectType():
		return stripEach(raw, func(attrs map[string]json.RawMessage) (stripped bool) {
			for name, v := range attrs {
				if !ty.HasAttribute(name) {
					delete(attrs, name)
					stripped = true
				} else if out, less := stripUnknownAttrs(v, ty.AttributeType(name)); less {
					attrs[name], stripped = out, true
				}
			}
			return stripped
		})
	case ty.IsMapType() && !ty.ElementType().IsPrimitiveType():
		return stripEach(raw, func(elems map[string]json.RawMessage) (stripped bool) {
			for key, v := range elems {
				if out, less := stripUnknownAttrs(v, ty.ElementType()); less {
					elems[key], stripped = out, true
				}
			}
			return stripped
		})
	case (ty.IsListType() || ty.IsSetType()) && !ty.ElementType().IsPrimitiveType():
		return stripEach(raw, func(elems []json.RawMessage) (stripped bool) {
			for i, v := range elems {
				if out, less := stripUnknownAttrs(v, ty.ElementType()); less {
					elems[i], stripped = out, true
				}
			}
			return stripped
		})
	}
	return raw, false
}

// stripEach takes a value apart and puts it together again if something was taken out of its parts. What isn't of the expected form
// stays as it is: decoding it will say what is wrong.
func stripEach[T any](raw []byte, strip func(parts T) bool) ([]byte, bool) {
	var parts T
	if json.Unmarshal(raw, &parts) != nil || !strip(parts) {
		return raw, false
	}
	out, err := json.Marshal(parts)
	return out, err == nil
}
