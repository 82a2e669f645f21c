// Package blocks describes configuration blocks as Go structs with tags, and decodes them. Drivers of
// backends, key providers and encryption methods use it.
package blocks

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"tofu/internal/configs/configschema"
	"tofu/internal/tfdiags"
)

// field is an attribute of a configuration struct. Struct fields have the tags
//
//	cfg:"name[,required][,sensitive]"   the attribute
//	env:"VAR[,VAR…]"                    environment variables used if it is absent, in order
//	default:"text"                      the default value
//	doc:"Sentence."                     the description
//
// and the type string, bool, int, []string, []int or map[string]string. Fields without tags belong
// to the driver.
type field struct {
	name                string
	required, sensitive bool
	env                 []string
	def, doc            string
	value               reflect.Value
}

var attributeTypes = map[reflect.Type]cty.Type{
	reflect.TypeFor[string]():            cty.String,
	reflect.TypeFor[bool]():              cty.Bool,
	reflect.TypeFor[int]():               cty.Number,
	reflect.TypeFor[[]string]():          cty.List(cty.String),
	reflect.TypeFor[[]int]():             cty.List(cty.Number),
	reflect.TypeFor[map[string]string](): cty.Map(cty.String),
}

func (f *field) attributeType() cty.Type {
	ty, ok := attributeTypes[f.value.Type()]
	if !ok {
		panic(fmt.Sprintf("unreachable: configuration field %q has no attribute type", f.name))
	}
	return ty
}

func fields(config any) []field {
	var out []field
	v := reflect.ValueOf(config).Elem()
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		tag, ok := sf.Tag.Lookup("cfg")
		if !ok {
			continue
		}
		words := strings.Split(tag, ",")
		f := field{name: words[0], def: sf.Tag.Get("default"), doc: sf.Tag.Get("doc"), value: v.Field(i)}
		for _, word := range words[1:] {
			f.required = f.required || word == "required"
			f.sensitive = f.sensitive || word == "sensitive"
		}
		if env := sf.Tag.Get("env"); env != "" {
			f.env = strings.Split(env, ",")
		}
		out = append(out, f)
	}
	return out
}

// Schema returns the schema of a configuration block. Attributes with environment variables are
// optional.
func Schema(config any) *configschema.Block {
	out := &configschema.Block{Attributes: make(map[string]*configschema.Attribute)}
	for _, f := range fields(config) {
		required := f.required && len(f.env) == 0
		out.Attributes[f.name] = &configschema.Attribute{
			Type: f.attributeType(), Required: required, Optional: !required, Sensitive: f.sensitive,
			Description: f.doc,
		}
	}
	return out
}

// Decode decodes an object that conforms to the schema into config. Absent and null attributes are
// set from the environment or to their defaults. The diagnostics of the error have attribute paths.
func Decode(v cty.Value, config any, getenv func(string) string) error {
	var errs tfdiags.Diagnostics
	v, _ = v.UnmarkDeep()
	for _, f := range fields(config) {
		attr, source := cty.NullVal(f.attributeType()), ""
		if !v.IsNull() && v.Type().HasAttribute(f.name) {
			attr = v.GetAttr(f.name)
		}
		if attr.IsNull() {
			attr, source = f.fallback(getenv)
		}
		if err := f.set(attr); err != nil {
			d := tfdiags.Errorf("Invalid configuration", "The argument %q is invalid: %s.", f.name, err)
			if source != "" {
				d.Detail = fmt.Sprintf("The environment variable %s, which sets the argument %q, is "+
					"invalid: %s.", source, f.name, err)
			}
			d.Path = cty.GetAttrPath(f.name)
			errs = errs.Append(d)
		}
	}
	return errs.Err()
}

// fallback returns the value from the environment or the default, and the name of the variable.
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
		return fmt.Errorf("it is required, here or in the environment variable %s", f.env[0])
	case v.IsNull() && f.required:
		return fmt.Errorf("it is required")
	case v.IsNull():
		return nil
	}
	if f.value.Kind() == reflect.Bool && v.Type() == cty.String { // variables may also be 1 or 0
		if b, err := strconv.ParseBool(v.AsString()); err == nil {
			v = cty.BoolVal(b)
		}
	}
	converted, err := convert.Convert(v, f.attributeType())
	if err != nil {
		return err
	}
	if f.required && converted.Type() == cty.String && converted.AsString() == "" {
		return fmt.Errorf("it must not be empty")
	}
	return gocty.FromCtyValue(converted, f.value.Addr().Interface())
}
