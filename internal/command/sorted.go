package command

import (
	"cmp"
	"maps"
	"slices"

	"tofu/internal/addrs"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func sortedProviders[V any](m map[addrs.Provider]V) []addrs.Provider {
	return slices.SortedFunc(maps.Keys(m), addrs.Provider.Compare)
}
