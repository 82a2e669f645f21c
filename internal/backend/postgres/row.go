package postgres

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/checks"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
)

// writing turns parts of a state into rows.
type writing struct {
	codec statemgr.Codec
}

// document is a part of a state in JSON, as stored in a row.
type document struct {
	text      string
	encrypted bool
}

// seal encrypts a document, if a codec is set.
func (w *writing) seal(plain []byte, id string) (document, error) {
	if w.codec == nil {
		return document{string(plain), false}, nil
	}
	wrapped, err := json.Marshal(sealed{id, plain})
	if err != nil {
		return document{}, err
	}
	data, err := w.codec.Encrypt(wrapped)
	if err != nil {
		return document{}, fmt.Errorf("encrypting the state: %w", err)
	}
	if bytes.Equal(data, wrapped) { // the method is "unencrypted"
		return document{string(plain), false}, nil
	}
	return document{string(data), true}, nil
}

// attributes returns the attributes of an object as JSONB. It leaves out sensitive values, so
// queries can't show them. It returns nil for objects that JSONB can't represent.
func attributes(obj *states.Object) *string {
	if obj.Attrs == nil {
		return nil
	}
	text := obj.Attrs
	if len(obj.SensitivePaths) > 0 {
		var err error
		if text, err = withoutPaths(text, obj.SensitivePaths); err != nil {
			return nil
		}
	}
	return jsonb(text)
}

// jsonb returns text as a string, or nil if JSONB can't represent it.
func jsonb(text []byte) *string {
	if !representable(text) {
		return nil
	}
	out := string(text)
	return &out
}

// withoutPaths returns a JSON document without the values at the paths. Numbers keep all digits.
func withoutPaths(text []byte, paths []cty.Path) ([]byte, error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		return nil, err
	}
	for _, path := range paths {
		v = without(v, path)
	}
	return json.Marshal(v)
}

// without removes the value at a path from v, in place, and returns v. If the path can't be
// followed beyond a value, as in a set, it removes that value. It returns nil if nothing of v is
// left.
func without(v any, path cty.Path) any {
	if len(path) == 0 {
		return nil
	}
	if v == nil {
		return nil
	}
	var name string
	switch step := path[0].(type) {
	case cty.GetAttrStep:
		name = step.Name
	case cty.IndexStep:
		switch {
		case step.Key.Type() == cty.String:
			name = step.Key.AsString()
		case step.Key.Type() == cty.Number:
			list, isList := v.([]any)
			n, _ := step.Key.AsBigFloat().Int64()
			if !isList || n < 0 || n >= int64(len(list)) {
				return nil
			}
			list[n] = without(list[n], path[1:])
			return list
		default:
			return nil
		}
	}
	members, isObject := v.(map[string]any)
	if !isObject {
		return nil
	}
	if inner, has := members[name]; has {
		members[name] = without(inner, path[1:])
		if members[name] == nil {
			delete(members, name)
		}
	}
	return members
}

// representable reports whether JSONB can represent a JSON document: it has no NUL characters, and
// no numbers that are too long.
func representable(text []byte) bool {
	const longest, largestExponent = 10_000, 5 // digits of a number, and of its exponent
	if bytes.Contains(text, []byte(`\u0000`)) {
		return false
	}
	inString, digits, exponent := false, 0, -1
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString:
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c >= '0' && c <= '9' || c == '.' || c == '+' || c == '-' && digits > 0:
			digits++
			if exponent >= 0 {
				exponent++
			}
		case (c == 'e' || c == 'E') && digits > 0:
			exponent = 0
		default:
			digits, exponent = 0, -1
		}
		if digits > longest || exponent > largestExponent-1 {
			return false
		}
	}
	return true
}

// snapshotParts holds outputs and check results in the JSON of a state file.
type snapshotParts struct {
	Outputs map[string]json.RawMessage `json:"outputs"`
	Checks  []json.RawMessage          `json:"check_results"`
}

// encodeParts encodes outputs and check results in the JSON of a state file.
func encodeParts(outputs map[string]*states.Output, results *checks.Results) (*snapshotParts, error) {
	st := states.New()
	for name, o := range outputs {
		if o != nil {
			st.SetOutput(name, o)
		}
	}
	st.Checks = results
	text, err := statefile.Encode(&statefile.File{State: st}, nil)
	if err != nil {
		return nil, err
	}
	out := new(snapshotParts)
	return out, json.Unmarshal(text, out)
}
