package provisioner

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Provisioner is a built-in provisioner.
type Provisioner struct {
	name     string
	schema   *configschema.Block
	dir      string // base directory of relative paths; "" for the working directory
	validate func(config cty.Value) error
	run      func(ctx context.Context, r *request) error
}

// request holds the inputs of one run of a provisioner.
type request struct {
	config     cty.Value
	dir        string              // base directory of relative local paths; "" for the working directory
	connection cty.Value           // without marks; null if there is no connection block
	secret     func(string) bool   // reports whether a connection argument is secret
	out        func(string)        // receives lines of output; never nil
	hidden     bool                // whether commands and their output must not be shown
	warn       func(detail string) // adds a warning to the result
}

// Builtin returns the built-in provisioner of a type, or nil if no built-in provisioner has that
// type.
func Builtin(typ string) *Provisioner {
	return builtin[typ]
}

var builtin = map[string]*Provisioner{
	"file":        {name: "file", schema: fileSchema, validate: validateFile, run: runFile},
	"local-exec":  {name: "local-exec", schema: localExecSchema, validate: validateLocalExec, run: runLocalExec},
	"remote-exec": {name: "remote-exec", schema: remoteExecSchema, validate: validateRemoteExec, run: runRemoteExec},
}

// In returns a copy of the provisioner for a configuration whose paths are relative to dir. If dir
// is "", they are relative to the working directory.
func (p *Provisioner) In(dir string) *Provisioner {
	in := *p
	in.dir = dir
	return &in
}

// Schema returns the schema of the provisioner block.
func (p *Provisioner) Schema() (*providers.ResourceSchema, error) {
	return &providers.ResourceSchema{Block: p.schema}, nil
}

// Validate checks a configuration, which may be partly unknown.
func (p *Provisioner) Validate(config cty.Value) tfdiags.Diagnostics {
	return tfdiags.FromError(p.validate(config))
}

// Run runs the provisioner. connection is null if there is no connection block. Marked parts of the
// connection are not shown. Each line of output is passed to out. If out is nil, neither output nor
// commands may be shown, not even in errors.
func (p *Provisioner) Run(
	ctx context.Context, config, connection cty.Value, out func(line string),
) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	r := newRequest(config, connection, out)
	r.dir = p.dir
	r.warn = func(detail string) {
		diags.Add(tfdiags.Diagnostic{Severity: tfdiags.Warning, Summary: p.name +
			" provisioner warning", Detail: detail})
	}
	if err := p.run(ctx, r); err != nil {
		diags.Add(tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: p.name + " provisioner error",
			Detail: tfdiags.Sentence(err)})
	}
	return diags
}

func newRequest(config, connection cty.Value, out func(line string)) *request {
	connection, whole := connection.Unmark()
	r := &request{config: config, out: out,
		secret: func(name string) bool { return len(whole) > 0 || attribute(connection, name).IsMarked() }}
	r.connection, _ = connection.UnmarkDeep()
	if out == nil {
		r.hidden, r.out = true, func(string) {}
	}
	return r
}

// path returns the path of a local file named in the configuration, relative to the working
// directory.
func (r *request) path(name string) string {
	if r.dir == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.dir, name)
}

func optional(ty cty.Type) *configschema.Attribute {
	return &configschema.Attribute{Type: ty, Optional: true}
}

func required(ty cty.Type) *configschema.Attribute {
	return &configschema.Attribute{Type: ty, Required: true}
}

// text returns an attribute of an object as a string, or "" if it is not set.
func text(v cty.Value, name string) string {
	v = attribute(v, name)
	if v.IsNull() || !v.IsKnown() {
		return ""
	}
	return v.AsString()
}

func flag(v cty.Value, name string) bool {
	v = attribute(v, name)
	return !v.IsNull() && v.IsKnown() && v.True()
}

func attribute(v cty.Value, name string) cty.Value {
	if !v.Type().HasAttribute(name) {
		return cty.NullVal(cty.String)
	}
	return v.GetAttr(name)
}

// texts returns the elements of a list attribute. A null element is an error.
func texts(v cty.Value, name string) ([]string, error) {
	v = attribute(v, name)
	if v.IsNull() || !v.IsKnown() {
		return nil, nil
	}
	var out []string
	for it := v.ElementIterator(); it.Next(); {
		_, item := it.Element()
		if item.IsNull() {
			return nil, fmt.Errorf("%q has a null element; remove it, or replace it with a string", name)
		}
		out = append(out, item.AsString())
	}
	return out, nil
}
