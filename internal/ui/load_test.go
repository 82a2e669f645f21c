package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// The tests read plans from documents in the format of WritePlan. So a single document can be
// both the input of a test and the expected output.

type planDoc struct {
	Changes   []changeDoc          `json:"resource_changes"`
	Drift     []changeDoc          `json:"resource_drift"`
	Outputs   map[string]changeDoc `json:"output_changes"`
	Relevant  []relevantDoc        `json:"relevant_attributes"`
	Timestamp string               `json:"timestamp"`
	Errored   bool                 `json:"errored"`
	Mode      string               `json:"mode"` // planning mode; only in tests
	Hide      []string             `json:"hide"` // value of PlanTextView.Hide; only in tests
	Targets   []string             `json:"targets"`
}

type relevantDoc struct {
	Resource  string `json:"resource"`
	Attribute []any  `json:"attribute"`
}

type changeDoc struct {
	Address  string     `json:"address"`
	Previous string     `json:"previous_address"`
	Provider string     `json:"provider_name"`
	Deposed  string     `json:"deposed"`
	Reason   string     `json:"action_reason"`
	Change   *changeDoc `json:"change"`
	// Instances repeats the change this many times. "%d" in its strings becomes the number of the
	// instance. Only in tests.
	Instances int `json:"instances"`

	Actions         []string `json:"actions"`
	Before          any      `json:"before"`
	After           any      `json:"after"`
	AfterUnknown    any      `json:"after_unknown"`
	BeforeSensitive any      `json:"before_sensitive"`
	AfterSensitive  any      `json:"after_sensitive"`
	ReplacePaths    [][]any  `json:"replace_paths"`
	Importing       *struct {
		ID       string `json:"id"`
		Identity any    `json:"identity"`
	} `json:"importing"`
	GeneratedConfig string `json:"generated_config"`
	BeforeIdentity  any    `json:"before_identity"`
	AfterIdentity   any    `json:"after_identity"`
}

func loadPlan(t testing.TB, text []byte, schemas Schemas) *PlanView {
	t.Helper()
	var doc planDoc
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	plan := &plans.Plan{Changes: &plans.Changes{}, Errored: doc.Errored, Prior: states.New(), PrevRun: states.New()}
	plan.Mode = map[string]plans.Mode{"": plans.Normal, "destroy": plans.Destroy,
		"refresh-only": plans.RefreshOnly}[doc.Mode]
	plan.Timestamp, _ = time.Parse(time.RFC3339, doc.Timestamp)
	for _, c := range repeated(t, text, doc.Changes) {
		plan.Changes.Instances = append(plan.Changes.Instances, c.instance(t, schemas))
	}
	for _, c := range doc.Drift {
		plan.Drift = append(plan.Drift, c.instance(t, schemas))
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Outputs)) {
		plan.Changes.Outputs = append(plan.Changes.Outputs, doc.Outputs[name].output(name))
	}
	parse := func(text string) addrs.Target {
		target, err := addrs.ParseTargetText(text)
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
	for _, text := range doc.Targets {
		plan.Targets = append(plan.Targets, parse(text))
	}
	for _, r := range doc.Relevant {
		plan.RelevantAttributes = append(plan.RelevantAttributes,
			plans.RelevantAttribute{Resource: parse(r.Resource), Attr: pathOf(r.Attribute)})
	}
	plan.Read = plan.RelevantAttributes
	return &PlanView{Plan: plan, Config: &configs.Config{Module: &configs.Module{}}, Schemas: schemas}
}

// repeated returns the changes after repeating those with instances.
func repeated(t testing.TB, text []byte, list []changeDoc) []changeDoc {
	t.Helper()
	var raw struct {
		Changes []json.RawMessage `json:"resource_changes"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	var out []changeDoc
	for i, c := range list {
		for n := range max(c.Instances, 1) {
			if c.Instances > 0 {
				var one changeDoc
				if err := json.Unmarshal(bytes.ReplaceAll(raw.Changes[i], []byte("%d"), []byte(strconv.Itoa(n))), &one); err != nil {
					t.Fatal(err)
				}
				one.Instances = c.Instances
				c = one
			}
			out = append(out, c)
		}
	}
	return out
}

func (c changeDoc) instance(t testing.TB, schemas Schemas) *plans.InstanceChange {
	t.Helper()
	out := &plans.InstanceChange{Deposed: addrs.DeposedKey(c.Deposed), Reason: plans.Reason(c.Reason),
		Action: actionNamed(c.Change.Actions)}
	var err error
	out.Addr, err = addrs.ParseInstanceText(c.Address)
	if err != nil {
		t.Fatalf("bad address %s", c.Address)
	}
	if c.Previous != "" {
		from, _ := addrs.ParseInstanceText(c.Previous)
		out.MovedFrom = &from
	}
	out.Provider.Config.Provider, _ = addrs.ParseProvider(c.Provider)
	sch := schemas.Resource(out.Provider.Config.Provider, out.Addr.Resource)
	if sch == nil {
		t.Fatalf("no schema for %s of %s", c.Address, c.Provider)
	}
	ty := sch.Block.ImpliedType()
	d := c.Change
	out.Before = decodeDoc(ty, d.Before, nil, d.BeforeSensitive)
	out.After = decodeDoc(ty, d.After, d.AfterUnknown, d.AfterSensitive)
	if sch.Identity != nil {
		out.BeforeIdentity, out.AfterIdentity = cty.NilVal, cty.NilVal
		if d.BeforeIdentity != nil {
			out.BeforeIdentity = decodeDoc(sch.Identity.ImpliedType(), d.BeforeIdentity, nil, nil)
		}
		if d.AfterIdentity != nil {
			out.AfterIdentity = decodeDoc(sch.Identity.ImpliedType(), d.AfterIdentity, nil, nil)
		}
	}
	for _, p := range d.ReplacePaths {
		out.RequiredReplace = append(out.RequiredReplace, pathOf(p))
	}
	if d.Importing != nil {
		out.Importing = &plans.Importing{ID: d.Importing.ID}
		if d.Importing.Identity != nil {
			out.Importing.Identity = decodeDoc(sch.Identity.ImpliedType(), d.Importing.Identity, nil, nil)
		}
	}
	out.GeneratedConfig = d.GeneratedConfig
	return out
}

func (c changeDoc) output(name string) *plans.OutputChange {
	return &plans.OutputChange{
		Name: name, Action: actionNamed(c.Actions), Sensitive: c.AfterSensitive == true,
		Before: decodeDoc(cty.DynamicPseudoType, c.Before, nil, nil),
		After:  decodeDoc(cty.DynamicPseudoType, c.After, c.AfterUnknown, nil),
	}
}

func actionNamed(names []string) plans.Action {
	for a := plans.NoOp; a.Valid(); a++ {
		if slices.Equal(a.Names(), names) {
			return a
		}
	}
	panic(fmt.Sprintf("no action %v", names))
}

func pathOf(steps []any) cty.Path {
	var path cty.Path
	for i, s := range steps {
		switch s := s.(type) {
		case float64:
			path = path.IndexInt(int(s))
		case string:
			if i == 0 {
				path = path.GetAttr(s)
			} else {
				path = path.Index(cty.StringVal(s))
			}
		}
	}
	return path
}

// decodeDoc returns the value of the given type that the three JSON forms describe.
func decodeDoc(ty cty.Type, v, unknown, sensitive any) cty.Value {
	out := decodeBare(ty, v, unknown, sensitive)
	if sensitive == true {
		out = out.Mark(marks.Sensitive)
	}
	return out
}

func decodeBare(ty cty.Type, v, unknown, sensitive any) cty.Value {
	switch {
	case unknown == true && ty == cty.DynamicPseudoType: // only the sensitive form reveals the type
		switch sensitive.(type) {
		case map[string]any:
			return cty.UnknownVal(cty.EmptyObject)
		case []any:
			return cty.UnknownVal(cty.EmptyTuple)
		}
		return cty.DynamicVal
	case unknown == true:
		return cty.UnknownVal(ty)
	case ty == cty.DynamicPseudoType:
		return decodeDynamic(v, unknown, sensitive)
	case v == nil:
		return cty.NullVal(ty)
	case ty == cty.String:
		return cty.StringVal(v.(string))
	case ty == cty.Number:
		return cty.NumberFloatVal(v.(float64))
	case ty == cty.Bool:
		return cty.BoolVal(v.(bool))
	case ty.IsObjectType():
		attrs := make(map[string]cty.Value)
		for name, aty := range ty.AttributeTypes() {
			attrs[name] = decodeDoc(aty, field(v, name), field(unknown, name), field(sensitive, name))
		}
		return cty.ObjectVal(attrs)
	case ty.IsMapType():
		elems := make(map[string]cty.Value)
		for name := range namesIn(v, unknown) {
			elems[name] = decodeDoc(ty.ElementType(), field(v, name), field(unknown, name), field(sensitive, name))
		}
		if len(elems) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(elems)
	}
	var elems []cty.Value
	for i, e := range v.([]any) {
		elems = append(elems, decodeDoc(ty.ElementType(), e, at(unknown, i), at(sensitive, i)))
	}
	switch {
	case ty.IsListType() && len(elems) == 0:
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsListType():
		return cty.ListVal(elems)
	case len(elems) == 0:
		return cty.SetValEmpty(ty.ElementType())
	}
	return cty.SetVal(elems)
}

func decodeDynamic(v, unknown, sensitive any) cty.Value {
	switch v := v.(type) {
	case string:
		return cty.StringVal(v)
	case float64:
		return cty.NumberFloatVal(v)
	case bool:
		return cty.BoolVal(v)
	case []any:
		var elems []cty.Value
		for i, e := range v {
			elems = append(elems, decodeDoc(cty.DynamicPseudoType, e, at(unknown, i), at(sensitive, i)))
		}
		return cty.TupleVal(elems)
	case map[string]any:
		attrs := make(map[string]cty.Value)
		for name := range namesIn(v, unknown) {
			attrs[name] = decodeDoc(cty.DynamicPseudoType, field(v, name), field(unknown, name), field(sensitive, name))
		}
		return cty.ObjectVal(attrs)
	}
	if u, ok := unknown.(map[string]any); ok && len(u) > 0 {
		return decodeDynamic(map[string]any{}, unknown, sensitive)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

func namesIn(docs ...any) map[string]bool {
	names := make(map[string]bool)
	for _, doc := range docs {
		if m, ok := doc.(map[string]any); ok {
			for name := range m {
				names[name] = true
			}
		}
	}
	return names
}

func field(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

func at(v any, i int) any {
	if list, ok := v.([]any); ok && i < len(list) {
		return list[i]
	}
	return nil
}

// loadSchemas reads the document of `providers schema -json`.
func loadSchemas(t testing.TB, text []byte) map[addrs.Provider]*providers.Schema {
	t.Helper()
	var doc struct {
		Providers map[string]*providerSchema `json:"provider_schemas"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	out := make(map[addrs.Provider]*providers.Schema)
	for name, p := range doc.Providers {
		addr, err := addrs.ParseProvider(name)
		if err != nil {
			t.Fatal(err)
		}
		sch := &providers.Schema{
			Resources: loadTypes(p.Resources, p.Identities), DataSources: loadTypes(p.DataSources, nil),
			Ephemerals: loadTypes(p.Ephemerals, nil),
			Functions:  loadFunctions(p.Functions),
		}
		if p.Provider != nil {
			sch.Provider = loadBlock(p.Provider.Block)
		}
		out[addr] = sch
	}
	return out
}

func loadTypes(docs map[string]*schemaJSON, identities map[string]*identitySchema) providers.TypeTable {
	out := make(providers.Types)
	for name, doc := range docs {
		sch := &providers.ResourceSchema{Version: doc.Version, Block: loadBlock(doc.Block)}
		if id := identities[name]; id != nil {
			sch.IdentityVersion = id.Version
			sch.Identity = &configschema.Object{Nesting: configschema.NestingSingle,
				Attributes: map[string]*configschema.Attribute{}}
			for attr, a := range id.Attributes {
				sch.Identity.Attributes[attr] = &configschema.Attribute{
					Type: loadType(a.Type), Description: a.Description, Required: a.RequiredForImport,
					Optional: a.OptionalForImport,
				}
			}
		}
		out[name] = sch
	}
	return out
}

func loadFunctions(docs map[string]*functionJSON) map[string]*providers.Function {
	out := make(map[string]*providers.Function)
	param := func(p paramJSON) providers.FunctionParam {
		return providers.FunctionParam{Name: p.Name, Description: p.Description, AllowNull: p.IsNullable,
			Type: loadType(p.Type)}
	}
	for name, doc := range docs {
		f := &providers.Function{Description: doc.Description, Summary: doc.Summary,
			Return: loadType(doc.ReturnType), DeprecationMessage: doc.DeprecationMessage}
		for _, p := range doc.Parameters {
			f.Params = append(f.Params, param(p))
		}
		if doc.Variadic != nil {
			v := param(*doc.Variadic)
			f.Variadic = &v
		}
		out[name] = f
	}
	return out
}

var nestingModes = map[string]configschema.NestingMode{
	"single": configschema.NestingSingle, "group": configschema.NestingGroup, "list": configschema.NestingList,
	"set": configschema.NestingSet, "map": configschema.NestingMap,
}

func loadBlock(doc *blockJSON) *configschema.Block {
	if doc == nil {
		return configschema.Empty()
	}
	out := &configschema.Block{
		Attributes: loadAttributes(doc.Attributes), BlockTypes: map[string]*configschema.NestedBlock{},
		Description: doc.Description, Deprecated: doc.Deprecated, DeprecationMessage: doc.DeprecationMessage,
		DescriptionKind: loadKind(doc.DescriptionKind),
	}
	for name, b := range doc.BlockTypes {
		nested := &configschema.NestedBlock{Nesting: nestingModes[b.NestingMode], MinItems: b.MinItems,
			MaxItems: b.MaxItems}
		inner := loadBlock(b.Block)
		nested.Attributes, nested.BlockTypes = inner.Attributes, inner.BlockTypes
		nested.Description, nested.Deprecated, nested.DescriptionKind = inner.Description, inner.Deprecated,
			inner.DescriptionKind
		out.BlockTypes[name] = nested
	}
	return out
}

func loadKind(text string) configschema.StringKind {
	if text == "markdown" {
		return configschema.StringMarkdown
	}
	return configschema.StringPlain
}

func loadAttributes(docs map[string]*attributeJSON) map[string]*configschema.Attribute {
	out := make(map[string]*configschema.Attribute)
	for name, a := range docs {
		attr := &configschema.Attribute{
			Description: a.Description, Deprecated: a.Deprecated, DeprecationMessage: a.DeprecationMessage,
			Required: a.Required,
			Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly,
			DescriptionKind: loadKind(a.DescriptionKind),
		}
		if a.NestedType != nil {
			attr.NestedType = &configschema.Object{Attributes: loadAttributes(a.NestedType.Attributes),
				Nesting: nestingModes[a.NestedType.NestingMode]}
		} else {
			attr.Type = loadType(a.Type)
		}
		out[name] = attr
	}
	return out
}

func loadType(text json.RawMessage) cty.Type {
	var ty cty.Type
	if err := json.Unmarshal(text, &ty); err != nil {
		panic(err)
	}
	return ty
}

// lookup returns a function that looks up schemas, as views require.
func lookup(all map[addrs.Provider]*providers.Schema) Schemas {
	return func(p addrs.Provider) *providers.Schema { return all[p] }
}

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
