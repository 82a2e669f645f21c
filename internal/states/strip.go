package states

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"
)

// StripUnknownAttrs removes the attributes that a type does not have from the JSON text of a value,
// including nested objects. It reports whether it removed any. A provider may remove an attribute
// without a new schema version, and would then reject stored objects that have this attribute.
func StripUnknownAttrs(raw []byte, ty cty.Type) ([]byte, bool) {
	switch {
	case ty.IsObjectType():
		return stripEach(raw, func(attrs map[string]json.RawMessage) (stripped bool) {
			for name, v := range attrs {
				if !ty.HasAttribute(name) {
					delete(attrs, name)
					stripped = true
				} else if out, less := StripUnknownAttrs(v, ty.AttributeType(name)); less {
					attrs[name], stripped = out, true
				}
			}
			return stripped
		})
	case ty.IsMapType() && !ty.ElementType().IsPrimitiveType():
		return stripEach(raw, func(elems map[string]json.RawMessage) (stripped bool) {
			for key, v := range elems {
				if out, less := StripUnknownAttrs(v, ty.ElementType()); less {
					elems[key], stripped = out, true
				}
			}
			return stripped
		})
	case (ty.IsListType() || ty.IsSetType()) && !ty.ElementType().IsPrimitiveType():
		return stripEach(raw, func(elems []json.RawMessage) (stripped bool) {
			for i, v := range elems {
				if out, less := StripUnknownAttrs(v, ty.ElementType()); less {
					elems[i], stripped = out, true
				}
			}
			return stripped
		})
	}
	return raw, false
}

// stripEach decodes a value, calls strip, and encodes the value again if strip changed its parts.
// If the value does not have the expected form, it is returned unchanged, because decoding it later
// reports the error.
func stripEach[T any](raw []byte, strip func(parts T) bool) ([]byte, bool) {
	var parts T
	if json.Unmarshal(raw, &parts) != nil || !strip(parts) {
		return raw, false
	}
	out, err := json.Marshal(parts)
	return out, err == nil
}
