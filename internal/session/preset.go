package session

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// Preset holds the settings for a root module in roots.tofu.hcl. Options on the command line take
// precedence over these settings. The zero value has no effect.
type Preset struct {
	Workspace string   // name of the workspace, which takes precedence over TF_WORKSPACE; "" means the selected one
	VarFiles  []string // paths relative to the working directory; these files override automatically loaded ones
	Variables map[string]configs.Given
	Backend   map[string]string // settings in the form of -backend-config
	From      string            // position in roots.tofu.hcl, for messages
	// Elsewhere contains the variables that any root module of the estate declares. If an option or
	// file for many root modules sets such a variable, the value is ignored in root modules that
	// don't declare it.
	Elsewhere map[string]bool
}

// ignoreOthers ignores values of variables that only other root modules declare. Files in the
// directory of this root module are not for other root modules, so their values are not ignored.
func (s *Session) ignoreOthers(given map[string]configs.Given) {
	for name, g := range given {
		if s.Preset.Elsewhere[name] && (g.Undeclared == configs.UndeclaredError ||
			filepath.Dir(g.Range.Filename) != filepath.Clean(s.RootDir)) {
			g.Undeclared = configs.UndeclaredIgnored
			given[name] = g
		}
	}
}

// Override sets a setting to a value from outside the backend block. For a list, map or object,
// text is an expression such as {s3="https://…"}; otherwise, text is the value itself. from names
// the source of the setting, for errors.
func (b *BackendSettings) Override(name, text, from string) error {
	attr := b.Schema.Attributes[name]
	if attr == nil {
		return tfdiags.Errorf("Invalid backend configuration argument",
			"The backend %q has no argument %q, which %s sets.", b.Driver.Name, name, from)
	}
	v, err := backendOption(text, attr.ConfigType(), from)
	if err != nil {
		return tfdiags.Errorf("Invalid backend configuration argument",
			"The value that %s sets for %q can't be used: %s.", from, name,
			strings.TrimSuffix(err.Error(), "."))
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
		return cty.NilVal, errors.New(diags[0].Detail)
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		return cty.NilVal, errors.New(diags[0].Detail)
	}
	return convert.Convert(v, want)
}

// Preset overrides the settings with those of a preset.
func (b *BackendSettings) Preset(p Preset) error {
	var errs tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(p.Backend)) {
		errs = errs.AppendError(b.Override(name, p.Backend[name], p.From))
	}
	return errs.Err()
}

// WantedBackend returns the backend settings from the configuration and the preset, even if the
// directory is not initialized for them. If the configuration has no backend block, hasBlock is
// false and the preset has no effect.
func (s *Session) WantedBackend(ctx context.Context, cfg *Config) (
	settings *BackendSettings, hasBlock bool, err error) {
	settings, hasBlock, err = s.DecodeBackend(ctx, cfg)
	if err == nil && hasBlock {
		err = settings.Preset(s.Preset)
	}
	return settings, hasBlock, err
}
