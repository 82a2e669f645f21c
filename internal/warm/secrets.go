package warm

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// Secrets are texts that must not be in an answer. Answers hide sensitive values by themselves; this is
// the second wall, for text that is made elsewhere, such as the errors of providers.
type Secrets struct{ texts map[string]bool }

// minSecret is the length of the shortest text that is hidden. Shorter ones are parts of many words.
const minSecret = 6

// secretName matches the names of environment variables whose values are secret. All values of root
// variables in the environment are.
var secretName = regexp.MustCompile(`(?i)^TF_VAR_|^TF_TOKEN_|TOKEN|SECRET|PASSW|KEY|CREDENTIAL|AUTH|PRIVATE|SESSION|DSN|CONN`)

// Secrets returns those of the environment.
func (c *Core) Secrets() *Secrets { return newSecrets(c.process.Environ) }

func newSecrets(environ []string) *Secrets {
	s := &Secrets{texts: map[string]bool{}}
	for _, line := range environ {
		if name, value, _ := strings.Cut(line, "="); secretName.MatchString(name) {
			s.add(value)
		}
	}
	return s
}

// add adds a text and, if it has several lines, each of them.
func (s *Secrets) add(text string) {
	for _, line := range append(strings.Split(text, "\n"), text) {
		if line = strings.TrimSpace(line); len(line) >= minSecret {
			s.texts[lower(line)] = true
		}
	}
}

// lower changes only ASCII letters, so that the length of a text stays.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// value adds the sensitive and the ephemeral parts of a value; all says that the whole value is secret.
func (s *Secrets) value(v cty.Value, all bool) {
	if v == cty.NilVal {
		return
	}
	all = all || marks.Has(v, marks.Sensitive) || marks.Has(v, marks.Ephemeral)
	v, _ = v.Unmark()
	switch ty := v.Type(); {
	case !v.IsKnown() || v.IsNull():
	case ty == cty.String:
		if all {
			s.add(v.AsString())
		}
	case ty == cty.Number:
		if all {
			s.add(v.AsBigFloat().Text('f', -1))
		}
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			key, element := it.Element()
			s.value(key, all && ty.IsMapType())
			s.value(element, all)
		}
	}
}

// AddLoaded adds the secrets of the configuration of a root module and of its variables.
func (s *Secrets) AddLoaded(ctx context.Context, m *Module) {
	loaded, err := m.Load(ctx)
	if err != nil || loaded.Config == nil {
		return
	}
	for m := range loaded.Config.AllModules() {
		s.configuration(m, loaded.Schemas)
	}
	s.variables(loaded.Variables, loaded.Config.Module)
}

// AddPlan adds the secrets of a plan, its configuration and its state.
func (s *Secrets) AddPlan(view *ui.PlanView) {
	s.variables(view.Plan.Variables, view.Config.Module)
	for _, list := range view.Plan.Changes.Instances {
		schema := view.Schemas.Resource(list.Provider.Config.Provider, list.Addr.Resource)
		for _, v := range []cty.Value{list.Before, list.After} {
			s.value(planview.MarkShown(v, schema, list.Provider.Config.Provider, list.Addr.Resource), false)
		}
	}
	for _, o := range view.Plan.Changes.Outputs {
		s.value(o.Before, o.Sensitive)
		s.value(o.After, o.Sensitive)
	}
	s.AddState(view.Plan.Prior, view.Schemas)
	for m := range view.Config.AllModules() {
		s.configuration(m, view.Schemas)
	}
}

// variables adds the secret values of root variables.
func (s *Secrets) variables(values map[string]cty.Value, m *configs.Module) {
	for name, v := range values {
		declared := m.Variables[name]
		s.value(v, declared == nil || declared.Sensitive.Value || declared.Ephemeral.Value)
	}
}

// configuration adds what a module has as literals: in arguments that are sensitive, and as defaults of sensitive
// variables.
func (s *Secrets) configuration(m *configs.Config, schemas ui.Schemas) {
	if m.Module == nil {
		return
	}
	for _, v := range m.Module.Variables {
		if v.Sensitive.Value || v.Ephemeral.Value {
			s.value(v.Default.Value, true)
		}
	}
	for _, p := range m.Module.Providers {
		if schemas == nil {
			continue
		}
		if schema := schemas(p.Provider); schema != nil && schema.Provider != nil {
			s.body(p.Config, schema.Provider, true)
		}
	}
	for addr, r := range m.Module.Resources {
		if schema := schemas.Resource(r.ProviderAddr, addr); schema != nil {
			s.body(r.Config, schema.Block, false)
		}
	}
}

// body adds literals in sensitive and write-only arguments, with names also in those whose names sound secret.
func (s *Secrets) body(body hcl.Body, schema *configschema.Block, names bool) {
	content, _, _ := body.PartialContent(schema.OptionalFields())
	for name, attr := range content.Attributes {
		a := schema.Attributes[name]
		if a == nil || !a.Sensitive && !a.WriteOnly && !(names && secretName.MatchString(name)) {
			continue
		}
		if v, diags := attr.Expr.Value(nil); !diags.HasErrors() {
			s.value(v, true)
		}
	}
	for _, inner := range content.Blocks {
		if of := schema.BlockTypes[inner.Type]; of != nil {
			s.body(inner.Body, &of.Block, names)
		}
	}
}

// AddState adds the secrets of a state.
func (s *Secrets) AddState(st *states.State, schemas ui.Schemas) {
	if st == nil {
		return
	}
	for _, o := range st.Outputs() {
		s.value(o.Value, o.Sensitive)
	}
	for r := range st.Resources() {
		for _, inst := range r.Instances {
			for object := range inst.Objects() {
				by, schema := r.Provider.Provider, schemas.Resource(r.Provider.Provider, r.Addr.Resource)
				if v, ok := DecodeObject(object, schema, by, r.Addr.Resource); ok {
					s.value(v, false)
				}
			}
		}
	}
}

// DecodeObject returns a stored object with its sensitive parts marked, or false if its schema is not known.
func DecodeObject(o *states.Object, schema *providers.ResourceSchema, p addrs.Provider, r addrs.Resource) (cty.Value, bool) {
	if schema == nil || schema.Version != o.SchemaVersion {
		return cty.NilVal, false
	}
	v, err := o.Decode(schema.Block.ImpliedType())
	if err != nil {
		return cty.NilVal, false
	}
	var marked []cty.PathValueMarks
	for _, path := range o.SensitivePaths {
		marked = append(marked, cty.PathValueMarks{Path: path, Marks: cty.NewValueMarks(marks.Sensitive)})
	}
	return planview.MarkShown(v.MarkWithPaths(marked), schema, p, r), true
}

// hidden replaces a secret. It is too short to have one itself.
const hidden = "***"

// Hider returns a function that returns a text without the secrets.
func (s *Secrets) Hider() func(text string) string {
	longest := slices.SortedFunc(maps.Keys(s.texts), func(a, b string) int { return len(b) - len(a) })
	return func(text string) string {
		for _, secret := range longest {
			folded := lower(text)
			if !strings.Contains(folded, secret) {
				continue
			}
			var b strings.Builder
			for {
				i := strings.Index(folded, secret)
				if i < 0 {
					break
				}
				b.WriteString(text[:i] + hidden)
				text, folded = text[i+len(secret):], folded[i+len(secret):]
			}
			text = b.String() + text
		}
		return text
	}
}

// Clean returns a JSON document without the secrets and without control characters in its strings.
func (s *Secrets) Clean(document []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(walk(tree, s.Hider()))
	return bytes.TrimSpace(out.Bytes()), err
}

func walk(node any, hide func(string) string) any {
	switch n := node.(type) {
	case string:
		return hide(termtext.Printable(n))
	case []any:
		for i := range n {
			n[i] = walk(n[i], hide)
		}
	case map[string]any:
		out := make(map[string]any, len(n))
		for key, v := range n {
			out[hide(termtext.Printable(key))] = walk(v, hide)
		}
		return out
	}
	return node
}
