package providers

import (
	"maps"
	"slices"
)

// Type implements TypeTable.
func (t Types) Type(name string) *ResourceSchema { return t[name] }

// Names implements TypeTable.
func (t Types) Names() []string { return slices.Sorted(maps.Keys(t)) }
