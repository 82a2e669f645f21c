package states

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// UnmarshalPacked decodes a value in MessagePack, which plans, journals and providers use. It
// returns an error for any invalid data. In contrast, ctymsgpack itself panics if the elements of a
// collection have different types, and overflows the stack if values are nested too deeply. It also
// allocates memory for as many elements as the data claims to have.
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
		*v, *err = cty.NilVal, fmt.Errorf("the value is not of type %s: %v", ty.FriendlyName(), problem)
	}
}

// UnmarshalType decodes a type that is stored with a value in a state or plan. It returns an error
// for any invalid text.
func UnmarshalType(text []byte) (ty cty.Type, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			ty, err = cty.NilType, fmt.Errorf("invalid type: %v", problem)
		}
	}()
	return ctyjson.UnmarshalType(text)
}
