package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"tofu/internal/encryption"
	"tofu/internal/lang/marks"
	"tofu/internal/plans/objchange"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// inputs holds the planned outputs of other root modules that a plan was made from, by root module
// name. It has only the outputs that the configuration uses.
type inputs struct {
	mu    sync.Mutex
	roots map[string]map[string]cty.Value
	waits map[string]bool // root modules; true if a used output does not have its final value yet
}

// add adds the used outputs of a root module.
func (in *inputs) add(root string, used roots.Outputs, outputs *outputs) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.roots == nil {
		in.roots, in.waits = make(map[string]map[string]cty.Value), make(map[string]bool)
	}
	if in.roots[root] == nil {
		in.roots[root] = make(map[string]cty.Value)
	}
	for _, name := range used.Names {
		in.roots[root][name] = cty.NullVal(cty.DynamicPseudoType) // null if absent: states have no null outputs
	}
	maps.Copy(in.roots[root], used.Select(outputs.values))
	in.waits[root] = in.waits[root] || slices.ContainsFunc(outputs.undecided, used.Has)
}

// waitsFor returns the names of the root modules whose deferred changes affect the inputs.
func (in *inputs) waitsFor() []string {
	var out []string
	for _, root := range slices.Sorted(maps.Keys(in.waits)) {
		if in.waits[root] {
			out = append(out, root)
		}
	}
	return out
}

// storedInputs is the file format of the inputs that come from one root module.
type storedInputs struct {
	Values    []byte   `json:"values"` // an object as MessagePack, which can represent unknown values
	Sensitive []string `json:"sensitive,omitempty"`
}

// encode returns the content of the inputs file, or nil if there are no inputs. It is encrypted
// like the root module's plan.
func (in *inputs) encode(s *session.Session) ([]byte, error) {
	if len(in.roots) == 0 {
		return nil, nil
	}
	stored := make(map[string]storedInputs, len(in.roots))
	for root, outputs := range in.roots {
		var to storedInputs
		plain := make(map[string]cty.Value, len(outputs))
		for name, v := range outputs {
			if marks.Contains(v, marks.Sensitive) {
				to.Sensitive = append(to.Sensitive, name)
			}
			plain[name], _ = v.UnmarkDeep()
		}
		slices.Sort(to.Sensitive)
		var err error
		if to.Values, err = msgpack.Marshal(cty.ObjectVal(plain), cty.DynamicPseudoType); err != nil {
			return nil, fmt.Errorf("encoding the planned outputs of %s: %w", root, err)
		}
		stored[root] = to
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	if target := planTarget(s); target != nil {
		return target.Encrypt(text)
	}
	return text, nil
}

// planTarget returns the encryption of a root module's plans, or nil if they are not encrypted.
func planTarget(s *session.Session) *encryption.Target {
	if s.Encrypted == nil {
		return nil
	}
	return s.Encrypted.Plan()
}

// inputs reads the planned outputs that a plan was made from.
func (s *Saved) inputs(ctx context.Context, at *session.Session, p *Planned) (map[string]map[string]cty.Value, error) {
	if p.Inputs == "" {
		return nil, nil
	}
	text, err := s.read(p.Inputs)
	if err == nil {
		text, err = session.DecryptFile(ctx, planTarget(at), text)
	}
	var stored map[string]storedInputs
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	out := make(map[string]map[string]cty.Value, len(stored))
	for root, of := range stored {
		v, valueErr := msgpack.Unmarshal(of.Values, cty.DynamicPseudoType)
		if valueErr != nil {
			err = valueErr
			continue
		}
		out[root] = v.AsValueMap()
		for _, name := range of.Sensitive {
			out[root][name] = out[root][name].Mark(marks.Sensitive)
		}
	}
	if err != nil {
		return nil, tfdiags.Errorf("Failed to load the plan file",
			"The inputs of the plan of %s in %s can't be read: %s.", p.Name, s.path, err)
	}
	return out, nil
}

// Unknown describes what was unknown when a root module was planned: outputs of other root modules,
// and variables. at is the root module's session.
func (s *Saved) Unknown(ctx context.Context, at *session.Session, p *Planned) ([]string, error) {
	from, err := s.inputs(ctx, at, p)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, root := range slices.Sorted(maps.Keys(from)) {
		for _, name := range slices.Sorted(maps.Keys(from[root])) {
			if v, _ := from[root][name].UnmarkDeep(); !v.IsWhollyKnown() {
				out = append(out, fmt.Sprintf("output.%s of %s", name, root))
			}
		}
	}
	for _, name := range p.Unknown {
		out = append(out, "var."+name)
	}
	return out, nil
}

// contradictions returns an error if the actual outputs of a root module differ from its planned
// ones. Known values must be equal. Values for unknown ones must agree with what was known about
// them.
func contradictions(root string, planned, actual map[string]cty.Value) error {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		v, has := actual[name]
		if !has {
			v = cty.NullVal(planned[name].Type())
		}
		for _, err := range objchange.Contradictions(planned[name], v, valueText) {
			lines = append(lines, fmt.Sprintf("output %q of %s: %s", name, root, tfdiags.FormatError(err)))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return tfdiags.Errorf("The plan contradicts what was applied before",
		"The outputs differ from those that the plan was made with:\n  - %s\nNothing was changed here. Make a new plan.",
		strings.Join(lines, "\n  - "))
}

// valueText returns a value as text for an error message. For an unknown value, the text says what
// is known about it.
func valueText(v cty.Value) string {
	switch {
	case v.IsKnown() && v.IsNull():
		return "null"
	case v.IsKnown():
		return ui.FormatValue(v)
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	known := v.Range()
	if known.DefinitelyNotNull() {
		add("not null")
	}
	switch ty := known.TypeConstraint(); {
	case ty == cty.String && known.StringPrefix() != "":
		add("begins with %q", known.StringPrefix())
	case ty == cty.Number:
		least, _ := known.NumberLowerBound()
		most, _ := known.NumberUpperBound()
		if least.IsKnown() && !least.RawEquals(cty.NegativeInfinity) {
			add("at least %s", ui.FormatValue(least))
		}
		if most.IsKnown() && !most.RawEquals(cty.PositiveInfinity) {
			add("at most %s", ui.FormatValue(most))
		}
	case ty.IsCollectionType():
		if n := known.LengthLowerBound(); n > 0 {
			add("at least %s", ui.Count(n, "element"))
		}
		if n := known.LengthUpperBound(); n < math.MaxInt {
			add("at most %s", ui.Count(n, "element"))
		}
	}
	if len(parts) == 0 {
		return "any value"
	}
	return strings.Join(parts, ", ")
}
