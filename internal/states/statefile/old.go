package statefile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// These types are the JSON form of versions 1 to 3. Version 1 has outputs without types, and lists
// of tainted objects. Version 3 distinguishes maps from lists in flat attributes.
type (
	fileOld struct {
		Version          int         `json:"version"`
		TerraformVersion string      `json:"terraform_version"`
		Serial           int64       `json:"serial"`
		Lineage          string      `json:"lineage"`
		Modules          []moduleOld `json:"modules"`
	}

	moduleOld struct {
		Path      []string                   `json:"path"`
		Outputs   map[string]json.RawMessage `json:"outputs"`
		Resources map[string]resourceOld     `json:"resources"`
	}

	resourceOld struct {
		Primary  *objectOld   `json:"primary"`
		Tainted  []*objectOld `json:"tainted"` // version 1 only
		Deposed  []*objectOld `json:"deposed"`
		Provider string       `json:"provider"`
	}

	objectOld struct {
		ID         string            `json:"id"`
		Attributes map[string]string `json:"attributes"`
		Meta       map[string]any    `json:"meta"`
		Tainted    bool              `json:"tainted"`
	}

	outputOld struct {
		Sensitive bool            `json:"sensitive"`
		Type      string          `json:"type"`
		Value     json.RawMessage `json:"value"`
	}
)

// readOld reads versions 1 to 3. It ignores their dependencies, which list the references of a
// block and not the objects that must be destroyed after the block's object. The next apply writes
// the correct dependencies.
func readOld(data []byte) (*File, error) {
	var in fileOld
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, DamagedError{oldError(data, err)}
	}
	if in.Serial < 0 {
		return nil, fmt.Errorf("the state's serial is %d; it can't be negative", in.Serial)
	}
	state := states.New()
	for _, m := range in.Modules {
		if len(m.Path) == 0 || m.Path[0] != "root" {
			return nil, fmt.Errorf("the state has a module with the invalid path %q", m.Path)
		}
		var module addrs.Module
		for _, name := range m.Path[1:] {
			module = module.Child(name)
		}
		if module.IsRoot() {
			for name, raw := range m.Outputs {
				out, err := outputFromOld(in.Version, raw)
				if err != nil {
					return nil, fmt.Errorf("the state's output value %q can't be read: %w", name, err)
				}
				state.SetOutput(name, out)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(m.Resources)) {
			old := m.Resources[key]
			if err := resourceFromOld(state, module, key, &old, in.Version); err != nil {
				return nil, err
			}
		}
	}
	return &File{
		TerraformVersion: in.TerraformVersion,
		Serial:           uint64(in.Serial),
		Lineage:          in.Lineage,
		State:            state,
	}, nil
}

// oldError returns a clearer error for an error of encoding/json.
func oldError(data []byte, err error) error {
	typeErr, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return syntaxError(data, 0)
	}
	at := place(data, typeErr.Offset)
	return fmt.Errorf("the state has an invalid value for %q (%s): %s", typeErr.Field, at, typeErr.Value)
}

func outputFromOld(version int, raw json.RawMessage) (*states.Output, error) {
	if version == 1 {
		var text string
		err := json.Unmarshal(raw, &text)
		return &states.Output{Value: cty.StringVal(text)}, err
	}
	var in outputOld
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	ty, err := ctyjson.ImpliedType(in.Value)
	if err != nil {
		return nil, err
	}
	v, err := unmarshalValue(in.Value, ty)
	if err != nil {
		return nil, err
	}
	// All elements of a list or map had the same type. A value that can't be converted keeps its
	// type.
	oldTypes := map[string]cty.Type{"list": cty.List(cty.DynamicPseudoType), "map": cty.Map(cty.DynamicPseudoType)}
	for word, wanted := range oldTypes {
		if in.Type != word {
			continue
		}
		if converted, err := convert.Convert(v, wanted); err == nil {
			v = converted
		}
	}
	return &states.Output{Value: v, Sensitive: in.Sensitive}, nil
}

func resourceFromOld(state *states.State, module addrs.Module, key string, old *resourceOld, version int) error {
	addr, err := addressFromOld(module, key)
	if err != nil {
		return err
	}
	text := cmp.Or(old.Provider, addr.Resource.ImpliedProvider())
	if !strings.Contains(text, "provider.") {
		text = strings.TrimPrefix(module.String()+".provider."+text, ".")
	}
	provider, ok := legacyProvider(text)
	if !ok {
		return fmt.Errorf("%s in the state has the invalid provider %q", addr, old.Provider)
	}
	r := state.EnsureResource(addr.Abs(), provider)
	inst := r.Instances[addr.Key]
	if inst == nil {
		inst = &states.Instance{}
	}
	// All tainted objects of version 1 still exist. If there is no primary object, the first
	// tainted object becomes the current one.
	others := slices.Clone(old.Deposed)
	for _, o := range old.Tainted {
		if o == nil {
			continue
		}
		o.Tainted = true
		if old.Primary == nil {
			old.Primary = o
		} else {
			others = append(others, o)
		}
	}
	if old.Primary != nil {
		inst.Current, err = old.Primary.object(version)
		if err != nil {
			return fmt.Errorf("%s in the state: %w", addr, err)
		}
	}
	for _, o := range others {
		if o == nil {
			continue
		}
		obj, err := o.object(version)
		if err != nil {
			return fmt.Errorf("%s in the state: %w", addr, err)
		}
		if inst.Deposed == nil {
			inst.Deposed = make(map[addrs.DeposedKey]*states.Object)
		}
		inst.Deposed[addrs.DeposedKey(fmt.Sprintf("%08x", len(inst.Deposed)+1))] = obj
	}
	if inst.Current != nil || inst.Deposed != nil {
		r.Instances[addr.Key] = inst
	}
	return nil
}

// addressFromOld parses "[data.]type.name[.index]".
func addressFromOld(module addrs.Module, key string) (addrs.AbsInstance, error) {
	out := addrs.AbsInstance{Module: module.UnkeyedInstance(), Resource: addrs.Resource{Mode: addrs.Managed}}
	parts := strings.Split(key, ".")
	if parts[0] == "data" {
		out.Resource.Mode, parts = addrs.Data, parts[1:]
	}
	if len(parts) == 3 {
		n, err := strconv.Atoi(parts[2])
		if err != nil {
			return out, fmt.Errorf("the state has a resource with the invalid address %q", key)
		}
		out.Key, parts = addrs.IntKey(n), parts[:2]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return out, fmt.Errorf("the state has a resource with the invalid address %q", key)
	}
	out.Resource.Type, out.Resource.Name = parts[0], parts[1]
	return out, nil
}

// object returns the object with flat attributes. Only its provider can upgrade it.
func (o *objectOld) object(version int) (*states.Object, error) {
	out := &states.Object{Flatmap: o.Attributes}
	if out.Flatmap == nil {
		out.Flatmap = make(map[string]string)
	}
	if out.Flatmap["id"] == "" {
		out.Flatmap["id"] = o.ID
	}
	if version < 3 {
		nameMaps(out.Flatmap)
	}
	if o.Tainted {
		out.Status = states.Tainted
	}
	switch v := o.Meta["schema_version"].(type) {
	case nil:
	case float64:
		out.SchemaVersion = int64(v)
	case string:
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("invalid schema version %q", v)
		}
		out.SchemaVersion = n
	default:
		return nil, fmt.Errorf("invalid schema version %v", v)
	}
	delete(o.Meta, "schema_version")
	if len(o.Meta) == 0 {
		return out, nil
	}
	var err error
	out.Private, err = json.Marshal(o.Meta)
	return out, err
}

// nameMaps renames the size entries of maps to "name.%", as in version 3. Older versions use
// "name.#" for both lists and maps. A collection that has a non-numeric key is a map. An empty
// collection may be a list or a map, so its size entry is removed.
func nameMaps(flat map[string]string) {
	isMap := make(map[string]bool)
	for key := range flat {
		for i := range len(key) {
			if key[i] != '.' {
				continue
			}
			elem, _, _ := strings.Cut(key[i+1:], ".")
			if _, err := strconv.Atoi(elem); err != nil && elem != "#" {
				isMap[key[:i]] = true
			}
		}
	}
	for key, size := range maps.Clone(flat) {
		name, ok := strings.CutSuffix(key, ".#")
		switch {
		case !ok:
		case size == "0":
			delete(flat, key)
		case isMap[name]:
			delete(flat, key)
			flat[name+".%"] = size
		}
	}
}
