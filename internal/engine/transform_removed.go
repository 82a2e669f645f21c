package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
)

// removedKey is what a removed block names: a resource, or a module if resource is zero.
type removedKey struct {
	module   addrs.Module
	resource addrs.Resource
}

// matchRemoved attaches removed blocks to the resources that they cover. A block that names the
// resource takes precedence over one that names a module around it.
func (b *build) matchRemoved() {
	blocks := map[removedKey]*configs.Removed{}
	for _, m := range b.g.modules {
		if m.cfg == nil {
			continue
		}
		for _, rm := range m.cfg.Module.Removed {
			path := m.path
			for _, name := range rm.From.Module.Module().Names() {
				path = path.Child(name)
			}
			blocks[removedKey{path, rm.From.Resource}] = rm
		}
	}
	if len(blocks) == 0 {
		return
	}
	for _, r := range b.g.resources {
		if r.addr.Resource.Mode != addrs.Managed {
			continue
		}
		r.removed = blocks[removedKey{r.addr.Module, r.addr.Resource}]
		for m := r.addr.Module; r.removed == nil && !m.IsRoot(); m, _ = m.Parent() {
			r.removed = blocks[removedKey{module: m}]
		}
	}
}
