package addrs

import (
	"cmp"
	"slices"
	"strings"
)

// SortByModuleTree sorts a list by the depth of the items' modules, then by module names and keys,
// then by resource and key, with managed resources last. address returns the address of an item.
// The sort is stable.
func SortByModuleTree[T any](list []T, address func(T) AbsInstance) {
	paths := make(map[ModuleInstance][]Step)
	for _, item := range list {
		if module := address(item).Module; paths[module] == nil {
			paths[module] = module.Steps()
		}
	}
	slices.SortStableFunc(list, func(x, y T) int {
		a, b := address(x), address(y)
		if a.Module == b.Module {
			if a.Resource.Mode != b.Resource.Mode {
				return int(b.Resource.Mode) - int(a.Resource.Mode)
			}
			return a.Compare(b)
		}
		p, q := paths[a.Module], paths[b.Module]
		return cmp.Or(cmp.Compare(len(p), len(q)), slices.CompareFunc(p, q, func(s, t Step) int {
			return cmp.Or(strings.Compare(s.Name, t.Name), s.Key.Compare(t.Key))
		}))
	})
}
