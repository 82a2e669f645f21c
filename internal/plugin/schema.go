package plugin

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"tofu/internal/configschema"
	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// schemaTable decodes the schema of a type on first use. It implements providers.TypeTable.
type schemaTable struct {
	version int // protocol version
	raw     map[string][]byte
	// cached is the file that contains the schemas. raw then holds their positions in it. If cached
	// is nil, raw holds the schemas.
	cached     *io.SectionReader
	identities map[string][]byte

	mu      sync.Mutex
	decoded map[string]*providers.ResourceSchema
}

func newSchemaTable(version int, raw, identities map[string][]byte, cached *io.SectionReader) *schemaTable {
	return &schemaTable{version: version, raw: raw, cached: cached, identities: identities,
		decoded: make(map[string]*providers.ResourceSchema)}
}

// Names implements providers.TypeTable.
func (t *schemaTable) Names() []string { return slices.Sorted(maps.Keys(t.raw)) }

// Type implements providers.TypeTable. If a schema can't be decoded, the result's Invalid field is
// set.
func (t *schemaTable) Type(name string) *providers.ResourceSchema {
	raw, ok := t.raw[name]
	if !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.decoded[name]; s != nil {
		return s
	}
	s := &providers.ResourceSchema{}
	if t.cached != nil {
		raw, s.Invalid = readType(t.cached, raw)
	}
	if s.Invalid == nil {
		s.Block, s.Version, s.Invalid = decodeSchema(raw, t.version)
	}
	if identity, ok := t.identities[name]; ok && s.Invalid == nil {
		s.Identity, s.IdentityVersion, s.Invalid = decodeIdentitySchema(identity)
	}
	if s.Invalid != nil {
		s.Block = configschema.Empty()
	}
	t.decoded[name] = s
	return s
}

// decodeSchema decodes a schema message of the given protocol version.
func decodeSchema(raw []byte, version int) (*configschema.Block, int64, error) {
	msg := &tfplugin.Schema{}
	if err := proto.Unmarshal(raw, msg); err != nil {
		return nil, 0, err
	}
	block, err := schemaBlock(msg, version)
	return block, msg.Version, err
}

// schemaBlock converts a schema. If it has no block, the result is an empty block.
func schemaBlock(msg *tfplugin.Schema, version int) (*configschema.Block, error) {
	out := &configschema.Block{}
	if msg.GetBlock() == nil {
		return out, nil
	}
	return out, convertBlock(out, msg.Block, version)
}

func convertBlock(out *configschema.Block, in *tfplugin.Schema_Block, version int) error {
	out.Description = in.Description
	out.DescriptionKind = stringKind(in.DescriptionKind)
	out.Deprecated = in.Deprecated
	out.DeprecationMessage = in.DeprecationMessage
	var err error
	if out.Attributes, err = convertAttributes(in.Attributes, version); err != nil {
		return err
	}
	out.BlockTypes = make(map[string]*configschema.NestedBlock, len(in.BlockTypes))
	for _, b := range in.BlockTypes {
		mode, ok := nestingModes[b.Nesting]
		if !ok {
			return fmt.Errorf("block type %q has the unknown nesting mode %d", b.TypeName, b.Nesting)
		}
		nested := &configschema.NestedBlock{Nesting: mode, MinItems: int(b.MinItems), MaxItems: int(b.MaxItems)}
		if b.Block != nil {
			if err := convertBlock(&nested.Block, b.Block, version); err != nil {
				return fmt.Errorf("block type %q: %w", b.TypeName, err)
			}
		}
		out.BlockTypes[b.TypeName] = nested
	}
	return nil
}

var nestingModes = map[tfplugin.Schema_NestingMode]configschema.NestingMode{
	tfplugin.Schema_SINGLE: configschema.NestingSingle,
	tfplugin.Schema_GROUP:  configschema.NestingGroup,
	tfplugin.Schema_LIST:   configschema.NestingList,
	tfplugin.Schema_SET:    configschema.NestingSet,
	tfplugin.Schema_MAP:    configschema.NestingMap,
}

func convertAttributes(in []*tfplugin.Schema_Attribute, version int) (map[string]*configschema.Attribute, error) {
	out := make(map[string]*configschema.Attribute, len(in))
	for _, a := range in {
		if version == 5 {
			fixVersion5(a)
		}
		attr := &configschema.Attribute{
			Description: a.Description, DescriptionKind: stringKind(a.DescriptionKind),
			Deprecated: a.Deprecated, DeprecationMessage: a.DeprecationMessage,
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			WriteOnly: a.WriteOnly,
		}
		if err := attributeType(attr, a, version); err != nil {
			return nil, fmt.Errorf("attribute %q: %w", a.Name, err)
		}
		out[a.Name] = attr
	}
	return out, nil
}

func attributeType(out *configschema.Attribute, in *tfplugin.Schema_Attribute, version int) error {
	if in.NestedType == nil {
		ty, err := decodeType(in.Type)
		out.Type = ty
		return err
	}
	mode, ok := nestingModes[in.NestedType.Nesting]
	if !ok || mode == configschema.NestingGroup {
		return fmt.Errorf("unknown nesting mode %d", in.NestedType.Nesting)
	}
	attrs, err := convertAttributes(in.NestedType.Attributes, version)
	out.NestedType = &configschema.Object{Attributes: attrs, Nesting: mode}
	return err
}

func decodeType(raw []byte) (cty.Type, error) {
	ty, err := states.UnmarshalType(raw)
	if err != nil {
		return cty.DynamicPseudoType, fmt.Errorf("invalid type constraint %q: %w", raw, err)
	}
	return ty, nil
}

// Numbers of fields in version 5 that belong to other fields in version 6. The wire types differ
// too, so after decoding, these fields are among the message's unknown fields.
const (
	v5WriteOnly          = protowire.Number(10)
	v5DeprecationMessage = protowire.Number(11)
)

// fixVersion5 sets the fields of an attribute that have other numbers in version 5.
func fixVersion5(a *tfplugin.Schema_Attribute) {
	for rest := a.ProtoReflect().GetUnknown(); len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return
		}
		rest = rest[n:]
		switch {
		case number == v5WriteOnly && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(rest)
			a.WriteOnly = v != 0
		case number == v5DeprecationMessage && kind == protowire.BytesType:
			v, _ := protowire.ConsumeBytes(rest)
			a.DeprecationMessage = string(v)
		}
		n = protowire.ConsumeFieldValue(number, kind, rest)
		if n < 0 {
			return
		}
		rest = rest[n:]
	}
}

func stringKind(k tfplugin.StringKind) configschema.StringKind {
	if k == tfplugin.StringKind_MARKDOWN {
		return configschema.StringMarkdown
	}
	return configschema.StringPlain
}

func decodeIdentitySchema(raw []byte) (*configschema.Object, int64, error) {
	msg := &tfplugin.ResourceIdentitySchema{}
	if err := proto.Unmarshal(raw, msg); err != nil {
		return nil, 0, err
	}
	out := &configschema.Object{Nesting: configschema.NestingSingle,
		Attributes: make(map[string]*configschema.Attribute, len(msg.IdentityAttributes))}
	for _, a := range msg.IdentityAttributes {
		ty, err := decodeType(a.Type)
		if err != nil {
			return nil, 0, fmt.Errorf("identity attribute %q: %w", a.Name, err)
		}
		out.Attributes[a.Name] = &configschema.Attribute{
			Type: ty, Description: a.Description, Required: a.RequiredForImport, Optional: !a.RequiredForImport,
		}
	}
	return out, msg.Version, nil
}

func convertFunctions(in map[string]*tfplugin.Function) (map[string]*providers.Function, error) {
	out := make(map[string]*providers.Function, len(in))
	for name, f := range in {
		fn := &providers.Function{
			Summary: f.Summary, Description: f.Description, DescriptionKind: stringKind(f.DescriptionKind),
			DeprecationMessage: f.DeprecationMessage,
		}
		var err error
		if fn.Return, err = decodeType(f.GetReturn().GetType()); err != nil {
			return nil, fmt.Errorf("function %q: %w", name, err)
		}
		for _, p := range f.Parameters {
			param, err := convertParam(p)
			if err != nil {
				return nil, fmt.Errorf("function %q: %w", name, err)
			}
			fn.Params = append(fn.Params, param)
		}
		if f.VariadicParameter != nil {
			param, err := convertParam(f.VariadicParameter)
			if err != nil {
				return nil, fmt.Errorf("function %q: %w", name, err)
			}
			fn.Variadic = &param
		}
		out[name] = fn
	}
	return out, nil
}

func convertParam(p *tfplugin.Function_Parameter) (providers.FunctionParam, error) {
	ty, err := decodeType(p.Type)
	return providers.FunctionParam{
		Name: p.Name, Type: ty, AllowNull: p.AllowNullValue, AllowUnknown: p.AllowUnknownValues,
		Description: p.Description, DescriptionKind: stringKind(p.DescriptionKind),
	}, err
}

// convertSchemas converts the provider's two responses to a schema. identities is nil if the
// provider has no identities. If cached is not nil, it is the cache file, and the first response
// contains the positions of the types' schemas in this file instead of the schemas.
func convertSchemas(
	version int, in *tfplugin.GetProviderSchemaResponse, identities map[string][]byte, cached *io.SectionReader,
) (*providers.Schema, error) {
	out := &providers.Schema{
		Resources:      newSchemaTable(version, in.ResourceSchemas, identities, cached),
		DataSources:    newSchemaTable(version, in.DataSourceSchemas, nil, cached),
		Ephemerals:     newSchemaTable(version, in.EphemeralResourceSchemas, nil, cached),
		Lists:          newSchemaTable(version, in.ListResourceSchemas, nil, cached),
		Actions:        newSchemaTable(version, in.ActionSchemas, nil, cached),
		StateStores:    newSchemaTable(version, in.StateStoreSchemas, nil, cached),
		PlanDestroy:    in.GetServerCapabilities().GetPlanDestroy(),
		SchemaOptional: in.GetServerCapabilities().GetGetProviderSchemaOptional(),
		MoveResource:   in.GetServerCapabilities().GetMoveResourceState(),
		GenerateConfig: in.GetServerCapabilities().GetGenerateResourceConfig(),
	}
	var err error
	if out.Provider, err = schemaBlock(in.Provider, version); err != nil {
		return nil, fmt.Errorf("provider configuration: %w", err)
	}
	if in.GetProviderMeta().GetBlock() != nil {
		if out.ProviderMeta, err = schemaBlock(in.ProviderMeta, version); err != nil {
			return nil, fmt.Errorf("provider_meta: %w", err)
		}
	}
	out.Functions, err = convertFunctions(in.Functions)
	return out, err
}
