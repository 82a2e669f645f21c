package statefile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"tofu/internal/jsonscan"
	"tofu/internal/states"
)

// A reader reads a state file of version 4 in one pass. Its methods report whether they succeeded.
// After a failure, err holds the reason. If err is nil, the text is not valid JSON at the current
// position.
type reader struct {
	jsonscan.Scanner
	decoder *decoder
	file    *File
	err     error

	salvage  bool // skip invalid parts and record them as problems
	problems []string

	sectioned  bool       // the list of resources was divided into sections
	found      []instance // the instances of the resource that is being read
	fieldsRead instanceV4 // the fields of the instance that is being read

	// These lists are applied after everything is read, because other programs may reorder members.
	instances []dependencyInstancesV4
	nearest   []nearestV4
}

func newReader(data []byte) *reader {
	return &reader{Scanner: jsonscan.Scanner{Data: data}, decoder: newDecoder(), file: &File{State: states.New()}}
}

func readV4(data []byte) (*File, error) {
	r := newReader(data)
	if !r.Members(r.top) || !r.End() || !r.check(r.setNearest()) || !r.check(r.addDependencyInstances()) {
		return nil, DamagedError{r.failure()}
	}
	if v := r.file.TerraformVersion; v != "" && !versionPattern.MatchString(v) {
		err := fmt.Errorf("the state's \"terraform_version\" is %q, which is not a version number", v)
		return nil, DamagedError{err}
	}
	return r.file, nil
}

// Salvage reads the valid parts of a damaged state of version 4, up to the end or the first syntax
// error. It skips invalid objects and outputs. The problems describe the missing parts.
func Salvage(data []byte) (*File, []string) {
	r := newReader(data)
	r.salvage = true
	if !r.Members(r.top) || !r.End() {
		r.problem("the text after %s can't be read: %s", place(data, int64(r.Pos)+1), r.failure())
	}
	if err := r.setNearest(); err != nil {
		r.problem("some dependencies may be indirect: %s", err)
	}
	if err := r.addDependencyInstances(); err != nil {
		r.problem("some dependencies are missing: %s", err)
	}
	r.file.State.Prune()
	return r.file, r.problems
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// failure returns the reason for a failed read.
func (r *reader) failure() error {
	if r.err != nil {
		return r.err
	}
	return syntaxError(r.Data, r.Pos)
}

// part reads one part of the state. If salvage is set, it skips an invalid part and records the
// problem. name returns a description of the part.
func (r *reader) part(name func() string, read func() bool) bool {
	start := r.Pos
	if read() {
		return true
	}
	if !r.salvage || r.err == nil {
		return false
	}
	r.problem("%s is missing: %s", name(), r.err)
	r.err = nil
	r.Pos = start
	return r.Skip()
}

// check records err as the reason for a failed read, and reports whether err is nil.
func (r *reader) check(err error) bool {
	r.err = err
	return err == nil
}

// typeError records that the value at the current position has the wrong JSON type for the field.
// It always returns false.
func (r *reader) typeError(field string) bool {
	r.Space()
	at := place(r.Data, int64(r.Pos)+1)
	if raw, ok := r.Raw(); ok {
		r.err = fmt.Errorf("the state has an invalid value for %q (%s): %s", field, at, clip(raw))
	}
	return false
}

// value reads a field with a method of the scanner. A JSON null leaves the field unchanged.
func value[T any](r *reader, field string, to *T, read func() (T, bool)) bool {
	if r.Word("null") {
		return true
	}
	start := r.Pos
	v, ok := read()
	if !ok {
		r.Pos = start
		return r.typeError(field)
	}
	*to = v
	return true
}

func (r *reader) text(field string, to *string) bool { return value(r, field, to, r.Text) }

func (r *reader) bool(field string, to *bool) bool {
	return value(r, field, to, func() (bool, bool) {
		yes := r.Word("true")
		return yes, yes || r.Word("false")
	})
}

// number reads a non-negative integer that fits in the given number of bits.
func (r *reader) number(field string, bits int, to *uint64) bool {
	return value(r, field, to, func() (uint64, bool) {
		raw, ok := r.Number()
		n, err := strconv.ParseUint(string(raw), 10, bits)
		return n, ok && err == nil
	})
}

func (r *reader) bytes(field string, to *[]byte) bool {
	return value(r, field, to, func() ([]byte, bool) {
		text, ok := r.Text()
		data, err := base64.StdEncoding.DecodeString(text)
		return data, ok && err == nil
	})
}

func (r *reader) raw(to *[]byte) (ok bool) {
	*to, ok = r.Raw()
	return ok
}

// array reads an array. It reads a JSON null as an empty array.
func (r *reader) array(field string, element func() bool) bool {
	return r.Word("null") || r.begins(field, '[') && r.Elements(element)
}

// Members is like the method of the scanner, but returns false for an object that has a name twice:
// programs disagree about which of the two members counts.
func (r *reader) Members(read func(name []byte) bool) bool {
	var seen names
	return r.Scanner.Members(func(name []byte) bool {
		if !seen.add(name) {
			r.err = fmt.Errorf("the state has %q twice in one object (%s)", name, place(r.Data, int64(r.Pos)+1))
			return false
		}
		return read(name)
	})
}

// names is a set of names. Most objects have only a few, which need no map.
type names struct {
	few  [16][]byte
	n    int
	more map[string]bool
}

// add adds a name. It returns false if the name is already there.
func (s *names) add(name []byte) bool {
	for _, old := range s.few[:s.n] {
		if bytes.Equal(old, name) {
			return false
		}
	}
	switch {
	case s.n < len(s.few):
		s.few[s.n] = name
		s.n++
	case s.more[string(name)]:
		return false
	case s.more == nil:
		s.more = map[string]bool{string(name): true}
	default:
		s.more[string(name)] = true
	}
	return true
}

// members reads an object. It reads a JSON null as an empty object.
func (r *reader) members(field string, member func(name []byte) bool) bool {
	return r.Word("null") || r.begins(field, '{') && r.Members(member)
}

func (r *reader) begins(field string, bracket byte) bool {
	return r.Space() == bracket || r.typeError(field)
}

// unmarshal decodes a value with encoding/json.
func (r *reader) unmarshal(field string, to any) bool {
	r.Space()
	start := r.Pos
	raw, ok := r.Raw()
	if ok && json.Unmarshal(raw, to) != nil {
		r.Pos = start
		return r.typeError(field)
	}
	return ok
}

// top reads one member of the top-level object.
func (r *reader) top(name []byte) bool {
	switch string(name) {
	case "resources":
		return r.array("resources", r.resourcesFrom)
	case "outputs":
		return r.members("outputs", r.output)
	case "serial":
		return r.part(func() string { return "the serial" }, func() bool {
			return r.number("serial", 64, &r.file.Serial)
		})
	case unsavedRun:
		return r.unmarshal(unsavedRun, &r.file.Unsaved)
	case inDoubt:
		return r.part(func() string { return "the list of operations in doubt" }, func() bool {
			return r.unmarshal(inDoubt, &r.file.InDoubt)
		})
	case providerConfigs:
		return r.part(func() string { return "the list of provider configurations" }, r.providers)
	case "lineage":
		return r.part(func() string { return "the lineage" }, func() bool {
			return r.text("lineage", &r.file.Lineage)
		})
	case "terraform_version":
		return r.part(func() string { return "the version" }, func() bool {
			return r.text("terraform_version", &r.file.TerraformVersion)
		})
	case "check_results":
		return r.part(func() string { return "the list of check results" }, func() bool {
			var list []checkV4
			ok := r.unmarshal("check_results", &list)
			r.file.State.Checks = checkResults(list)
			return ok
		})
	case dependencyInstances:
		return r.part(func() string { return "the list of dependencies by instance" }, func() bool {
			return r.unmarshal(dependencyInstances, &r.instances)
		})
	case nearestDependencies:
		return r.part(func() string { return "the list of nearest dependencies" }, func() bool {
			return r.array(nearestDependencies, r.nearestOfResource)
		})
	}
	return r.Skip()
}

func (r *reader) output(nameText []byte) bool {
	name := string(nameText)
	return r.part(func() string { return fmt.Sprintf("the output value %q", name) }, func() bool {
		out := &states.Output{}
		var raw, typ []byte
		ok := r.members(name, func(field []byte) bool {
			switch string(field) {
			case "value":
				return r.raw(&raw)
			case "type":
				return r.raw(&typ)
			case "sensitive":
				return r.bool("sensitive", &out.Sensitive)
			case "deprecated":
				return r.text("deprecated", &out.Deprecated)
			}
			return r.Skip()
		})
		if !ok {
			return false
		}
		ty, err := states.UnmarshalType(typ)
		if err == nil {
			out.Value, err = unmarshalValue(raw, ty.WithoutOptionalAttributesDeep())
		}
		if err != nil {
			return r.check(fmt.Errorf("the state's output value %q can't be read: %w", name, err))
		}
		r.file.State.SetOutput(name, out)
		return true
	})
}

// resource reads a resource. Its instances are added to the state last, because that requires the
// other fields.
func (r *reader) resource() bool {
	var in resourceV4
	name := func() string { return fmt.Sprintf("the resource %s.%s", in.Type, in.Name) }
	return r.part(name, func() bool {
		began := false // whether the instances have been read, at least in part
		r.found = r.found[:0]
		whole := r.members("resources", func(name []byte) bool {
			switch string(name) {
			case "module":
				return r.text("module", &in.Module)
			case "mode":
				return r.text("mode", &in.Mode)
			case "type":
				return r.text("type", &in.Type)
			case "name":
				return r.text("name", &in.Name)
			case "provider":
				return r.text("provider", &in.Provider)
			case "instances":
				began = true
				return r.instanceList()
			}
			return r.Skip()
		})
		if !whole && (!r.salvage || r.err != nil || !began) {
			return false
		}
		res, err := r.decoder.resource(r.file.State, &in)
		if err != nil {
			return r.check(err)
		}
		if !r.add(res) {
			return false
		}
		if whole && res.Provider.Provider.IsZero() {
			return r.check(noProvider(res))
		}
		return whole
	})
}

// An instance is an instance object that was read, but is not in the state yet.
type instance struct {
	key               []byte // JSON text
	deposed, provider string
	object            *states.Object
	objectErr         error // why the object is invalid
	err               error // why nothing else could be read
	list              bool  // err is about the whole list
}

// instanceList reads the instances of a resource.
func (r *reader) instanceList() bool {
	start := r.Pos
	return r.array("instances", r.instance) || r.postpone(start, instance{list: true})
}

func (r *reader) instance() bool {
	start := r.Pos
	in := &r.fieldsRead
	*in = instanceV4{}
	if !r.fields(in) {
		return r.postpone(start, instance{})
	}
	out := instance{key: in.IndexKey, deposed: in.Deposed, provider: in.Provider}
	out.object, out.objectErr = r.decoder.object(in)
	r.found = append(r.found, out)
	return true
}

// postpone keeps the reason for a failed read with an instance until the resource is known, and skips
// the value at start instead.
func (r *reader) postpone(start int, with instance) bool {
	if r.err == nil {
		return false
	}
	with.err, r.err = r.err, nil
	r.found = append(r.found, with)
	r.Pos = start
	return r.Skip()
}

// add adds the instances that were found to a resource of the state.
func (r *reader) add(res *states.Resource) bool {
	for i := range r.found {
		err := r.decoder.instance(res, &r.found[i])
		switch {
		case err != nil && (!r.salvage || r.found[i].list):
			return r.check(err)
		case err != nil:
			r.problem("an object of %s is missing: %s", res.Addr, err)
		}
	}
	return true
}

// fields reads the fields of an instance object.
func (r *reader) fields(in *instanceV4) bool {
	return r.members("instances", func(name []byte) bool {
		switch string(name) {
		case "index_key":
			return r.raw(&in.IndexKey)
		case "status":
			return r.text("status", &in.Status)
		case "deposed":
			return r.text("deposed", &in.Deposed)
		case "provider":
			return r.text("provider", &in.Provider)
		case "schema_version":
			return r.number("schema_version", 32, &in.SchemaVersion)
		case "attributes":
			return r.raw(&in.Attributes)
		case "attributes_flat":
			return r.unmarshal("attributes_flat", &in.AttributesFlat)
		case "sensitive_attributes":
			return r.raw(&in.SensitiveAttributes)
		case "private":
			return r.bytes("private", &in.Private)
		case "dependencies":
			return r.raw(&in.Dependencies)
		case dependencyInstances:
			return r.unmarshal(dependencyInstances, &in.DependencyInstances)
		case "create_before_destroy":
			return r.bool("create_before_destroy", &in.CreateBeforeDestroy)
		case "skip_destroy":
			return r.bool("skip_destroy", &in.SkipDestroy)
		case "identity":
			return r.raw(&in.Identity)
		case "identity_schema_version":
			return r.number("identity_schema_version", 63, &in.IdentityVersion)
		}
		return r.Skip()
	})
}
