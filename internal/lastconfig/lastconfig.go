// Package lastconfig writes and reads the last configurations of providers, which a state keeps beside
// the objects of these providers. An object can then be destroyed after the configuration of its
// provider was removed.
//
// # Invariants
//
//   - Nothing that may be secret is kept, even if the state is encrypted. Of strings, only those are kept
//     that the configuration has as literals and defaults of variables, or that come from resources and
//     data sources, which the state has anyway. Not kept are strings from outside, as from variables that
//     were given and files; sensitive and ephemeral values; arguments that are sensitive in the schema or
//     have a name such as "token"; URLs with a password.
//   - Instead, the name of the root variable that had the value is kept, of those that the argument
//     reads. If none had it, the name is that of the provider configuration with the path of the argument,
//     as in "postgresql_password" or "aws_west_region".
//   - A configuration that is not wholly known is not kept.
package lastconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/states"
)

// Names holds the names of root variables, or of parts of them such as "db.password", by their values.
type Names map[string]string

// NewNames returns the names of all strings in the values of variables.
func NewNames(variables map[string]cty.Value) Names {
	out := Names{}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		out.add(name, variables[name])
	}
	return out
}

func (n Names) add(name string, v cty.Value) {
	v, _ = v.Unmark()
	switch ty := v.Type(); {
	case v == cty.NilVal || !v.IsKnown() || v.IsNull():
	case ty == cty.String && v.AsString() != "":
		if _, known := n[v.AsString()]; !known {
			n[v.AsString()] = name
		}
	case !ty.IsSetType() && v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			key, elem := it.Element()
			if text := textOf(key); !strings.Contains(text, ".") {
				n.add(name+"."+text, elem)
			}
		}
	}
}

// Find returns the part of a variable's value that a name as in [Names] means, as a string. parts are the
// parts of the name after that of the variable.
func Find(v cty.Value, parts []string) (string, bool) {
	v, _ = v.Unmark()
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return "", false
	}
	if len(parts) == 0 {
		return textOf(v), v.Type().IsPrimitiveType()
	}
	if v.Type().IsSetType() || !v.CanIterateElements() {
		return "", false
	}
	for it := v.ElementIterator(); it.Next(); {
		if key, elem := it.Element(); textOf(key) == parts[0] {
			return Find(elem, parts[1:])
		}
	}
	return "", false
}

func textOf(v cty.Value) string {
	v, _ = v.Unmark()
	if text, err := convert.Convert(v, cty.String); err == nil && text.IsKnown() && !text.IsNull() {
		return text.AsString()
	}
	return ""
}

// Source says where the value of an argument, or of all nested blocks of a type, comes from.
type Source struct {
	Written bool  // whether the configuration or the objects of the state have the value
	Names   Names // of the variables that it may come from
}

// Encode returns what is kept of the configuration of a provider instance. provider names it, for the
// names of variables. sources has the arguments and types of blocks by name; those that are missing come
// from outside. Encode returns nil if the configuration is not wholly known.
func Encode(
	provider string, schema *configschema.Block, config cty.Value, sources map[string]Source,
) (*states.ProviderConfig, error) {
	bare, _ := config.UnmarkDeep()
	if !bare.IsWhollyKnown() {
		return nil, nil
	}
	e := encoder{provider: provider, sources: sources, secrets: map[string]string{}}
	tree, err := e.tree(schema.MarkSensitive(config, marks.Sensitive), "", "", false)
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration of a provider: %w", err)
	}
	root, _ := tree.(map[string]any) // a null configuration is empty
	if root == nil {
		root = map[string]any{}
	}
	maps.DeleteFunc(root, func(name string, v any) bool {
		blocks, isList := v.([]any)
		return schema.BlockTypes[name] != nil && isList && len(blocks) == 0
	})
	text, err := json.Marshal(root)
	return &states.ProviderConfig{Values: text, Secrets: e.secrets}, err
}

// Empty reports whether a configuration has no arguments.
func Empty(c *states.ProviderConfig) bool { return string(c.Values) == "{}" && len(c.Secrets) == 0 }

type encoder struct {
	provider string
	sources  map[string]Source
	source   Source // of the argument or block at hand
	secrets  map[string]string
}

// tree returns a value as it is encoded in JSON, without what is not kept. name is the name of the
// attribute or key, and at its JSON pointer.
func (e *encoder) tree(v cty.Value, name, at string, secret bool) (any, error) {
	secret = secret || marks.Has(v, marks.Sensitive) || marks.Has(v, marks.Ephemeral)
	v, _ = v.Unmark()
	switch ty := v.Type(); {
	case v.IsNull():
		return nil, nil
	case ty.IsObjectType() || ty.IsMapType():
		out := map[string]any{}
		for it := v.ElementIterator(); it.Next(); {
			key, elem := it.Element()
			key, _ = key.Unmark()
			if at == "" {
				e.source = e.sources[key.AsString()]
			}
			sub, err := e.tree(elem, key.AsString(), at+"/"+escape.Replace(key.AsString()), secret)
			if err != nil {
				return nil, err
			}
			if sub != nil {
				out[key.AsString()] = sub
			}
		}
		return out, nil
	case v.CanIterateElements():
		out := []any{}
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			sub, err := e.tree(elem, name, at+"/"+strconv.Itoa(len(out)), secret)
			if err != nil {
				return nil, err
			}
			out = append(out, sub)
		}
		return out, nil
	case secret || ty == cty.String && v.AsString() != "" && (!e.source.Written || looksSecret(name, v.AsString())):
		e.secrets[at] = e.variable(v, at)
		return nil, nil
	}
	text, err := states.Marshal(v, v.Type())
	return json.RawMessage(text), err
}

// escape and unescape convert between keys and their form in a JSON pointer.
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// variable returns the name of the variable that has a value that is not kept.
func (e *encoder) variable(v cty.Value, at string) string {
	if name, ok := e.source.Names[textOf(v)]; ok && v.Type() == cty.String {
		return name
	}
	return strings.Trim(notInName.ReplaceAllString(strings.ToLower(e.provider+at), "_"), "_")
}

var (
	notInName = regexp.MustCompile(`[^a-z0-9]+`)
	// secretName matches names of arguments whose values are usually secret, although few schemas of
	// providers say so; publicName matches those that only say where the secret is.
	secretName = regexp.MustCompile(`(?i)pass(word|wd|phrase)|secret|token|credential|(private|api|access|auth|client|account|shared|master|encryption)_?key|connection_string|^pat$`)
	publicName = regexp.MustCompile(`(?i)_?(files?|paths?|ur[il]|endpoint|name|id|ttl|command|type|duration|expiration)$`)
	// secretValue matches private keys, and URLs with a password.
	secretValue = regexp.MustCompile(`PRIVATE KEY-----|://[^/?#@\s]*:[^/?#@\s]+@`)
)

func looksSecret(name, value string) bool {
	return secretName.MatchString(name) && !publicName.MatchString(name) || secretValue.MatchString(value)
}

// Credential reports whether the argument at a JSON pointer is secret by its schema or its name.
// Providers usually find such arguments elsewhere, too.
func Credential(schema *configschema.Block, at string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	top := schema.Attributes[name]
	return top != nil && top.Sensitive || looksSecret(at[strings.LastIndexByte(at, '/')+1:], "")
}

// Decode returns the configuration that was kept. The function secret returns the value with the given
// JSON pointer that was not kept, or nil to leave it out. Arguments that the schema no longer has are left
// out too.
func Decode(
	c *states.ProviderConfig, schema *configschema.Block, secret func(at, variable string) (*string, error),
) (cty.Value, error) {
	var tree any
	if err := json.Unmarshal(c.Values, &tree); err != nil {
		return cty.NilVal, err
	}
	for _, at := range slices.Sorted(maps.Keys(c.Secrets)) {
		value, err := secret(at, c.Secrets[at])
		if err != nil {
			return cty.NilVal, err
		}
		if value == nil {
			continue
		}
		if tree, err = insert(tree, strings.Split(at, "/")[1:], *value); err != nil {
			return cty.NilVal, fmt.Errorf("the kept configuration has no place for %s: %w", at, err)
		}
	}
	root, ok := tree.(map[string]any)
	if !ok {
		return cty.NilVal, fmt.Errorf("the kept configuration is not an object")
	}
	maps.DeleteFunc(root, func(name string, _ any) bool {
		return schema.Attributes[name] == nil && schema.BlockTypes[name] == nil
	})
	text, err := json.Marshal(root)
	if err != nil {
		return cty.NilVal, err
	}
	ty, err := ctyjson.ImpliedType(text)
	if err != nil {
		return cty.NilVal, err
	}
	v, err := ctyjson.Unmarshal(text, ty)
	if err != nil {
		return cty.NilVal, err
	}
	return schema.CoerceValue(v)
}

// insert returns a JSON tree with a value at a path.
func insert(tree any, path []string, value string) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	key := unescape.Replace(path[0])
	var err error
	switch in := tree.(type) {
	case map[string]any:
		in[key], err = insert(in[key], path[1:], value)
		return in, err
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(in) {
			return nil, fmt.Errorf("no element %s", key)
		}
		in[i], err = insert(in[i], path[1:], value)
		return in, err
	}
	return nil, fmt.Errorf("%q is not in an object or list", key)
}
