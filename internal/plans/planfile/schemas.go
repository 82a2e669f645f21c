package planfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/vmihailenco/msgpack/v5"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// schemasFormat is the version of the format in which schemas are stored.
const schemasFormat = 1

// maxSchemaDepth limits how deeply the blocks and attributes of a schema may be nested.
const maxSchemaDepth = 100

// These are the documents in the stream of schemas. The stream begins with the version of the
// format and the number of providers. Each provider is a wireSchema, the block of its
// configuration, and as many resource types as wireSchema.Types says. A resource type is a
// wireType, its block, and the attributes of its identity. A block is a wireBlock, its attributes,
// and for each nested block a wireNested and the block itself. An attribute is a wireAttribute and
// its nested attributes. Schemas are stored without descriptions and deprecations, which make up
// most of their size and are not needed to show a plan.
type (
	wireSchema struct {
		Provider string
		Types    int
	}

	wireType struct {
		Mode            addrs.ResourceMode
		Name            string
		Version         int64
		HasIdentity     bool
		IdentityVersion int64
		Identity        int // number of attributes in the identity
	}

	wireBlock struct {
		Ephemeral          bool
		Attributes, Blocks int
	}

	wireAttribute struct {
		Name      string
		Type      []byte // nil if the attribute has nested attributes
		Required  bool
		Optional  bool
		Computed  bool
		Sensitive bool
		WriteOnly bool
		Nesting   configschema.NestingMode
		Nested    int
	}

	wireNested struct {
		Name               string
		Nesting            configschema.NestingMode
		MinItems, MaxItems int
	}
)

// schemaWriter writes schemas. After an error, it writes nothing more.
type schemaWriter struct {
	out *msgpack.Encoder
	err error
}

// writeSchemas writes the schemas of providers. Each schema must have a table for every resource
// mode.
func writeSchemas(w io.Writer, schemas map[addrs.Provider]*providers.Schema) error {
	buffered := bufio.NewWriterSize(w, 64<<10)
	out := msgpack.NewEncoder(buffered)
	out.UseCompactInts(true)
	out.UseArrayEncodedStructs(true)
	s := &schemaWriter{out: out}
	s.put(schemasFormat)
	s.put(len(schemas))
	for _, addr := range slices.SortedFunc(maps.Keys(schemas), addrs.Provider.Compare) {
		s.provider(addr, schemas[addr])
	}
	return errors.Join(s.err, buffered.Flush())
}

func (s *schemaWriter) put(document any) {
	if s.err == nil {
		s.err = s.out.Encode(document)
	}
}

func (s *schemaWriter) provider(addr addrs.Provider, schema *providers.Schema) {
	n := 0
	for _, mode := range schemaModes {
		n += len(schema.Table(mode).Names())
	}
	s.put(wireSchema{Provider: addr.String(), Types: n})
	s.block(schema.Provider)
	for _, mode := range schemaModes {
		table := schema.Table(mode)
		for _, name := range table.Names() {
			s.resource(mode, name, table.Type(name))
		}
	}
}

// schemaModes are the modes of resource types in the order in which they are written.
var schemaModes = []addrs.ResourceMode{addrs.Managed, addrs.Data, addrs.Ephemeral, addrs.Action}

func (s *schemaWriter) resource(mode addrs.ResourceMode, name string, t *providers.ResourceSchema) {
	wire := wireType{Mode: mode, Name: name, Version: t.Version, IdentityVersion: t.IdentityVersion}
	if t.Identity != nil {
		wire.HasIdentity, wire.Identity = true, len(t.Identity.Attributes)
	}
	s.put(wire)
	s.block(t.Block)
	if t.Identity != nil {
		s.attributes(t.Identity.Attributes)
	}
}

func (s *schemaWriter) block(b *configschema.Block) {
	if b == nil {
		b = configschema.Empty()
	}
	s.put(wireBlock{Ephemeral: b.Ephemeral, Attributes: len(b.Attributes), Blocks: len(b.BlockTypes)})
	s.attributes(b.Attributes)
	for _, name := range slices.Sorted(maps.Keys(b.BlockTypes)) {
		nested := b.BlockTypes[name]
		s.put(wireNested{name, nested.Nesting, nested.MinItems, nested.MaxItems})
		s.block(&nested.Block)
	}
}

func (s *schemaWriter) attributes(attrs map[string]*configschema.Attribute) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		a := attrs[name]
		wire := wireAttribute{Name: name, Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			Sensitive: a.Sensitive, WriteOnly: a.WriteOnly}
		if a.NestedType == nil {
			text, err := ctyjson.MarshalType(a.Type)
			s.err = errors.Join(s.err, err)
			wire.Type = text
			s.put(wire)
			continue
		}
		wire.Nesting, wire.Nested = a.NestedType.Nesting, len(a.NestedType.Attributes)
		s.put(wire)
		s.attributes(a.NestedType.Attributes)
	}
}

// schemaReader reads schemas. After an error, it reads nothing more.
type schemaReader struct {
	in  *msgpack.Decoder
	err error
}

func (s *schemaReader) get(document any) bool {
	if s.err == nil {
		s.err = s.in.Decode(document)
	}
	return s.err == nil
}

// readSchemas reads schemas. It returns nil if this version of the program does not know their
// format.
func readSchemas(r io.Reader) (map[addrs.Provider]*providers.Schema, error) {
	s := &schemaReader{in: msgpack.NewDecoder(bufio.NewReaderSize(r, 64<<10))}
	var format, n int
	if s.get(&format) && format != schemasFormat {
		return nil, nil
	}
	s.get(&n)
	out := make(map[addrs.Provider]*providers.Schema)
	for i := 0; i < n && s.err == nil; i++ {
		s.provider(out)
	}
	return out, s.err
}

func (s *schemaReader) provider(into map[addrs.Provider]*providers.Schema) {
	var wire wireSchema
	if !s.get(&wire) {
		return
	}
	addr, err := addrs.ParseProvider(wire.Provider)
	if err != nil {
		s.err = err
		return
	}
	out := &providers.Schema{Provider: &configschema.Block{}, Resources: providers.Types{},
		DataSources: providers.Types{}, Ephemerals: providers.Types{}, Actions: providers.Types{}}
	s.block(out.Provider, 0)
	for i := 0; i < wire.Types && s.err == nil; i++ {
		s.resource(out)
	}
	into[addr] = out
}

func (s *schemaReader) resource(into *providers.Schema) {
	var wire wireType
	if !s.get(&wire) {
		return
	}
	table, ok := into.Table(wire.Mode).(providers.Types)
	if !ok {
		s.err = fmt.Errorf("unknown resource mode %d", wire.Mode)
		return
	}
	out := &providers.ResourceSchema{Version: wire.Version, IdentityVersion: wire.IdentityVersion,
		Block: &configschema.Block{}}
	s.block(out.Block, 0)
	if wire.HasIdentity {
		out.Identity = &configschema.Object{Nesting: configschema.NestingSingle,
			Attributes: s.attributes(wire.Identity, 0)}
	}
	table[wire.Name] = out
}

func (s *schemaReader) block(out *configschema.Block, depth int) {
	var wire wireBlock
	if !s.deeper(depth) || !s.get(&wire) {
		return
	}
	out.Ephemeral = wire.Ephemeral
	out.Attributes = s.attributes(wire.Attributes, depth+1)
	out.BlockTypes = make(map[string]*configschema.NestedBlock)
	for i := 0; i < wire.Blocks && s.err == nil; i++ {
		var head wireNested
		s.get(&head)
		s.mode(head.Nesting)
		nested := &configschema.NestedBlock{Nesting: head.Nesting, MinItems: head.MinItems, MaxItems: head.MaxItems}
		s.block(&nested.Block, depth+1)
		out.BlockTypes[head.Name] = nested
	}
}

func (s *schemaReader) attributes(n, depth int) map[string]*configschema.Attribute {
	out := make(map[string]*configschema.Attribute)
	for i := 0; i < n && s.deeper(depth); i++ {
		var wire wireAttribute
		if !s.get(&wire) {
			break
		}
		a := &configschema.Attribute{Required: wire.Required, Optional: wire.Optional, Computed: wire.Computed,
			Sensitive: wire.Sensitive, WriteOnly: wire.WriteOnly}
		if wire.Type != nil {
			a.Type, s.err = states.UnmarshalType(wire.Type)
		} else {
			s.mode(wire.Nesting)
			a.NestedType = &configschema.Object{Nesting: wire.Nesting, Attributes: s.attributes(wire.Nested, depth+1)}
		}
		out[wire.Name] = a
	}
	return out
}

// deeper reports whether reading may continue at a nesting depth. It stores an error if the depth
// is too large.
func (s *schemaReader) deeper(depth int) bool {
	if s.err == nil && depth > maxSchemaDepth {
		s.err = fmt.Errorf("a schema is nested more than %d levels deep", maxSchemaDepth)
	}
	return s.err == nil
}

func (s *schemaReader) mode(m configschema.NestingMode) {
	if s.err == nil && (m < configschema.NestingSingle || m > configschema.NestingMap) {
		s.err = fmt.Errorf("unknown nesting mode %d", m)
	}
}
