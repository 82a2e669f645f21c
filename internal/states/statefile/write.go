package statefile

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/states"
	"tofu/internal/version"
)

// Options selects the layout of a snapshot.
type Options struct {
	// Indent selects the indented layout, as in files on disk. If it is false, the snapshot is on
	// one line, as remote stores keep it.
	Indent bool
}

// Encode returns a snapshot in version 4.
func Encode(f *File, opts *Options) ([]byte, error) {
	return new(Encoder).Encode(f, opts)
}

// An Encoder encodes successive snapshots of one state. It copies the attributes of objects whose text
// has the layout of the snapshot already, as those from a file that this program wrote. It keeps the
// text of all others, so encoding a later snapshot costs little more than copying it. It finds encoded
// objects by pointer, so objects must be immutable. It is not safe for concurrent use, and all its snapshots must have the same
// options.
type Encoder struct {
	texts  map[*states.Object]encoded // encoded objects; nil if they are not kept
	listed *states.Listed             // for the snapshot that is encoded
}

// encoded is the JSON of an object, with the dependencies that it has there.
type encoded struct {
	text         []byte
	dependencies *states.Dependencies
}

// NewEncoder returns an encoder that keeps encoded objects.
func NewEncoder() *Encoder {
	return &Encoder{texts: make(map[*states.Object]encoded)}
}

// unsavedRun is the name of the member that holds File.Unsaved. Other programs ignore it.
const unsavedRun = "unsaved_run"

// inDoubt is the name of the member that holds File.InDoubt. Other programs ignore it.
const inDoubt = "in_doubt"

// engine is the name of the member that says which program wrote a state. Other programs ignore it.
const engine = "engine"

// Encode returns a snapshot in version 4.
func (e *Encoder) Encode(f *File, opts *Options) ([]byte, error) {
	w := &writer{indent: opts != nil && opts.Indent}
	w.open('{')
	w.number("version", 4)
	w.string("terraform_version", version.String)
	w.number("serial", int64(f.Serial))
	w.string("lineage", f.Lineage)
	w.key("outputs")
	if err := writeOutputs(w, f.State); err != nil {
		return nil, err
	}
	w.key("resources")
	w.open('[')
	resources := inFileOrder(f.State)
	e.listed = f.State.Listed()
	chunks, err := e.chunks(w, resources)
	if err != nil {
		return nil, err
	}
	end := &writer{indent: w.indent, depth: w.depth, first: len(resources) == 0}
	if err := e.writeEnd(end, f, resources, chunks); err != nil {
		return nil, err
	}
	out := join(w.buf, chunks, end.buf)
	e.remember(chunks)
	return out, nil
}

// writeEnd writes the rest of a snapshot, beginning with the end of the list of resources.
func (e *Encoder) writeEnd(w *writer, f *File, resources []*states.Resource, chunks []chunk) error {
	w.close(']')
	w.key("check_results")
	if f.State != nil {
		writeChecks(w, f.State.Checks)
	} else {
		writeChecks(w, nil)
	}
	writeDependencyInstances(w, resources, e.listed)
	writeNearestLists(w, chunks)
	if len(f.InDoubt) > 0 {
		w.key(inDoubt)
		w.open('[')
		for _, step := range f.InDoubt {
			w.item()
			w.raw(step)
		}
		w.close(']')
	}
	if f.Unsaved != nil {
		w.key(unsavedRun)
		w.open('{')
		w.string("id", f.Unsaved.ID)
		w.number("revision", int64(f.Unsaved.Revision))
		if len(f.Unsaved.Provided) > 0 {
			w.key("provided")
			w.open('[')
			for _, addr := range f.Unsaved.Provided {
				w.item()
				w.text(addr)
			}
			w.close(']')
		}
		w.close('}')
	}
	if err := writeProviders(w, f.State); err != nil {
		return err
	}
	writeEngine(w)
	w.close('}')
	w.buf = append(w.buf, '\n')
	return nil
}

func writeEngine(w *writer) {
	w.key(engine)
	w.open('{')
	by := version.Engine()
	w.string("name", by.Name)
	w.string("version", by.Version)
	w.string("commit", by.Commit)
	w.close('}')
}

// inFileOrder returns the resources sorted by their module, mode, type and name, as strings. The
// mode "data" comes before "managed".
func inFileOrder(s *states.State) []*states.Resource {
	var out []*states.Resource
	for r := range s.Resources() {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *states.Resource) int {
		x, y := a.Addr, b.Addr
		return cmp.Or(
			strings.Compare(string(x.Module), string(y.Module)),
			strings.Compare(x.Resource.Mode.String(), y.Resource.Mode.String()),
			strings.Compare(x.Resource.Type, y.Resource.Type),
			strings.Compare(x.Resource.Name, y.Resource.Name),
		)
	})
	return out
}

func writeOutputs(w *writer, s *states.State) error {
	w.open('{')
	for _, name := range s.OutputNames() {
		o := s.Output(name)
		v, _ := o.Value.UnmarkDeep()
		if !v.IsWhollyKnown() {
			v = cty.UnknownAsNull(v)
		}
		value, err := states.Marshal(v, v.Type())
		if err != nil {
			return fmt.Errorf("output value %q can't be written to the state: %w", name, err)
		}
		ty, err := ctyjson.MarshalType(v.Type())
		if err != nil {
			return fmt.Errorf("the type of output value %q can't be written to the state: %w", name, err)
		}
		w.key(name)
		w.open('{')
		w.rawField("value", value)
		w.rawField("type", ty)
		w.flag("sensitive", o.Sensitive)
		w.optional("deprecated", o.Deprecated)
		w.close('}')
	}
	w.close('}')
	return nil
}

func (e *Encoder) writeResource(w *chunk, r *states.Resource) error {
	w.item()
	w.open('{')
	w.optional("module", string(r.Addr.Module))
	w.string("mode", r.Addr.Resource.Mode.String())
	w.string("type", r.Addr.Resource.Type)
	w.string("name", r.Addr.Resource.Name)
	// The provider is a field of the resource. If the provider configuration has several instances,
	// it is a field of each resource instance instead.
	keyed := false
	for _, inst := range r.Instances {
		keyed = keyed || inst.ProviderKey != addrs.NoKey
	}
	if !keyed {
		w.string("provider", r.Provider.String())
	}
	of := r.Addr.Config()
	nearest := e.listed.Acyclic(of, sharedDependencies(r))
	indirect := e.listed.Indirect(nearest)
	deps := func(obj *states.Object) *states.Dependencies {
		if obj.Dependencies != nil && indirect != nil {
			return indirect
		}
		return e.listed.Acyclic(of, obj.Dependencies)
	}
	if indirect != nil {
		writeNearest(&w.nearest, r.Addr, nearest)
	}
	w.key("instances")
	w.open('[')
	for _, key := range r.SortedKeys() {
		inst, provider := r.Instances[key], ""
		if keyed {
			provider = addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey}.String()
		}
		if inst.Current != nil {
			if err := e.writeObject(w, key, addrs.NotDeposed, provider, inst.Current, deps(inst.Current)); err != nil {
				return err
			}
		}
		for _, deposed := range slices.Sorted(maps.Keys(inst.Deposed)) {
			obj := inst.Deposed[deposed]
			if err := e.writeObject(w, key, deposed, provider, obj, deps(obj)); err != nil {
				return err
			}
		}
	}
	w.close(']')
	w.close('}')
	return nil
}

// writeObject writes an object: first the fields that depend on its position in the state, then its
// contents with the given dependencies.
func (e *Encoder) writeObject(
	w *chunk, key addrs.InstanceKey, deposed addrs.DeposedKey, provider string, obj *states.Object,
	deps *states.Dependencies,
) error {
	w.item()
	w.open('{')
	if n, ok := key.IsInt(); ok {
		w.number("index_key", int64(n))
	} else if s, ok := key.IsString(); ok {
		w.string("index_key", s)
	}
	if obj.Status == states.Tainted {
		w.string("status", "tainted")
	}
	w.optional("deposed", string(deposed))
	w.optional("provider", provider)
	w.between() // the separator is not part of the kept text, because the fields before it may differ
	start, copies := len(w.buf), len(w.copies)
	if was, ok := e.texts[obj]; ok && was.dependencies.Equal(deps) {
		w.buf = append(w.buf, was.text...)
	} else if err := w.content(obj, deps); err != nil {
		return err
	}
	if e.texts != nil && len(w.copies) == copies {
		w.texts = append(w.texts, objectText{obj, deps, start, len(w.buf)})
	}
	w.close('}')
	return nil
}

// content writes the fields of an object that do not depend on its position in the state. deps holds
// the dependencies that it lists.
func (w *chunk) content(obj *states.Object, deps *states.Dependencies) error {
	w.label("schema_version")
	w.buf = strconv.AppendInt(w.buf, obj.SchemaVersion, 10)
	switch {
	case obj.Flatmap != nil && obj.Attrs == nil:
		flat, err := json.Marshal(obj.Flatmap)
		if err != nil {
			return err
		}
		w.rawField("attributes_flat", flat)
	case obj.Attrs == nil:
		w.rawField("attributes", []byte("null"))
	default:
		w.key("attributes")
		w.copied(obj.Attrs)
	}
	w.key("sensitive_attributes")
	if err := writePaths(&w.writer, obj.SensitivePaths); err != nil {
		return err
	}
	if len(obj.Private) > 0 {
		w.string("private", base64.StdEncoding.EncodeToString(obj.Private))
	}
	if deps != nil {
		w.key("dependencies")
		w.list(deps)
	}
	w.flag("create_before_destroy", obj.CreateBeforeDestroy)
	w.flag("skip_destroy", obj.SkipDestroy)
	if obj.Identity != nil {
		w.rawField("identity", obj.Identity)
		w.number("identity_schema_version", obj.IdentityVersion)
	}
	return nil
}

func (w *chunk) list(deps *states.Dependencies) {
	if deps == w.dependencies {
		w.buf = append(w.buf, w.buf[w.start:w.end]...)
		return
	}
	w.dependencies, w.start = deps, len(w.buf)
	w.addresses(deps)
	w.end = len(w.buf)
}

func writePaths(w *writer, paths []cty.Path) error {
	w.open('[')
	for _, path := range paths {
		w.item()
		w.open('[')
		for _, step := range path {
			w.item()
			w.open('{')
			switch step := step.(type) {
			case cty.GetAttrStep:
				w.string("type", "get_attr")
				w.string("value", step.Name)
			case cty.IndexStep:
				if err := writeIndex(w, step.Key); err != nil {
					return err
				}
			}
			w.close('}')
		}
		w.close(']')
	}
	w.close(']')
	return nil
}

func writeIndex(w *writer, key cty.Value) error {
	value, err := states.Marshal(key, key.Type())
	if err != nil {
		return err
	}
	ty, err := ctyjson.MarshalType(key.Type())
	if err != nil {
		return err
	}
	w.string("type", "index")
	w.key("value")
	w.open('{')
	w.rawField("value", value)
	w.rawField("type", ty)
	w.close('}')
	return nil
}

func writeChecks(w *writer, results *checks.Results) {
	blocks := results.Sorted()
	if len(blocks) == 0 {
		w.raw([]byte("null"))
		return
	}
	w.open('[')
	for _, b := range blocks {
		w.item()
		w.open('{')
		w.string("object_kind", string(b.Kind))
		w.string("config_addr", b.Config)
		w.string("status", b.Status.String())
		w.key("objects")
		if len(b.Objects) == 0 {
			w.raw([]byte("null"))
		} else {
			w.open('[')
			for _, o := range b.SortedObjects() {
				writeCheckedObject(w, o)
			}
			w.close(']')
		}
		w.close('}')
	}
	w.close(']')
}

func writeCheckedObject(w *writer, o *checks.Object) {
	w.item()
	w.open('{')
	w.string("object_addr", o.Addr)
	w.string("status", o.Status.String())
	if len(o.Messages) > 0 {
		w.key("failure_messages")
		w.open('[')
		for _, m := range o.Messages {
			w.item()
			w.text(m)
		}
		w.close(']')
	}
	w.close('}')
}
