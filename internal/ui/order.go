package ui

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// inOrder sorts by address: outer modules first and data sources before resources, with keys as the numbers that they may be. Modules
// are compared once each, whatever they contain.
func inOrder[T any](items []T, address func(T) (addrs.AbsInstance, addrs.DeposedKey)) {
	steps := make(map[addrs.ModuleInstance][]addrs.Step)
	for _, item := range items {
		addr, _ := address(item)
		if _, known := steps[addr.Module]; !known {
			steps[addr.Module] = addr.Module.Steps()
		}
	}
	rank := make(map[addrs.ModuleInstance]int, len(steps))
	for i, module := range slices.SortedFunc(maps.Keys(steps), func(a, b addrs.ModuleInstance) int { return compareSteps(steps[a], steps[b]) }) {
		rank[module] = i
	}
	slices.SortStableFunc(items, func(x, y T) int {
		a, da := address(x)
		b, db := address(y)
		if a.Module != b.Module {
			return rank[a.Module] - rank[b.Module]
		}
		return cmp.Or(cmp.Compare(modeRank(a.Resource.Mode), modeRank(b.Resource.Mode)), strings.Compare(a.Resource.Type, b.Resource.Type),
			strings.Compare(a.Resource.Name, b.Resource.Name), a.Key.Compare(b.Key), cmp.Compare(da, db))
	})
}

func compareSteps(a, b []addrs.Step) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), slices.CompareFunc(a, b, func(x, y addrs.Step) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), x.Key.Compare(y.Key))
	}))
}

// modeRank is where a module lists the resources of a mode.
func modeRank(mode addrs.ResourceMode) int {
	if mode == addrs.Data {
		return 0
	}
	return 1
}

func addressOfChange(c *plans.InstanceChange) (addrs.AbsInstance, addrs.DeposedKey) {
	return c.Addr, c.Deposed
}

func addressOfItem(it stateItem) (addrs.AbsInstance, addrs.DeposedKey) {
	return it.addr, addrs.NotDeposed
}
