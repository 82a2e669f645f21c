package graph

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
)

// removedKey is the target of a removed block: a resource, or a module if resource is zero.
type removedKey struct {
	module   addrs.Module
	resource addrs.Resource
}

// matchRemoved attaches removed blocks to the resources that they cover. A block that names a
// resource takes precedence over a block that names a module that contains the resource.
func (b *build) matchRemoved() {
	blocks := map[removedKey]*configs.Removed{}
	for _, m := range b.g.Modules {
		if m.Config == nil {
			continue
		}
		for _, rm := range m.Config.Module.Removed {
			path := m.Path
			for _, name := range rm.From.Module.Module().Names() {
				path = path.Child(name)
			}
			blocks[removedKey{path, rm.From.Resource}] = rm
		}
	}
	if len(blocks) == 0 {
		return
	}
	for _, r := range b.g.Resources {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		block := blocks[removedKey{r.Addr.Module, r.Addr.Resource}]
		for m := r.Addr.Module; block == nil && !m.IsRoot(); m, _ = m.Parent() {
			block = blocks[removedKey{module: m}]
		}
		if block != nil {
			b.g.Removals[r] = &Removal{Config: block}
		}
	}
}
