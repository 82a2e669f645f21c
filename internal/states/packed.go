package states

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// UnmarshalPacked reads a value in MessagePack, as plans, journals and providers write it. Any bytes give a value or an error:
// ctymsgpack by itself panics over a collection whose elements bring different types along, and over what is nested without end.
func UnmarshalPacked(data []byte, ty cty.Type) (v cty.Value, err error) {
	if len(data) > flatEnough {
		if err := checkNesting(data); err != nil {
			return cty.NilVal, err
		}
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

const (
	flatEnough = 1 << 20 // bytes, in which nothing can be nested so deeply that it matters
	maxNesting = 10_000  // as encoding/json has it
)

// checkNesting looks at how deeply a document is nested, by a loop: a stack that overflows can't be recovered from.
func checkNesting(data []byte) error {
	in := msgpack.NewDecoder(bytes.NewReader(data))
	open := []int{1} // how many values are missing, by level
	for len(open) > 0 {
		last := len(open) - 1
		if open[last] == 0 {
			open = open[:last]
			continue
		}
		open[last]--
		n, err := enter(in)
		if err != nil {
			return err
		}
		if n > 0 {
			open = append(open, n)
		}
		if len(open) > maxNesting {
			return errors.New("the value is nested too deeply")
		}
	}
	return nil
}

// enter reads a value, of an array or map the head only; it gives the number of values that follow inside.
func enter(in *msgpack.Decoder) (int, error) {
	code, err := in.PeekCode()
	switch {
	case err != nil:
		return 0, err
	case msgpcode.IsFixedArray(code) || code == msgpcode.Array16 || code == msgpcode.Array32:
		return in.DecodeArrayLen()
	case msgpcode.IsFixedMap(code) || code == msgpcode.Map16 || code == msgpcode.Map32:
		n, err := in.DecodeMapLen()
		return 2 * n, err
	}
	return 0, in.Skip()
}
