package genconfig

import (
	"regexp"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
	"tofu/internal/tfdiags"
)

// word matches a name in a message.
var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*`)

// Omit leaves out the empty arguments that the provider's errors about the block are about. Providers
// report many unset arguments as 0, "", false or without elements, and refuse these beside arguments
// that exclude them. An error has the path of one of them and names the others. Omit returns whether
// it has changed the block.
func (b *Block) Omit(errs tfdiags.Diagnostics) bool {
	named := make(map[string]bool)
	for _, d := range errs {
		if d.Severity != tfdiags.Error {
			continue
		}
		for _, step := range d.Path {
			if attr, ok := step.(cty.GetAttrStep); ok {
				named[attr.Name] = true
			}
		}
		for _, name := range word.FindAllString(d.Summary+" "+d.Detail, -1) {
			named[name] = true
		}
	}
	changed := false
	b.Value, _ = cty.Transform(b.Value, func(path cty.Path, v cty.Value) (cty.Value, error) {
		attr := b.Schema.AttributeByPath(path)
		if attr == nil || !attr.Optional || !coerce.IsZero(v) {
			return v, nil
		}
		last, ok := path[len(path)-1].(cty.GetAttrStep)
		if !ok || !named[last.Name] {
			return v, nil
		}
		if b.omitted == nil {
			b.omitted = make(map[string]bool)
		}
		b.omitted[last.Name], changed = true, true
		return cty.NullVal(v.Type()), nil
	})
	return changed
}
