package states

import (
	"fmt"
	"sync"

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
// for any invalid text. Objects of one kind usually have equal types, so it keeps the types that it has
// decoded, up to a limit.
func UnmarshalType(text []byte) (cty.Type, error) {
	if ty, known := knownTypes.find(text); known {
		return ty, nil
	}
	ty, err := unmarshalType(text)
	if err == nil {
		knownTypes.add(text, ty)
	}
	return ty, err
}

// types holds decoded types by their JSON text.
type types struct {
	mu     sync.RWMutex
	byText map[string]cty.Type
}

// These limits keep the texts of types below about 16 MiB.
const (
	mostTypes   = 1 << 12
	longestType = 1 << 12 // bytes
)

var knownTypes = types{byText: map[string]cty.Type{}}

func (t *types) find(text []byte) (cty.Type, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ty, known := t.byText[string(text)]
	return ty, known
}

func (t *types) add(text []byte, ty cty.Type) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(text) <= longestType && len(t.byText) < mostTypes {
		t.byText[string(text)] = ty
	}
}

func unmarshalType(text []byte) (ty cty.Type, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			ty, err = cty.NilType, fmt.Errorf("invalid type: %v", problem)
		}
	}()
	return ctyjson.UnmarshalType(text)
}
