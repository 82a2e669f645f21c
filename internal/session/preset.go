package session

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// Preset holds the settings of a root module that roots.tofu.hcl declares. Options of the command
// line take precedence over them. The zero value sets nothing.
type Preset struct {
	Workspace string   // takes precedence over TF_WORKSPACE; "" means the selected one
	VarFiles  []string // relative to the working directory; they take precedence over automatic files
	Variables map[string]configs.Given
	Backend   map[string]string // settings as -backend-config has them
	From      string            // the place in the file, for messages
}

// Override replaces a setting by one from outside the backend block: the text itself, or for a
// list, map or object an expression such as {s3="https://…"}. from names where it is set.
func (b *BackendSettings) Override(name, text, from string) error {
	attr := b.Schema.Attributes[name]
	if attr == nil {
		return tfdiags.Errorf("Invalid backend configuration argument",
			"The backend %q has no argument %q, which is given with %s.", b.Driver.Name, name, from)
	}
	v, err := backendOption(text, attr.ConfigType(), from)
	if err != nil {
		return tfdiags.Errorf("Invalid backend configuration argument",
			"The value given with %s for %q can't be used: %s.", from, name, err)
	}
	values := b.Config.AsValueMap()
	values[name] = v
	b.Config = cty.ObjectVal(values)
	return nil
}

// backendOption converts the text of a setting to the type of its argument.
func backendOption(text string, want cty.Type, from string) (cty.Value, error) {
	if want.IsPrimitiveType() {
		return convert.Convert(cty.StringVal(text), want)
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), from, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%s", diags[0].Detail)
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%s", diags[0].Detail)
	}
	return convert.Convert(v, want)
}

// Preset replaces settings by those of a preset.
func (b *BackendSettings) Preset(p Preset) error {
	var errs tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(p.Backend)) {
		errs = errs.AppendError(b.Override(name, p.Backend[name], p.From))
	}
	return errs.Err()
}

// WantedBackend returns the settings that the configuration and the preset have, whether or not the
// directory is initialized for them.
// hasBlock is false if the configuration has no backend block, so that the preset has no effect.
func (s *Session) WantedBackend(cfg *Config) (settings *BackendSettings, hasBlock bool, err error) {
	settings, hasBlock, err = DecodeBackend(cfg)
	if err == nil && hasBlock {
		err = settings.Preset(s.Preset)
	}
	return settings, hasBlock, err
}
