package valuediff

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/jsonvalue"
	"tofu/internal/lang/nesting"
	"tofu/internal/plans"
)

// text compares strings: JSON by its content, and other strings with several lines line by line.
// For review, it also compares short forms, YAML and base64.
func (d *Differ) text(before, after cty.Value) *Node {
	if d.Review {
		if n := d.short(before, after); n != nil {
			return n
		}
		if n := d.structured(before, after); n != nil {
			return n
		}
	} else if n := d.jsonText(before, after); n != nil {
		return n
	}
	if !strings.Contains(stringOf(before), "\n") && !strings.Contains(stringOf(after), "\n") {
		return d.leaves(before, after)
	}
	return d.lines(before, after)
}

// lines compares strings line by line.
func (d *Differ) lines(before, after cty.Value) *Node {
	was, is := stringOf(before), stringOf(after)
	n := container(TextForm, before, after, was != is)
	switch n.Action {
	case plans.Update:
		n.Lines = alignLines(splitLines(was), splitLines(is))
		if d.Review {
			n.Text = newlineText(was, is)
			markWords(n.Lines)
		}
	case plans.Create:
		n.Lines = unchangedLines(splitLines(is))
	default:
		n.Lines = unchangedLines(splitLines(was))
	}
	return n
}

// newlineText returns a remark about two strings that differ only in the newline at the end, or ""
// for other strings.
func newlineText(was, is string) string {
	switch {
	case is == was+"\n":
		return "newline at the end added"
	case was == is+"\n":
		return "newline at the end removed"
	}
	return ""
}

// short compares strings of which at least one has a short form: PEM blocks and hashes. It returns
// nil for other strings, and if the short forms hide the difference.
func (d *Differ) short(before, after cty.Value) *Node {
	was, is := shortText(stringOf(before)), shortText(stringOf(after))
	if was == "" && is == "" {
		return nil
	}
	if was == "" && before != cty.NilVal {
		was = LeafText(before)
	}
	if is == "" && after != cty.NilVal {
		is = LeafText(after)
	}
	switch action := ActionOf(before, after, stringOf(before) != stringOf(after)); action {
	case plans.Update:
		switch {
		case was != is:
		case strings.HasPrefix(was, "("): // the same PEM blocks; their text may be a private key
			return Leaf(action, was+" in another layout")
		default: // the short forms hide the difference
			return nil
		}
		return &Node{Action: action, Before: was, After: is}
	case plans.Delete:
		return Leaf(action, was)
	default:
		return Leaf(action, is)
	}
}

func stringOf(v cty.Value) string {
	if v == cty.NilVal {
		return ""
	}
	return v.AsString()
}

func splitLines(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

func unchangedLines(texts []string) []Line {
	out := make([]Line, len(texts))
	for i, t := range texts {
		out[i] = Line{Text: t}
	}
	return out
}

// jsonText compares strings that contain JSON objects or lists. It returns nil for other
// strings.
func (d *Differ) jsonText(before, after cty.Value) *Node {
	was, isJSON := parseJSON(before)
	is, alsoJSON := parseJSON(after)
	switch {
	case before == cty.NilVal && alsoJSON, after == cty.NilVal && isJSON:
	case !isJSON && !alsoJSON:
		return nil
	case isJSON != alsoJSON: // only one of them is JSON
		return d.becomes(before, after)
	}
	inner := d.inText().value(was, is, nil)
	n := container(JSONForm, before, after, inner.Changed())
	n.Calls = []string{"jsonencode"}
	n.Elements = []*Node{inner}
	if n.Action == plans.NoOp && before.AsString() != after.AsString() {
		n.Action = plans.Update
		n.Text = "whitespace changes"
		if d.Review {
			n.Text = formatChange(before.AsString(), after.AsString())
		}
	}
	return n
}

// formatChange describes the difference between two strings with the same JSON value.
func formatChange(before, after string) string {
	was, is := compactJSON(before), compactJSON(after)
	var counts [256]int // reordering doesn't change how many times each byte occurs
	for _, b := range was {
		counts[b]++
	}
	for _, b := range is {
		counts[b]--
	}
	switch {
	case string(was) == string(is):
		return "whitespace changes"
	case counts == [256]int{}:
		return "only the order of keys changes"
	}
	return "only the formatting changes"
}

// compactJSON removes the whitespace from valid JSON.
func compactJSON(text string) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, []byte(text))
	return out.Bytes()
}

// parseJSON parses a string that contains a JSON object or list.
func parseJSON(v cty.Value) (cty.Value, bool) {
	if v == cty.NilVal {
		return v, false
	}
	text := v.AsString()
	if len(text) < 2 || text[0] != '{' && text[0] != '[' || nesting.LongNumber(text) ||
		!json.Valid([]byte(text)) {
		return cty.NilVal, false
	}
	out, err := jsonvalue.Decode(text)
	return out, err == nil
}
