package configschema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// validName matches valid names in schemas.
var validName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// InternalValidate returns all errors in the schema itself, each with the dotted path of the item.
// It is for tests of built-in schemas and of providers. Schemas of plugins are not validated when
// they are loaded, because users can't fix them.
func (b *Block) InternalValidate() error {
	if b == nil {
		return errors.New("the schema of the top-level block is missing")
	}
	return errors.Join(b.problems("")...)
}

func (b *Block) problems(prefix string) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		errs = append(errs, b.Attributes[name].problems(prefix, name)...)
	}
	for _, name := range slices.Sorted(maps.Keys(b.BlockTypes)) {
		nested := b.BlockTypes[name]
		path := prefix + name
		if nested == nil {
			errs = append(errs, fmt.Errorf("%s: the block schema is missing", path))
			continue
		}
		if b.Attributes[name] != nil {
			errs = append(errs, fmt.Errorf("%s: there is both an attribute and a block type of this name", path))
		}
		errs = append(errs, nested.ownProblems(path)...)
		errs = append(errs, nested.problems(path+".")...)
	}
	return errs
}

func (n *NestedBlock) ownProblems(path string) []error {
	var errs []error
	check := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, fmt.Errorf("%s: %s", path, text))
		}
	}
	single := n.Nesting == NestingSingle || n.Nesting == NestingGroup
	check(n.Nesting == nestingInvalid || n.Nesting > NestingMap, "the nesting mode is missing or unknown")
	check(n.MinItems < 0 || n.MaxItems < 0, "the limits on the number of blocks must not be negative")
	check(single && (n.MinItems > 1 || n.MaxItems > 1), "this nesting mode allows at most one block")
	check(!single && n.MaxItems > 0 && n.MinItems > n.MaxItems, "MinItems is greater than MaxItems")
	check(n.Nesting == NestingSet && n.Block.ImpliedType().HasDynamicTypes(),
		"blocks in a set can't contain attributes of dynamic type")
	return errs
}

func (a *Attribute) problems(prefix, name string) []error {
	path := prefix + name
	if a == nil {
		return []error{fmt.Errorf("%s: the attribute schema is missing", path)}
	}
	var errs []error
	check := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, fmt.Errorf("%s: %s", path, text))
		}
	}
	check(!validName.MatchString(name), "the name may contain only lower-case letters, digits and underscores")
	check(!a.Required && !a.Optional && !a.Computed, "one of Optional, Required and Computed must be set")
	check(a.Required && (a.Optional || a.Computed), "Required can't be combined with Optional or Computed")
	check(a.WriteOnly && a.Computed && !a.Optional && !a.Required, "a write-only attribute must be configurable")
	check((a.Type == cty.NilType) == (a.NestedType == nil), "exactly one of Type and NestedType must be set")
	if a.NestedType == nil {
		return errs
	}
	check(a.NestedType.Nesting == nestingInvalid || a.NestedType.Nesting == NestingGroup ||
		a.NestedType.Nesting > NestingMap,
		"the nesting mode must be single, list, set or map")
	for _, child := range slices.Sorted(maps.Keys(a.NestedType.Attributes)) {
		errs = append(errs, a.NestedType.Attributes[child].problems(path+".", child)...)
	}
	return errs
}
