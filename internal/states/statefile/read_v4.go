package statefile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"tofu/internal/jsonscan"
	"tofu/internal/states"
)

// A reader reads a text of version 4, each object as soon as it has come to it. Its methods that read tell whether they could: if not,
// then err says why, and where it is nil, the text isn't JSON from the position on.
type reader struct {
	jsonscan.Scanner
	decoder *decoder
	file    *File
	err     error

	salvage  bool // what is wrong in itself alone is left out
	problems []string
}

func newReader(data []byte) *reader {
	return &reader{Scanner: jsonscan.Scanner{Data: data}, decoder: newDecoder(), file: &File{State: states.New()}}
}

// readV4 reads a file of version 4.
func readV4(data []byte) (*File, error) {
	r := newReader(data)
	if !r.Members(r.top) || !r.End() {
		return nil, DamagedError{r.failure()}
	}
	if v := r.file.TerraformVersion; v != "" && !versionPattern.MatchString(v) {
		return nil, DamagedError{fmt.Errorf("the state's \"terraform_version\" is %q, which is no version number", v)}
	}
	return r.file, nil
}

// Salvage reads what can be read of a damaged state of version 4: everything up to where the text breaks off or stops being JSON, but
// for the objects and outputs that can't be what they are said to be. The problems say what is missing.
func Salvage(data []byte) (*File, []string) {
	r := newReader(data)
	r.salvage = true
	if !r.Members(r.top) || !r.End() {
		r.problem("from %s on the text can't be read: %s", place(data, int64(r.Pos)+1), r.failure())
	}
	r.file.State.Prune()
	return r.file, r.problems
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// failure says why something couldn't be read.
func (r *reader) failure() error {
	if r.err != nil {
		return r.err
	}
	return syntaxError(r.Data, r.Pos)
}

// part reads one part of the whole. A salvage goes on behind a part that is wrong in itself alone.
func (r *reader) part(what func() string, read func() bool) bool {
	start := r.Pos
	if read() {
		return true
	}
	if !r.salvage || r.err == nil {
		return false
	}
	r.problem("%s is left out: %s", what(), r.err)
	r.err = nil
	r.Pos = start
	return r.Skip()
}

// check makes what is wrong with a value the reason why it can't be read.
func (r *reader) check(err error) bool {
	r.err = err
	return err == nil
}

// wrong says that the value at the position isn't of the kind that a field needs, if it is JSON at all.
func (r *reader) wrong(field string) bool {
	r.Space()
	at := r.Pos
	if raw, ok := r.Raw(); ok {
		r.err = fmt.Errorf("the state has an invalid value for %q (%s): %s", field, place(r.Data, int64(at)+1), clip(raw))
	}
	return false
}

// value reads a field with one of the scanner's methods; null leaves it as it is.
func value[T any](r *reader, field string, to *T, read func() (T, bool)) bool {
	if r.Word("null") {
		return true
	}
	start := r.Pos
	v, ok := read()
	if !ok {
		r.Pos = start
		return r.wrong(field)
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

// number reads a whole number from 0 to a limit.
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

// array reads an array; null is an empty one.
func (r *reader) array(field string, element func() bool) bool {
	return r.Word("null") || r.begins(field, '[') && r.Elements(element)
}

// members reads an object; null is an empty one.
func (r *reader) members(field string, member func(name []byte) bool) bool {
	return r.Word("null") || r.begins(field, '{') && r.Members(member)
}

func (r *reader) begins(field string, bracket byte) bool {
	return r.Space() == bracket || r.wrong(field)
}

// unmarshal leaves a value to encoding/json.
func (r *reader) unmarshal(field string, to any) bool {
	r.Space()
	start := r.Pos
	raw, ok := r.Raw()
	if ok && json.Unmarshal(raw, to) != nil {
		r.Pos = start
		return r.wrong(field)
	}
	return ok
}

// top reads one member of the whole.
func (r *reader) top(name []byte) bool {
	switch string(name) {
	case "resources":
		return r.array("resources", r.resource)
	case "outputs":
		return r.members("outputs", r.output)
	case "serial":
		return r.part(func() string { return "the serial" }, func() bool { return r.number("serial", 64, &r.file.Serial) })
	case "lineage":
		return r.part(func() string { return "the lineage" }, func() bool { return r.text("lineage", &r.file.Lineage) })
	case "terraform_version":
		return r.part(func() string { return "the version" }, func() bool { return r.text("terraform_version", &r.file.TerraformVersion) })
	case "check_results":
		return r.part(func() string { return "what checks found" }, func() bool {
			var list []checkV4
			ok := r.unmarshal("check_results", &list)
			r.file.State.Checks = checkResults(list)
			return ok
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

// resource reads a resource, and its instances after everything else that it has: they are nothing without that.
func (r *reader) resource() bool {
	var in resourceV4
	what := func() string { return fmt.Sprintf("what belongs to %s.%s", in.Type, in.Name) }
	return r.part(what, func() bool {
		instances := -1
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
				instances = r.Pos
			}
			return r.Skip()
		})
		if !whole && (!r.salvage || r.err != nil || instances < 0) {
			return false
		}
		behind := r.Pos
		res, err := r.decoder.resource(r.file.State, &in)
		if err != nil {
			return r.check(err)
		}
		if instances >= 0 {
			r.Pos = instances
			if !r.array("instances", func() bool { return r.instance(res) }) {
				return false
			}
			r.Pos = behind
		}
		if whole && res.Provider.Provider.IsZero() {
			return r.check(noProvider(res))
		}
		return whole
	})
}

func (r *reader) instance(res *states.Resource) bool {
	what := func() string { return fmt.Sprintf("an object of %s", res.Addr) }
	return r.part(what, func() bool {
		var in instanceV4
		return r.fields(&in) && r.check(r.decoder.instance(res, &in))
	})
}

// fields reads what is written of an object.
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
