// Package blocks describes configuration blocks as Go structs with tags, and decodes them. Drivers
// of backends, key providers and encryption methods use it.
//
// Struct fields have the tags
//
//	cfg:"name[,required][,sensitive][,block][,single]"   the attribute, or the nested block
//	env:"VAR[,VAR…]"         environment variables used if it is absent, in order
//	default:"text"           the default value
//	conflicts:"name[,name…]" attributes of the same block that can't be set too
//	oneof:"text[,text…]"     the values that are allowed
//
// and the type string, bool, int, []string, []int or map[string]string. A field whose type is a
// struct is an attribute that holds an object; the fields of the struct are the attributes of the
// object. With the word block in its tag, the field is a nested block instead. If the attribute or
// block is absent, a pointer to a struct is nil, and a struct has its values from the environment
// and its defaults. A slice of structs holds blocks that may be repeated. Fields without tags
// belong to the driver.
//
// A struct that implements [Documented] describes its fields, and one that implements [Deprecating]
// says which of them are deprecated. A configuration that implements [Checker] checks what tags
// can't express.
package blocks

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
)

// A Checker is a configuration that can check its decoded values. The error of Check should come
// from [Invalid], which sets the path of the argument. Callers use the path to add the line.
type Checker interface{ Check() error }

// Docs maps the names of attributes and nested blocks to their descriptions, which are sentences.
type Docs map[string]string

// Documented is implemented by pointers to structs whose fields have descriptions. An embedded
// struct describes its own fields.
type Documented interface{ Docs() Docs }

// Deprecating is implemented by pointers to structs with deprecated fields. Deprecated returns, by
// field name, the advice for the warning that is shown if a deprecated field is set.
type Deprecating interface{ Deprecated() Docs }

// Invalid returns an error about an argument. path is the path of the argument within the block.
// The reason is a phrase that follows the words "The argument NAME is invalid:".
func Invalid(path []string, reason string, args ...any) error {
	return invalid(attrPath(nil, path...), reason, args...)
}

func invalid(path cty.Path, reason string, args ...any) tfdiags.Diagnostic {
	d := tfdiags.Errorf("Invalid configuration", "The argument %q is invalid: %s.", tfdiags.FormatPath(path)[1:],
		fmt.Sprintf(reason, args...))
	d.Path = path
	return d
}

func attrPath(in cty.Path, names ...string) cty.Path {
	out := slices.Clone(in)
	for _, name := range names {
		out = out.GetAttr(name)
	}
	return out
}

// field is an attribute or a nested block of a configuration struct.
type field struct {
	name                               string
	required, sensitive, block, single bool
	env, conflicts, allowed            []string
	def, doc, deprecated               string
	value                              reflect.Value
}

var attributeTypes = map[reflect.Type]cty.Type{
	reflect.TypeFor[string]():            cty.String,
	reflect.TypeFor[bool]():              cty.Bool,
	reflect.TypeFor[int]():               cty.Number,
	reflect.TypeFor[[]string]():          cty.List(cty.String),
	reflect.TypeFor[[]int]():             cty.List(cty.Number),
	reflect.TypeFor[map[string]string](): cty.Map(cty.String),
}

// nested returns the struct type of a field that holds a struct, a pointer to one or a slice of
// them. It returns false for all other fields.
func (f *field) nested() (reflect.Type, bool) {
	t := f.value.Type()
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t, t.Kind() == reflect.Struct
}

func (f *field) attributeType() cty.Type {
	ty, ok := attributeTypes[f.value.Type()]
	if !ok {
		panic(fmt.Sprintf("unreachable: configuration field %q has no attribute type", f.name))
	}
	return ty
}

func fields(v reflect.Value) []field {
	var out []field
	list := func(text string) []string {
		if text == "" {
			return nil
		}
		return strings.Split(text, ",")
	}
	var docs, deprecated Docs
	if d, ok := v.Addr().Interface().(Documented); ok {
		docs = d.Docs()
	}
	if d, ok := v.Addr().Interface().(Deprecating); ok {
		deprecated = d.Deprecated()
	}
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		tag, ok := sf.Tag.Lookup("cfg")
		// Arguments that several drivers share are in embedded structs.
		if sf.Anonymous && !ok && sf.Type.Kind() == reflect.Struct {
			out = append(out, fields(v.Field(i))...)
			continue
		}
		if !ok {
			continue
		}
		words := strings.Split(tag, ",")
		has := func(word string) bool { return slices.Contains(words[1:], word) }
		out = append(out, field{name: words[0], required: has("required"), sensitive: has("sensitive"),
			block: has("block"), single: has("single"),
			env: list(sf.Tag.Get("env")), conflicts: list(sf.Tag.Get("conflicts")),
			allowed: list(sf.Tag.Get("oneof")), def: sf.Tag.Get("default"), doc: docs[words[0]],
			deprecated: deprecated[words[0]], value: v.Field(i)})
	}
	return out
}

// Schema returns the schema of a configuration block. Attributes with environment variables are
// optional.
func Schema(config any) *configschema.Block { return schemaOf(reflect.ValueOf(config).Elem()) }

func schemaOf(v reflect.Value) *configschema.Block {
	out := &configschema.Block{Attributes: make(map[string]*configschema.Attribute)}
	for _, f := range fields(v) {
		if !f.block {
			out.Attributes[f.name] = f.attribute()
			continue
		}
		t, _ := f.nested()
		inner := schemaOf(reflect.New(t).Elem())
		nested := &configschema.NestedBlock{Nesting: configschema.NestingList}
		nested.Attributes, nested.BlockTypes, nested.Description = inner.Attributes, inner.BlockTypes, f.doc
		switch {
		case f.single:
			nested.Nesting = configschema.NestingSingle
		case f.value.Kind() != reflect.Slice:
			nested.MaxItems = 1
		}
		if out.BlockTypes == nil {
			out.BlockTypes = make(map[string]*configschema.NestedBlock)
		}
		out.BlockTypes[f.name] = nested
	}
	return out
}

func (f *field) attribute() *configschema.Attribute {
	required := f.required && len(f.env) == 0
	a := &configschema.Attribute{Required: required, Optional: !required, Sensitive: f.sensitive, Description: f.doc,
		Deprecated: f.deprecated != "", DeprecationMessage: f.deprecated}
	if t, ok := f.nested(); ok {
		a.NestedType = &configschema.Object{Nesting: configschema.NestingSingle,
			Attributes: schemaOf(reflect.New(t).Elem()).Attributes}
	} else {
		a.Type = f.attributeType()
	}
	return a
}

// Values returns the arguments of a decoded configuration by name. Nested blocks and objects are
// maps of the same form, lists of such maps, or nil if they are absent.
func Values(config any) map[string]any {
	v := reflect.ValueOf(config)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return values(v)
}

func values(v reflect.Value) map[string]any {
	out := make(map[string]any)
	for _, f := range fields(v) {
		if _, nested := f.nested(); nested {
			out[f.name] = nestedValues(f.value)
			continue
		}
		out[f.name] = f.value.Interface()
	}
	return out
}

func nestedValues(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = values(v.Index(i))
		}
		return list
	case v.Kind() == reflect.Pointer && v.IsNil():
		return nil
	case v.Kind() == reflect.Pointer:
		v = v.Elem()
	}
	return values(v)
}

// Decode decodes an object that conforms to the schema into config. Absent and null attributes get
// their values from the environment or their defaults. The diagnostics in the error and the
// warnings about deprecated attributes have attribute paths.
func Decode(v cty.Value, config any, getenv func(string) string, warn tfdiags.Sink) error {
	v, _ = v.UnmarkDeep()
	d := &decoder{getenv: getenv, warn: warn}
	d.block(v, reflect.ValueOf(config).Elem(), nil)
	if c, ok := config.(Checker); ok && !d.errs.HasErrors() {
		return c.Check()
	}
	return d.errs.Err()
}

type decoder struct {
	getenv func(string) string
	warn   tfdiags.Sink
	errs   tfdiags.Diagnostics
}

// block decodes an object into a struct. For a null object, it only sets values from the
// environment and defaults.
func (d *decoder) block(v cty.Value, into reflect.Value, path cty.Path) {
	isSet := func(name string) bool {
		return !v.IsNull() && v.Type().HasAttribute(name) && !v.GetAttr(name).IsNull()
	}
	for _, f := range fields(into) {
		at := attrPath(path, f.name)
		given := cty.NullVal(cty.DynamicPseudoType)
		if isSet(f.name) {
			given = v.GetAttr(f.name)
			d.advise(&f, isSet, at)
		}
		if _, ok := f.nested(); ok {
			d.nested(given, &f, at)
		} else {
			d.attribute(given, &f, at)
		}
	}
}

// advise warns about a deprecated argument that is set, and reports an error if two conflicting
// arguments are set.
func (d *decoder) advise(f *field, isSet func(string) bool, at cty.Path) {
	if f.deprecated != "" {
		w := tfdiags.Warningf("Deprecated argument", "The argument %q is deprecated. %s",
			tfdiags.FormatPath(at)[1:], f.deprecated)
		w.Path = at
		d.warn(w)
	}
	for _, other := range f.conflicts {
		if isSet(other) {
			d.errs = d.errs.Append(invalid(at, "it can't be set together with %q", other))
		}
	}
}

func (d *decoder) nested(v cty.Value, f *field, path cty.Path) {
	t, _ := f.nested()
	if !v.IsWhollyKnown() {
		d.errs = d.errs.Append(invalid(path, "its value must be known before planning"))
		return
	}
	items := []cty.Value{v}
	isList := !v.IsNull() && (v.Type().IsListType() || v.Type().IsTupleType() || v.Type().IsSetType())
	if isList {
		items = v.AsValueSlice()
	}
	absent := v.IsNull() || len(items) == 0
	if absent {
		items, isList = []cty.Value{cty.NullVal(cty.EmptyObject)}, false
	}
	switch {
	case absent && f.required:
		d.errs = d.errs.Append(invalid(path, "it is required"))
	case absent && f.value.Kind() != reflect.Struct:
	case f.value.Kind() == reflect.Slice:
		for i, item := range items {
			one := reflect.New(t).Elem()
			d.block(item, one, path.IndexInt(i))
			f.value.Set(reflect.Append(f.value, one))
		}
	default:
		if isList {
			path = path.IndexInt(0)
		}
		one := f.value
		if one.Kind() == reflect.Pointer {
			one.Set(reflect.New(t))
			one = one.Elem()
		}
		d.block(items[0], one, path)
	}
}

func (d *decoder) attribute(v cty.Value, f *field, path cty.Path) {
	source := ""
	if v.IsNull() {
		v, source = f.fallback(d.getenv)
	}
	err := f.set(v)
	if err == nil {
		return
	}
	one := invalid(path, "%s", err)
	if source != "" {
		one.Detail = fmt.Sprintf("The environment variable %s, which sets the argument %q, is invalid: %s.", source,
			f.name, err)
	}
	d.errs = d.errs.Append(one)
}

// fallback returns the value from the environment or the default, or null if neither exists. It
// also returns the name of the environment variable, or "" for other values.
func (f *field) fallback(getenv func(string) string) (cty.Value, string) {
	for _, name := range f.env {
		if text := getenv(name); text != "" {
			return cty.StringVal(text), name
		}
	}
	if f.def != "" {
		return cty.StringVal(f.def), ""
	}
	return cty.NullVal(f.attributeType()), ""
}

func (f *field) set(v cty.Value) error {
	switch {
	case !v.IsWhollyKnown():
		return fmt.Errorf("its value must be known before planning")
	case v.IsNull() && f.required && len(f.env) > 0:
		return fmt.Errorf("it is required, here or in the environment variable %s", strings.Join(f.env, " or "))
	case v.IsNull() && f.required:
		return fmt.Errorf("it is required")
	case v.IsNull():
		return nil
	}
	v, err := f.convert(v)
	if err != nil {
		return err
	}
	switch {
	case v.Type() != cty.String:
	case f.required && v.AsString() == "":
		return fmt.Errorf("it must not be empty")
	case len(f.allowed) > 0 && v.AsString() != "" && !slices.Contains(f.allowed, v.AsString()):
		return fmt.Errorf("%q is not one of %s", v.AsString(), strings.Join(f.allowed, ", "))
	}
	return gocty.FromCtyValue(v, f.value.Addr().Interface())
}

// convert converts a value to the type of the attribute. It also accepts strings as environment
// variables contain them: 1 or 0 for a boolean, and elements separated by commas for a list.
func (f *field) convert(v cty.Value) (cty.Value, error) {
	want := f.attributeType()
	if v.Type() == cty.String && want == cty.Bool {
		if b, err := strconv.ParseBool(v.AsString()); err == nil {
			return cty.BoolVal(b), nil
		}
	}
	if v.Type() == cty.String && want.IsListType() {
		var items []cty.Value
		for text := range strings.SplitSeq(v.AsString(), ",") {
			items = append(items, cty.StringVal(strings.TrimSpace(text)))
		}
		v = cty.TupleVal(items)
	}
	return convert.Convert(v, want)
}
