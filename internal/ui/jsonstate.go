package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/ui/planview"
)

type stateResource struct {
	resourceAddress
	SchemaVersion         int64           `json:"schema_version"`
	Values                json.RawMessage `json:"values,omitempty"`
	SensitiveValues       json.RawMessage `json:"sensitive_values,omitempty"`
	DependsOn             []string        `json:"depends_on,omitempty"`
	Tainted               bool            `json:"tainted,omitempty"`
	DeposedKey            string          `json:"deposed_key,omitempty"`
	Identity              json.RawMessage `json:"identity,omitempty"`
	IdentitySchemaVersion *int64          `json:"identity_schema_version,omitempty"`
}

// WriteState writes the document of `show -json` for a state. version is the version of the
// program that wrote the state.
func WriteState(w io.Writer, view *StateView, version string) error {
	s := newStream(w)
	writeState(s, view, version)
	return s.finish()
}

func writeState(s *stream, view *StateView, version string) {
	w := &stateWriter{s, view}
	w.object(func() {
		w.field("format_version", stateFormat)
		if view.State.Empty() {
			return
		}
		w.field("terraform_version", version)
		w.name("values")
		w.object(w.values)
		if blocks := view.State.Checks.Sorted(); len(blocks) > 0 {
			w.name("checks")
			writeChecks(w.stream, blocks)
		}
	})
}

// stateWriter writes one state document.
type stateWriter struct {
	*stream
	*StateView
}

func (w *stateWriter) values() {
	if names := w.State.OutputNames(); len(names) > 0 {
		w.name("outputs")
		w.outputs(names)
	}
	tree := newModuleTree[stateItem]()
	if w.Only == nil {
		// Resources without instances still declare their modules.
		for _, r := range w.State.Sorted() {
			tree.declare(r.Addr.Module)
		}
	}
	for _, item := range stateItems(w.StateView) {
		tree.add(item.addr.Module, item)
	}
	w.name("root_module")
	tree.write(w.stream, w.instance)
}

// stateItem is one instance of a state.
type stateItem struct {
	addr     addrs.AbsInstance
	provider addrs.Provider
	inst     *states.Instance
}

// instance writes an instance's objects: the current one, then the deposed ones.
func (w *stateWriter) instance(it stateItem) {
	if it.inst.Current != nil {
		w.resource(it, it.inst.Current, addrs.NotDeposed)
	}
	for _, key := range slices.Sorted(maps.Keys(it.inst.Deposed)) {
		w.resource(it, it.inst.Deposed[key], key)
	}
}

func (w *stateWriter) resource(it stateItem, obj *states.Object, deposed addrs.DeposedKey) {
	sch := w.Schemas.Resource(it.provider, it.addr.Resource)
	if sch == nil {
		w.fail(fmt.Errorf("the provider %s has no schema for %s, so %s can't be shown",
			it.provider.ForDisplay(), it.addr.Resource.Type, it.addr))
		return
	}
	v, err := obj.Decode(sch.Block.ImpliedType())
	if err != nil {
		w.fail(fmt.Errorf("reading %s from the state: %w", it.addr, err))
		return
	}
	out := &stateResource{
		resourceAddress: objectAddress(it.addr, it.provider),
		SchemaVersion:   obj.SchemaVersion,
		Values:          valueJSON(v),
		SensitiveValues: sensitiveJSON(planview.MarkSecrets(v, sch)),
		Tainted:         obj.Status == states.Tainted,
		DeposedKey:      string(deposed),
	}
	out.plain()
	for dep := range obj.Dependencies.All() {
		out.DependsOn = append(out.DependsOn, dep.String())
	}
	if obj.Identity != nil && string(obj.Identity) != "null" {
		out.Identity, out.IdentitySchemaVersion = obj.Identity, &obj.IdentityVersion
	}
	w.item(out)
}

// plain removes fields that are implied by the position in the tree, and empty values.
func (r *stateResource) plain() {
	r.ModuleAddress = ""
	if v := string(r.Values); v == "{}" || v == "null" {
		r.Values = nil
	}
}

type stateOutput struct {
	Sensitive  bool            `json:"sensitive"`
	Deprecated string          `json:"deprecated,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	Type       json.RawMessage `json:"type,omitempty"`
}

func (w *stateWriter) outputs(names []string) {
	w.object(func() {
		for _, name := range names {
			o := w.State.Output(name)
			w.field(name, stateOutput{o.Sensitive, o.Deprecated, valueJSON(o.Value), typeJSON(o.Value.Type())})
		}
	})
}

// outputJSON is an output in `output -json` and in the "outputs" event.
type outputJSON struct {
	Sensitive  bool            `json:"sensitive"`
	Deprecated string          `json:"deprecated,omitempty"`
	Type       json.RawMessage `json:"type,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	Action     string          `json:"action,omitempty"`
}

func outputsJSON(outputs map[string]*states.Output) map[string]outputJSON {
	out := make(map[string]outputJSON, len(outputs))
	for name, o := range outputs {
		out[name] = outputJSON{Sensitive: o.Sensitive, Deprecated: o.Deprecated, Type: typeJSON(o.Value.Type()),
			Value: typedJSON(o.Value)}
	}
	return out
}

// typedJSON returns the JSON form of an output value. In contrast to the result of valueJSON,
// it can be decoded if the type is known.
func typedJSON(v cty.Value) json.RawMessage {
	v, _ = v.UnmarkDeep()
	b, err := states.Marshal(v, v.Type())
	if err != nil {
		return jsonNull
	}
	return b
}

// WriteOutputs writes the document of `output -json`.
func WriteOutputs(w io.Writer, outputs map[string]*states.Output) error {
	return writeIndented(w, outputsJSON(outputs))
}

// WriteOutput writes the document of `output -json NAME`.
func WriteOutput(w io.Writer, o *states.Output) error {
	_, err := w.Write(append(typedJSON(o.Value), '\n'))
	return err
}

func writeIndented(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
