package planfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/protobuf/encoding/protowire"

	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/version"
)

// The entry "tfplan" is a protocol buffer with the few fields of OpenTofu's message that other
// programs use. Scanners find the values of variables in it, so the variables are stored nowhere
// else. OpenTofu names the program in its error message when it refuses the plan.
const (
	formatField    protowire.Number = 1
	variablesField protowire.Number = 2 // a message with a key and a value, once for each variable
	programField   protowire.Number = 14

	keyField   protowire.Number = 1
	valueField protowire.Number = 2 // a message whose field 1 is the value in MessagePack, with its type

	openTofuFormat = 3
	// program differs from each version of OpenTofu, so that none takes the plan for its own.
	program = version.String + "+tofu." + version.Own
)

func encodeInterchange(p *plans.Plan) ([]byte, error) {
	out := protowire.AppendTag(nil, formatField, protowire.VarintType)
	out = protowire.AppendVarint(out, openTofuFormat)
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		v, _ := p.Variables[name].UnmarkDeep()
		data, err := ctymsgpack.Marshal(v, cty.DynamicPseudoType)
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", name, err)
		}
		entry := appendBytes(nil, keyField, []byte(name))
		entry = appendBytes(entry, valueField, appendBytes(nil, 1, data))
		out = appendBytes(out, variablesField, entry)
	}
	return appendBytes(out, programField, []byte(program)), nil
}

func appendBytes(to []byte, field protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), data)
}

// decodeInterchange returns the values of the variables, without marks.
func decodeInterchange(data []byte) (map[string]cty.Value, error) {
	out := make(map[string]cty.Value)
	err := eachField(data, func(field protowire.Number, entry []byte) error {
		if field != variablesField {
			return nil
		}
		var name string
		var packed []byte
		err := eachField(entry, func(field protowire.Number, part []byte) error {
			switch field {
			case keyField:
				name = string(part)
			case valueField:
				return eachField(part, func(_ protowire.Number, data []byte) error { packed = data; return nil })
			}
			return nil
		})
		if err != nil {
			return err
		}
		v, err := states.UnmarshalPacked(packed, cty.DynamicPseudoType)
		if err != nil {
			return fmt.Errorf("variable %q: %w", name, err)
		}
		out[name] = v
		return nil
	})
	return out, err
}

// eachField calls visit for all fields of a message that are bytes, texts or messages.
func eachField(message []byte, visit func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(field, kind, message[n:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		if kind == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(message[n:])
			if err := visit(field, content); err != nil {
				return err
			}
		}
		message = message[n+size:]
	}
	return nil
}
