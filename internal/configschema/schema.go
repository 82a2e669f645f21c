package configschema

import (
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// StringKind is the format of a description.
type StringKind uint8

const (
	StringPlain StringKind = iota
	StringMarkdown
)

// Block describes the content of a configuration block: its attributes and the blocks nested in it.
type Block struct {
	Attributes map[string]*Attribute
	BlockTypes map[string]*NestedBlock

	Description        string
	DescriptionKind    StringKind
	Deprecated         bool
	DeprecationMessage string
	Ephemeral          bool // whether this is the schema of an ephemeral resource type

	derived derived
}

// derived holds values that are computed once from a schema.
type derived struct {
	impliedType     lazy[cty.Type]
	emptyContent    lazy[map[string]cty.Value]
	emptyValue      lazy[cty.Value]
	unknownValue    lazy[cty.Value]
	decoderSpec     lazy[hcldec.Spec]
	bodySchema      lazy[*hcl.BodySchema]
	preparingSchema lazy[*hcl.BodySchema] // bodySchema with dynamic blocks
	sensitive       lazy[*template]
	deprecated      lazy[*template]
	writeOnly       lazy[*template]
	attrBlocks      lazy[map[string]*NestedBlock] // see blocksForAttributes
	hasAttrBlocks   lazy[bool]                    // whether this block or a nested one has attrBlocks
	names           lazy[[2][]string]
}

// Names returns the sorted names of the attributes and of the nested blocks. Callers must not
// change the lists.
func (b *Block) Names() (attributes, blocks []string) {
	names := b.derived.names.get(func() [2][]string {
		return [2][]string{slices.Sorted(maps.Keys(b.Attributes)), slices.Sorted(maps.Keys(b.BlockTypes))}
	})
	return names[0], names[1]
}

// lazy is a value that is computed on first use. It is safe for concurrent use.
type lazy[T any] struct {
	once  sync.Once
	value T
}

// get returns the value. Only the first call computes it.
func (l *lazy[T]) get(compute func() T) T {
	l.once.Do(func() { l.value = compute() })
	return l.value
}

// Attribute is one argument or computed attribute. Exactly one of Type and NestedType is set.
type Attribute struct {
	Type       cty.Type
	NestedType *Object

	Description        string
	DescriptionKind    StringKind
	Deprecated         bool
	DeprecationMessage string

	Required  bool
	Optional  bool
	Computed  bool
	Sensitive bool
	WriteOnly bool // accepted in configuration, always null in plans and state
}

// Object is the structure of a nested attribute: like nested blocks, but in attribute syntax.
type Object struct {
	Attributes map[string]*Attribute
	Nesting    NestingMode
}

// NestedBlock is a block type within a block.
type NestedBlock struct {
	Block
	Nesting  NestingMode
	MinItems int
	MaxItems int // 0 means no limit
}

// NestingMode is the number of nested blocks or objects that are allowed, with the collection that
// holds them.
type NestingMode uint8

const (
	nestingInvalid NestingMode = iota
	NestingSingle              // at most one; null if absent
	NestingGroup               // at most one; an object of nulls if absent
	NestingList
	NestingSet
	NestingMap // blocks have one label, the key
)

// String returns the mode's name in `providers schema -json`.
func (m NestingMode) String() string {
	return [...]string{"invalid", "single", "group", "list", "set", "map"}[m]
}

// Empty returns the schema of a block without content. The schema must not be changed.
func Empty() *Block { return &Block{} }
