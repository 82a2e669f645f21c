package planfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"

	"tofu/internal/lang/marks"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

type (
	// wireValue is a value: the number of its type, the type itself at its first use, the bytes of
	// the value, and the paths of its marks.
	wireValue struct {
		From  valueSource
		Type  int
		Def   []byte // the type as JSON
		Data  []byte
		Marks []wireMark
	}

	// wireMark is the path of a sensitive part of a value. Plans contain no other marks.
	wireMark struct {
		Path wirePath
	}

	// wirePath is a path. Each step is the name of an attribute or the encoded key of an index.
	wirePath []wireStep

	wireStep struct {
		Attr  string
		Index []byte
	}
)

// valueSource is where the content of a value is stored.
type valueSource uint8

const (
	noValue   valueSource = iota // the value is cty.NilVal
	fromData                     // the value is in Data
	fromState                    // the value is in the object in the prior state
	asBefore                     // the value equals the value before the change
)

// encoder encodes changes. It numbers types and providers in the order in which they occur.
type encoder struct {
	types     map[string]int // numbers of types by their JSON form
	recent    map[string][]numbered
	providers map[string]int
	prior     *states.State
}

type numbered struct {
	ty     cty.Type
	number int
}

// typeOf returns the number of a type, and its JSON form if the type is new. Nearly all values of a
// resource type have one of a few types. Therefore typeOf compares ty with the recent types for the
// hint before it computes the JSON form, which takes longer.
func (e *encoder) typeOf(ty cty.Type, hint string) (number int, def []byte, err error) {
	for _, known := range e.recent[hint] {
		if known.ty.Equals(ty) {
			return known.number, nil, nil
		}
	}
	text, err := ctyjson.MarshalType(ty)
	if err != nil {
		return 0, nil, err
	}
	number, ok := e.types[string(text)]
	if !ok {
		number, def = len(e.types), text
		e.types[string(text)] = number
	}
	if recent := e.recent[hint]; len(recent) < 8 {
		e.recent[hint] = append(recent, numbered{ty, number})
	}
	return number, def, nil
}

// value encodes a value. hint is a string that usually identifies the value's type, such as the
// resource type. obj is the stored object that may contain the value.
func (e *encoder) value(v cty.Value, hint string, obj *states.Object) (wireValue, error) {
	if v == cty.NilVal {
		return wireValue{}, nil
	}
	var out wireValue
	if marks.Any(v) {
		var paths []cty.PathValueMarks
		v, paths = v.UnmarkDeepWithPaths()
		var err error
		out.Marks, err = toMarks(paths)
		if err != nil {
			return out, err
		}
	}
	var err error
	out.Type, out.Def, err = e.typeOf(v.Type(), hint)
	if err != nil {
		return out, err
	}
	if inState(v, obj) {
		out.From = fromState
		return out, nil
	}
	out.From = fromData
	out.Data, err = ctymsgpack.Marshal(v, v.Type())
	return out, err
}

// inState reports whether the value can be decoded from the stored object. It can't if the schema
// leaves the type of a part open, because the state stores such a part together with its type.
func inState(v cty.Value, obj *states.Object) bool {
	if obj == nil || obj.Attrs == nil || v.IsNull() || !v.IsWhollyKnown() {
		return false
	}
	text, _, err := states.EncodeValue(v, v.Type())
	return err == nil && statefile.SameJSON(text, obj.Attrs)
}

func toMarks(paths []cty.PathValueMarks) ([]wireMark, error) {
	var out []wireMark
	for _, pvm := range paths {
		path, err := toPath(pvm.Path)
		if err != nil {
			return nil, err
		}
		for mark := range pvm.Marks {
			if mark != marks.Sensitive {
				return nil, fmt.Errorf("%s has the mark %#v, which can't be stored", tfdiags.FormatPath(pvm.Path), mark)
			}
			out = append(out, wireMark{Path: path})
		}
	}
	// The paths are in random order. They are sorted so that the file is always the same.
	slices.SortStableFunc(out, func(a, b wireMark) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	return out, nil
}

func (m *wireMark) sortKey() string {
	var b strings.Builder
	for _, step := range m.Path {
		fmt.Fprintf(&b, "%s\x00%x\x00", step.Attr, step.Index)
	}
	return b.String()
}

func toPath(path cty.Path) (wirePath, error) {
	var out wirePath
	for _, step := range path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			out = append(out, wireStep{Attr: step.Name})
		case cty.IndexStep:
			data, err := ctymsgpack.Marshal(step.Key, cty.DynamicPseudoType)
			if err != nil {
				return nil, err
			}
			out = append(out, wireStep{Index: data})
		}
	}
	return out, nil
}

func (p wirePath) path() (cty.Path, error) {
	var out cty.Path
	for _, step := range p {
		if step.Index == nil {
			out = append(out, cty.GetAttrStep{Name: step.Attr})
			continue
		}
		key, err := states.UnmarshalPacked(step.Index, cty.DynamicPseudoType)
		if err != nil {
			return nil, err
		}
		if key.IsNull() || !key.IsKnown() {
			return nil, errors.New("an index isn't known")
		}
		out = append(out, cty.IndexStep{Key: key})
	}
	return out, nil
}

// value decodes a value. before is the value before the change, and obj is the object in the prior
// state.
func (d *decoder) value(in wireValue, before cty.Value, obj *states.Object) (cty.Value, error) {
	switch in.From {
	case noValue:
		return cty.NilVal, nil
	case asBefore:
		return before, nil
	}
	if in.Def != nil {
		ty, err := states.UnmarshalType(in.Def)
		if err != nil {
			return cty.NilVal, err
		}
		d.types = append(d.types, ty)
	}
	if in.Type < 0 || in.Type >= len(d.types) {
		return cty.NilVal, fmt.Errorf("a value has the unknown type %d", in.Type)
	}
	var v cty.Value
	var err error
	switch in.From {
	case fromData:
		v, err = states.UnmarshalPacked(in.Data, d.types[in.Type])
	case fromState:
		if obj == nil || obj.Attrs == nil {
			return v, errors.New("a value refers to an object that isn't in the state")
		}
		v, err = states.Unmarshal(obj.Attrs, d.types[in.Type])
	default:
		return v, fmt.Errorf("a value has the unknown source %d", in.From)
	}
	if err != nil || len(in.Marks) == 0 {
		return v, err
	}
	return withMarks(v, in.Marks)
}

func withMarks(v cty.Value, in []wireMark) (cty.Value, error) {
	var secret []cty.Path
	for _, m := range in {
		path, err := m.Path.path()
		if err != nil {
			return v, err
		}
		secret = append(secret, path)
	}
	return states.MarkSensitive(v, secret), nil
}
