package ui

import (
	"encoding/json"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/lang/nesting"
	"tofu/internal/plans"
)

// text compares strings: JSON by its content, and other strings of several lines line by line.
func (d *differ) text(before, after cty.Value) *node {
	if n := d.jsonText(before, after); n != nil {
		return n
	}
	was, is := stringOf(before), stringOf(after)
	if !strings.Contains(was, "\n") && !strings.Contains(is, "\n") {
		return d.leaves(before, after)
	}
	n := container(textForm, before, after, was != is)
	switch n.action {
	case plans.Update:
		n.lines = alignLines(splitLines(was), splitLines(is))
	case plans.Create:
		n.lines = unchangedLines(splitLines(is))
	default:
		n.lines = unchangedLines(splitLines(was))
	}
	return n
}

func stringOf(v cty.Value) string {
	if v == cty.NilVal {
		return ""
	}
	return v.AsString()
}

func splitLines(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

func unchangedLines(texts []string) []line {
	out := make([]line, len(texts))
	for i, t := range texts {
		out[i] = line{plans.NoOp, t}
	}
	return out
}

// jsonText compares strings that contain JSON objects or lists. It returns nil for other strings.
func (d *differ) jsonText(before, after cty.Value) *node {
	was, isJSON := parseJSON(before)
	is, alsoJSON := parseJSON(after)
	switch {
	case before == cty.NilVal && alsoJSON, after == cty.NilVal && isJSON:
	case !isJSON && !alsoJSON:
		return nil
	case isJSON != alsoJSON: // only one of them
		return d.becomes(before, after)
	}
	inner := (&differ{}).value(was, is, nil)
	n := container(jsonForm, before, after, changed(inner))
	n.elements = []*node{inner}
	if n.action == plans.NoOp && before.AsString() != after.AsString() {
		n.action = plans.Update
		n.text = "whitespace changes"
	}
	return n
}

// parseJSON parses a string that contains a JSON object or list.
func parseJSON(v cty.Value) (cty.Value, bool) {
	if v == cty.NilVal {
		return v, false
	}
	text := v.AsString()
	if len(text) < 2 || text[0] != '{' && text[0] != '[' || !json.Valid([]byte(text)) ||
		nesting.LongNumber(text) {
		return cty.NilVal, false
	}
	ty, err := ctyjson.ImpliedType([]byte(text))
	if err != nil {
		return cty.NilVal, false
	}
	out, err := ctyjson.Unmarshal([]byte(text), ty)
	return out, err == nil
}
