package valuediff

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
	"tofu/internal/plans"
)

// Size limits in bytes for strings that are decoded for a comparison. Longer strings are compared
// without decoding.
const (
	maxYAML   = 256 << 10
	maxBase64 = 4 << 20
	minBase64 = 16
)

// structured compares strings for review. It compares JSON and YAML by their content, even if
// they are encoded in base64, and other base64 text by its lines. It returns nil for other
// strings.
func (d *Differ) structured(before, after cty.Value) *Node {
	if n := d.jsonText(before, after); n != nil {
		return n
	}
	if n := d.yamlText(before, after); n != nil {
		return n
	}
	was, wasEncoded := decodeBase64(before)
	is, isEncoded := decodeBase64(after)
	if !wasEncoded || !isEncoded {
		return nil
	}
	n := d.structured(was, is)
	if n == nil && (strings.Contains(stringOf(was), "\n") || strings.Contains(stringOf(is), "\n")) {
		n = d.lines(was, is)
	}
	if n != nil {
		n.Calls = append([]string{"base64encode"}, n.Calls...)
	}
	return n
}

// yamlText compares YAML documents with several lines. It returns nil for other strings, and
// for documents that are added, removed or equal, which are shown as they are written.
func (d *Differ) yamlText(before, after cty.Value) *Node {
	if before == cty.NilVal || after == cty.NilVal || before.AsString() == after.AsString() {
		return nil
	}
	was, ok := parseYAML(before.AsString())
	is, also := parseYAML(after.AsString())
	if !ok || !also {
		return nil
	}
	inner := d.inText().value(was, is, nil)
	n := container(JSONForm, before, after, inner.Changed())
	n.Calls = []string{"yamlencode"}
	n.Elements = []*Node{inner}
	if n.Action == plans.NoOp {
		n.Action = plans.Update
		n.Text = "only layout, comments or the order of keys change"
	}
	return n
}

// inText returns a Differ for values decoded from a JSON or YAML string, which have no schema.
func (d *Differ) inText() *Differ { return &Differ{Review: d.Review} }

// parseYAML parses a string if it is a YAML map or list with several lines.
func parseYAML(text string) (cty.Value, bool) {
	if len(text) > maxYAML || !strings.Contains(text, "\n") || !strings.Contains(text, ": ") &&
		!strings.Contains(text, ":\n") && !strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "#!") ||
		strings.HasPrefix(text, "-----BEGIN ") {
		return cty.NilVal, false
	}
	v, err := funcs.DecodeYAML(text)
	if err != nil || v.IsNull() || !v.IsWhollyKnown() {
		return cty.NilVal, false
	}
	return v, v.Type().IsObjectType() || v.Type().IsTupleType()
}

// decodeBase64 decodes a base64 string that encodes text. It returns true for NilVal, too.
func decodeBase64(v cty.Value) (cty.Value, bool) {
	if v == cty.NilVal {
		return v, true
	}
	text := v.AsString()
	if len(text) < minBase64 || len(text) > maxBase64 || len(text)%4 != 0 {
		return cty.NilVal, false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(b) || strings.ContainsFunc(string(b), isBinary) {
		return cty.NilVal, false
	}
	return cty.StringVal(string(b)), true
}

func isBinary(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }
