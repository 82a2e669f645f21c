package configs

import (
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
)

// TypeConstraint is a variable's declared type.
type TypeConstraint struct {
	// Type is what values are converted to; cty.DynamicPseudoType where nothing was declared.
	Type cty.Type
	// WithOptional is the same type with its optional attributes marked, as conversion needs it.
	WithOptional cty.Type
	Defaults     *typeexpr.Defaults // nil: no optional attribute has a default
	// Literal: a value given as text is taken as it stands instead of being parsed as an expression.
	Literal bool
}

// Default is a variable's default value, converted already.
type Default struct {
	Set   bool
	Value cty.Value
}
