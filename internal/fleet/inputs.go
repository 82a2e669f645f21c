package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"tofu/internal/addrs"
	"tofu/internal/backend/all"
	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
	"tofu/internal/lang/marks"
	"tofu/internal/plans/objchange"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// inputs holds outputs of other root modules, by root module name. The plan of a root module is
// created from them. Only outputs that the configuration uses are included.
type inputs struct {
	mu    sync.Mutex
	roots map[string]map[string]cty.Value
	waits map[string]bool // by root module: whether a used output does not have its final value yet
	// read holds the state from which the outputs of root modules that are not in the run were read,
	// by root module name.
	read map[string]*session.RemoteState
	// guarded holds the names of sensitive outputs of root modules that enforce encryption, by root
	// module name.
	guarded map[string][]string
	moved   string // see session.SavedPlan.Moved
}

// guard records the sensitive ones of the used outputs if the root module enforces encryption. They may
// not be stored in clear text, even if the root module that uses them has no encryption.
func (in *inputs) guard(root string, used roots.Outputs, outputs *outputs) {
	if !outputs.enforced {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for name, v := range used.Select(outputs.values) {
		if bare, _ := v.Unmark(); marks.Contains(v, marks.Sensitive) && bare.IsKnown() {
			if in.guarded == nil {
				in.guarded = make(map[string][]string)
			}
			if !slices.Contains(in.guarded[root], name) {
				in.guarded[root] = append(in.guarded[root], name)
			}
		}
	}
}

// inClearText returns the error for guarded outputs that would be stored in clear text with the plan of
// a root module.
func (in *inputs) inClearText(reader string) error {
	var list []string
	for _, root := range slices.Sorted(maps.Keys(in.guarded)) {
		for _, name := range slices.Sorted(slices.Values(in.guarded[root])) {
			list = append(list, fmt.Sprintf("output.%s of %s", name, root))
		}
	}
	return tfdiags.Errorf("Plan without encryption",
		"The saved plan of %s would have sensitive values in clear text, of root modules that enforce encryption: %s. Add "+
			"an encryption block for plans to %[1]s, or apply without a saved plan.", reader, strings.Join(list, ", "))
}

// add adds the used outputs of a root module.
func (in *inputs) add(root string, used roots.Outputs, outputs *outputs) {
	in.guard(root, used, outputs)
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.roots == nil {
		in.roots, in.waits = make(map[string]map[string]cty.Value), make(map[string]bool)
	}
	if in.roots[root] == nil {
		in.roots[root] = make(map[string]cty.Value)
	}
	for _, name := range used.Names {
		in.roots[root][name] = cty.NullVal(cty.DynamicPseudoType) // null if absent: states don't store nulls
	}
	maps.Copy(in.roots[root], used.Select(outputs.values))
	in.waits[root] = in.waits[root] || slices.ContainsFunc(outputs.undecided, used.Has)
}

// addRead adds outputs that a data source has read, because the root module is not in the run.
func (in *inputs) addRead(root string, used roots.Outputs, values map[string]cty.Value, by *session.RemoteState) {
	in.add(root, used, &outputs{values: values})
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.read == nil {
		in.read = make(map[string]*session.RemoteState)
	}
	in.read[root] = by
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

// inputsFile is the file format of the inputs.
type inputsFile struct {
	Roots map[string]storedInputs `json:"roots,omitempty"`
	Moved string                  `json:"moved,omitempty"`
}

// storedInputs is the file format of the inputs that come from one root module.
type storedInputs struct {
	Values    []byte   `json:"values"` // an object as MessagePack, which can represent unknown values
	Sensitive []string `json:"sensitive,omitempty"`
	// Read says how to read the outputs again, if a data source has read them from the state.
	Read *storedRead `json:"read,omitempty"`
}

// storedRead is the file format of a read by a data source.
type storedRead struct {
	Data      string          `json:"data"`
	Backend   string          `json:"backend"`
	Config    json.RawMessage `json:"config"`
	Workspace string          `json:"workspace"`
}

func storeRead(of *session.RemoteState) (*storedRead, error) {
	config, err := ctyjson.Marshal(of.Settings.Config, of.Settings.Config.Type())
	if err != nil {
		return nil, fmt.Errorf("encoding the backend settings of %s: %w", of.Data, err)
	}
	return &storedRead{Data: of.Data.String(), Backend: of.Settings.Driver.Name, Config: config,
		Workspace: of.Workspace}, nil
}

func (r *storedRead) state() (*session.RemoteState, error) {
	data, err := addrs.ParseInstanceText(r.Data)
	if err != nil {
		return nil, err
	}
	settings := &session.BackendSettings{}
	if settings.Driver, err = all.Driver(r.Backend); err != nil {
		return nil, err
	}
	record := &session.BackendRecord{Type: r.Backend, Config: r.Config}
	settings.Config, err = record.Value(blocks.Schema(settings.Driver.Config()))
	return &session.RemoteState{Data: data, Settings: settings, Workspace: r.Workspace}, err
}

// input holds the outputs of one root module that another root module's plan was created from.
type input struct {
	values map[string]cty.Value
	read   *session.RemoteState // how a data source has read the outputs; nil if no data source has read them
}

// withoutGuarded leaves out the guarded outputs.
func (in *inputs) withoutGuarded() {
	for root, names := range in.guarded {
		maps.DeleteFunc(in.roots[root], func(name string, _ cty.Value) bool { return slices.Contains(names, name) })
	}
}

// encode returns the content of the inputs file, or nil if there are no inputs. It is encrypted
// like the root module's plan.
func (in *inputs) encode(s *session.Session) ([]byte, error) {
	if len(in.roots) == 0 && in.moved == "" {
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
		if read := in.read[root]; read != nil {
			if to.Read, err = storeRead(read); err != nil {
				return nil, err
			}
		}
		stored[root] = to
	}
	text, err := json.Marshal(inputsFile{stored, in.moved})
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
	if s.Encryption.Evaluated == nil {
		return nil
	}
	return s.Encryption.Evaluated.Plan()
}

// inputs reads the planned outputs that a plan was created from, and the checksum of the state after moves. at is
// the root module's session, which has evaluated the encryption of plans.
func (s *Saved) inputs(ctx context.Context, at *session.Session, p *Planned) (map[string]*input, string, error) {
	if p.Inputs == "" {
		return nil, "", nil
	}
	text, err := s.read(p.Inputs)
	if err == nil {
		text, err = session.DecryptFile(ctx, planTarget(at), text)
	}
	var stored inputsFile
	var to any = &stored
	if s.Format == formatWithoutMoves {
		to = &stored.Roots
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err == nil && len(stored.Roots) == 0 && stored.Moved == "" {
		err = errors.New("the planned outputs that it uses are missing")
	}
	out := make(map[string]*input, len(stored.Roots))
	for root, of := range stored.Roots {
		one, inputErr := of.input()
		err = errors.Join(err, inputErr)
		out[root] = one
	}
	if err != nil {
		return nil, "", tfdiags.Errorf("Failed to load the plan file",
			"The outputs that the plan of %s in %s uses can't be read: %s.", p.Name, s.path, err)
	}
	return out, stored.Moved, nil
}

// CheckMoved returns an error unless the state of a root module after the moves that come before the plans is the one
// from which its plan was made. at is the root module's session, and vars are the variables on the command line.
func (s *Saved) CheckMoved(
	ctx context.Context, at *session.Session, root string, after *states.State, vars session.Variables,
) error {
	i := slices.IndexFunc(s.Roots, func(p *Planned) bool { return p.Name == root })
	if i < 0 {
		return nil
	}
	if _, err := at.FileEncryption(ctx, vars); err != nil {
		return err
	}
	_, want, err := s.inputs(ctx, at, s.Roots[i])
	if err != nil || want == "" {
		return err
	}
	sum, err := session.StateSum(after)
	if err == nil && sum != want {
		err = stale("Saved plan is stale", "The state of %s was changed after the plan was made, so objects don't move. Nothing "+
			"was changed. Make a new plan.", root)
	}
	return err
}

// input decodes the stored outputs.
func (s *storedInputs) input() (*input, error) {
	values, err := msgpack.Unmarshal(s.Values, cty.DynamicPseudoType)
	if err != nil {
		return nil, err
	}
	out := &input{values: values.AsValueMap()}
	for _, name := range s.Sensitive {
		out.values[name] = out.values[name].Mark(marks.Sensitive)
	}
	if s.Read != nil {
		out.read, err = s.Read.state()
	}
	return out, err
}

// Unknown describes what was unknown when a root module was planned: outputs of other root modules,
// and variables. at is the root module's session.
func (s *Saved) Unknown(ctx context.Context, at *session.Session, p *Planned) ([]string, error) {
	from, _, err := s.inputs(ctx, at, p)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, root := range slices.Sorted(maps.Keys(from)) {
		for _, name := range slices.Sorted(maps.Keys(from[root].values)) {
			if v, _ := from[root].values[name].UnmarkDeep(); !v.IsWhollyKnown() {
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
// ones. If a planned value was known, the actual value must be equal. If it was unknown, the actual
// value must agree with what was known about it.
func contradictions(root string, planned, actual map[string]cty.Value) error {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		v, has := actual[name]
		if !has {
			v = cty.NullVal(planned[name].Type())
		}
		if was, now, other := kinds(planned[name], v); other {
			lines = append(lines, fmt.Sprintf("output %q of %s: was %s, but now %s", name, root, was, now))
			continue
		}
		for _, err := range objchange.Contradictions(planned[name], v, valueText) {
			lines = append(lines, fmt.Sprintf("output %q of %s: %s", name, root, tfdiags.FormatError(err)))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return stale("The plan contradicts what was applied before",
		"The outputs differ from those that the plan was made with:\n  - %s\nNothing was changed here. Make a new plan.",
		strings.Join(lines, "\n  - "))
}

// kinds describes the types of two values for a message, and reports whether they are of different
// kinds, such as a list and a number. Null and unknown values are of any kind.
func kinds(planned, actual cty.Value) (was, now string, other bool) {
	if planned.IsNull() || actual.IsNull() || !planned.IsKnown() || !actual.IsKnown() {
		return "", "", false
	}
	was, now = planned.Type().FriendlyName(), actual.Type().FriendlyName()
	return "a value of the type " + was, "one of the type " + now, was != now
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
