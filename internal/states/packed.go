package states

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// UnmarshalPacked reads a value in MessagePack, as plans, journals and providers write it. Any bytes give a value or an error:
// ctymsgpack by itself panics if the elements of a collection have different types or the nesting never ends, and makes room
// for as many elements as the data claim to have.
func UnmarshalPacked(data []byte, ty cty.Type) (v cty.Value, err error) {
	if err := checkPacked(data); err != nil {
		return cty.NilVal, err
	}
	defer recoverValue(ty, &v, &err)
	return ctymsgpack.Unmarshal(data, ty)
}

// recoverValue turns the panic of a decoder into an error.
func recoverValue(ty cty.Type, v *cty.Value, err *error) {
	if problem := recover(); problem != nil {
		*v, *err = cty.NilVal, fmt.Errorf("the value can't be of the type %s: %v", ty.FriendlyName(), problem)
	}
}

// UnmarshalType reads a type, as states and plans have it beside values. Any text gives a type or an error.
func UnmarshalType(text []byte) (ty cty.Type, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			ty, err = cty.NilType, fmt.Errorf("it is no type: %v", problem)
		}
	}()
	return ctyjson.UnmarshalType(text)
}
