package objchange

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// problem is a violation of a rule. full is the text of the error, which may show values. secret is
// used instead if values must not be shown.
type problem struct {
	path   cty.Path
	full   string
	secret string
}

// problems is a list of violations.
type problems []problem

func (p *problems) add(path cty.Path, secret, format string, args ...any) {
	*p = append(*p, problem{path, fmt.Sprintf(format, args...), secret})
}

// plain adds a problem whose text shows no values.
func (p *problems) plain(path cty.Path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	*p = append(*p, problem{path, text, text})
}

// errors returns the problems as path errors. hidden lists the paths of marked values.
func (p problems) errors(schema *configschema.Block, hidden []cty.Path) []error {
	var errs []error
	for _, one := range p {
		text := one.full
		if isSecret(schema, one.path, hidden) {
			text = one.secret
		}
		errs = append(errs, one.path.Copy().NewErrorf("%s", text))
	}
	return errs
}

// isSecret reports whether there is a sensitive value at, above or below the path.
func isSecret(schema *configschema.Block, path cty.Path, hidden []cty.Path) bool {
	for _, h := range hidden {
		if path.HasPrefix(h) || h.HasPrefix(path) {
			return true
		}
	}
	for i := range path {
		if a := schema.AttributeByPath(path[:i+1]); a != nil && a.Sensitive {
			return true
		}
	}
	if a := schema.AttributeByPath(path); a != nil {
		return a.NestedType != nil && hasSensitive(a.NestedType)
	}
	b := schema.BlockByPath(path)
	return b != nil && b.ContainsSensitive()
}

func hasSensitive(o *configschema.Object) bool {
	for _, a := range o.Attributes {
		if a.Sensitive || a.NestedType != nil && hasSensitive(a.NestedType) {
			return true
		}
	}
	return false
}
