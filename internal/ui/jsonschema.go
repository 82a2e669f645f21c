package ui

import (
	"encoding/json"
	"io"
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang/funcs"
	"tofu/internal/providers"
	"tofu/internal/version"
)

type providerSchema struct {
	Provider    *schemaJSON                `json:"provider,omitempty"`
	Resources   map[string]*schemaJSON     `json:"resource_schemas,omitempty"`
	DataSources map[string]*schemaJSON     `json:"data_source_schemas,omitempty"`
	Ephemerals  map[string]*schemaJSON     `json:"ephemeral_resource_schemas,omitempty"`
	Functions   map[string]*functionJSON   `json:"functions,omitempty"`
	Identities  map[string]*identitySchema `json:"resource_identity_schemas,omitempty"`
	Lists       map[string]*schemaJSON     `json:"list_resource_schemas,omitempty"`
	Actions     map[string]*actionSchema   `json:"action_schemas,omitempty"`
	StateStores map[string]*schemaJSON     `json:"state_store_schemas,omitempty"`
}

type schemaJSON struct {
	Version int64      `json:"version"`
	Block   *blockJSON `json:"block,omitempty"`
}

// actionSchema has no version, because no value of an action is stored.
type actionSchema struct {
	Block *blockJSON `json:"block,omitempty"`
}

type blockJSON struct {
	Attributes         map[string]*attributeJSON `json:"attributes,omitempty"`
	BlockTypes         map[string]*nestedJSON    `json:"block_types,omitempty"`
	Description        string                    `json:"description,omitempty"`
	DescriptionKind    string                    `json:"description_kind,omitempty"`
	Deprecated         bool                      `json:"deprecated,omitempty"`
	DeprecationMessage string                    `json:"deprecation_message,omitempty"`
}

type nestedJSON struct {
	NestingMode string     `json:"nesting_mode,omitempty"`
	Block       *blockJSON `json:"block,omitempty"`
	MinItems    int        `json:"min_items,omitempty"`
	MaxItems    int        `json:"max_items,omitempty"`
}

type attributeJSON struct {
	Type               json.RawMessage `json:"type,omitempty"`
	NestedType         *nestedTypeJSON `json:"nested_type,omitempty"`
	Description        string          `json:"description,omitempty"`
	DescriptionKind    string          `json:"description_kind,omitempty"`
	Deprecated         bool            `json:"deprecated,omitempty"`
	DeprecationMessage string          `json:"deprecation_message,omitempty"`
	Required           bool            `json:"required,omitempty"`
	Optional           bool            `json:"optional,omitempty"`
	Computed           bool            `json:"computed,omitempty"`
	Sensitive          bool            `json:"sensitive,omitempty"`
	WriteOnly          bool            `json:"write_only,omitempty"`
}

type nestedTypeJSON struct {
	Attributes  map[string]*attributeJSON `json:"attributes,omitempty"`
	NestingMode string                    `json:"nesting_mode,omitempty"`
}

type identitySchema struct {
	Version    int64                             `json:"version"`
	Attributes map[string]*identityAttributeJSON `json:"attributes,omitempty"`
}

type identityAttributeJSON struct {
	Type              json.RawMessage `json:"type,omitempty"`
	Description       string          `json:"description,omitempty"`
	RequiredForImport bool            `json:"required_for_import,omitempty"`
	OptionalForImport bool            `json:"optional_for_import,omitempty"`
}

// functionJSON describes a function. An empty description is omitted only for parameters of
// built-in functions.
type functionJSON struct {
	Description        string          `json:"description"`
	Summary            string          `json:"summary"`
	ReturnType         json.RawMessage `json:"return_type"`
	Parameters         []paramJSON     `json:"parameters,omitempty"`
	Variadic           *paramJSON      `json:"variadic_parameter,omitempty"`
	DeprecationMessage string          `json:"deprecation_message,omitempty"`
}

type paramJSON struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	IsNullable  bool            `json:"is_nullable,omitempty"`
	Type        json.RawMessage `json:"type"`
}

// WriteSchemas writes the document of `providers schema -json`.
func WriteSchemas(w io.Writer, schemas map[addrs.Provider]*providers.Schema) error {
	s := newStream(w)
	s.object(func() {
		s.field("format_version", stateFormat)
		if len(schemas) == 0 {
			return
		}
		s.name("provider_schemas")
		s.object(func() {
			for _, addr := range slices.SortedFunc(maps.Keys(schemas), addrs.Provider.Compare) {
				s.field(addr.String(), schemaOfProvider(addr, schemas[addr]))
			}
		})
	})
	return s.finish()
}

func schemaOfProvider(addr addrs.Provider, sch *providers.Schema) *providerSchema {
	out := &providerSchema{
		Resources: typesJSON(sch.Resources), DataSources: typesJSON(sch.DataSources),
		Ephemerals: typesJSON(sch.Ephemerals), Lists: typesJSON(sch.Lists), StateStores: typesJSON(sch.StateStores),
	}
	for name, action := range typesJSON(sch.Actions) {
		put(&out.Actions, name, &actionSchema{action.Block})
	}
	if sch.Provider != nil {
		out.Provider = &schemaJSON{}
		if !addr.IsBuiltin() { // the built-in provider has no configuration
			out.Provider.Block = blockSchema(sch.Provider)
		}
	}
	for name, f := range sch.Functions {
		put(&out.Functions, name, providerFunction(f))
	}
	if sch.Resources == nil {
		return out
	}
	for _, name := range sch.Resources.Names() {
		if typ := sch.Resources.Type(name); typ.Identity != nil {
			put(&out.Identities, name, identityOf(typ))
		}
	}
	return out
}

func typesJSON(table providers.TypeTable) map[string]*schemaJSON {
	if table == nil {
		return nil
	}
	var out map[string]*schemaJSON
	for _, name := range table.Names() {
		typ := table.Type(name)
		put(&out, name, &schemaJSON{typ.Version, blockSchema(typ.Block)})
	}
	return out
}

func blockSchema(b *configschema.Block) *blockJSON {
	out := &blockJSON{
		Attributes: attributeSchemas(b.Attributes), Description: b.Description,
		DescriptionKind: kindJSON(b.DescriptionKind),
		Deprecated:      b.Deprecated, DeprecationMessage: b.DeprecationMessage,
	}
	for name, nested := range b.BlockTypes {
		put(&out.BlockTypes, name, &nestedJSON{nested.Nesting.String(), blockSchema(&nested.Block),
			nested.MinItems, nested.MaxItems})
	}
	return out
}

func attributeSchemas(attrs map[string]*configschema.Attribute) map[string]*attributeJSON {
	var out map[string]*attributeJSON
	for name, a := range attrs {
		attr := &attributeJSON{
			Description: a.Description, DescriptionKind: kindJSON(a.DescriptionKind), Deprecated: a.Deprecated,
			DeprecationMessage: a.DeprecationMessage, Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			Sensitive: a.Sensitive, WriteOnly: a.WriteOnly,
		}
		if a.NestedType != nil {
			attr.NestedType = &nestedTypeJSON{attributeSchemas(a.NestedType.Attributes), a.NestedType.Nesting.String()}
		} else {
			attr.Type = typeJSON(a.Type)
		}
		put(&out, name, attr)
	}
	return out
}

func kindJSON(k configschema.StringKind) string {
	if k == configschema.StringMarkdown {
		return "markdown"
	}
	return "plain"
}

func identityOf(typ *providers.ResourceSchema) *identitySchema {
	out := &identitySchema{Version: typ.IdentityVersion}
	for name, a := range typ.Identity.Attributes {
		put(&out.Attributes, name, &identityAttributeJSON{typeJSON(a.Type), a.Description, a.Required, a.Optional})
	}
	return out
}

func providerFunction(f *providers.Function) *functionJSON {
	out := &functionJSON{Description: f.Description, Summary: f.Summary, ReturnType: typeJSON(f.Return),
		DeprecationMessage: f.DeprecationMessage}
	for _, p := range f.Params {
		out.Parameters = append(out.Parameters, paramJSON{p.Name, p.Description, p.AllowNull, typeJSON(p.Type)})
	}
	if p := f.Variadic; p != nil {
		out.Variadic = &paramJSON{p.Name, p.Description, p.AllowNull, typeJSON(p.Type)}
	}
	return out
}

type signature struct {
	Description string           `json:"description,omitempty"`
	ReturnType  json.RawMessage  `json:"return_type"`
	Parameters  []signatureParam `json:"parameters,omitempty"`
	Variadic    *signatureParam  `json:"variadic_parameter,omitempty"`
}

type signatureParam struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	IsNullable  bool            `json:"is_nullable,omitempty"`
	Type        json.RawMessage `json:"type"`
}

// WriteFunctions writes the document of `metadata functions -json`, which lists every built-in
// function under both of its names.
func WriteFunctions(w io.Writer) error {
	signatures := make(map[string]*signature)
	for _, doc := range funcs.Docs() {
		sig := &signature{Description: doc.Description, ReturnType: typeJSON(doc.ReturnType)}
		for _, p := range doc.Params {
			sig.Parameters = append(sig.Parameters, signatureJSON(p))
		}
		if doc.Variadic != nil {
			v := signatureJSON(*doc.Variadic)
			sig.Variadic = &v
		}
		signatures[doc.Name], signatures[funcs.Namespace+doc.Name] = sig, sig
	}
	s := newStream(w)
	s.object(func() {
		s.field("format_version", stateFormat)
		s.field("function_signatures", signatures)
	})
	return s.finish()
}

// WriteBackends writes the document of `metadata backends -json`, which describes the arguments
// of each backend and each key provider.
func WriteBackends(w io.Writer, backends, keyProviders map[string]*configschema.Block) error {
	s := newStream(w)
	s.object(func() {
		s.field("format_version", stateFormat)
		s.field("backend_schemas", blockSchemas(backends))
		s.field("key_provider_schemas", blockSchemas(keyProviders))
	})
	return s.finish()
}

func blockSchemas(blocks map[string]*configschema.Block) map[string]*schemaJSON {
	out := make(map[string]*schemaJSON)
	for name, b := range blocks {
		out[name] = &schemaJSON{Block: blockSchema(b)}
	}
	return out
}

func signatureJSON(p funcs.Param) signatureParam {
	return signatureParam{p.Name, p.Description, p.Nullable, typeJSON(p.Type)}
}

// versionFormat is the version of the document of `version -json`.
const versionFormat = "1.0"

// VersionInfo is the information that `version` prints.
type VersionInfo struct {
	Format    string            `json:"format_version"`
	Version   string            `json:"terraform_version"`
	Engine    version.Info      `json:"engine"`
	Platform  string            `json:"platform"`
	FIPS      bool              `json:"fips140,omitempty"`
	Providers map[string]string `json:"provider_selections"` // selected versions by provider address
}

// WriteVersion writes the document of `version -json`.
func WriteVersion(w io.Writer, v VersionInfo) error {
	v.Format = versionFormat
	if v.Providers == nil {
		v.Providers = map[string]string{}
	}
	return writeIndented(w, v)
}
