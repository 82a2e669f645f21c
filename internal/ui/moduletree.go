package ui

import (
	"slices"

	"tofu/internal/addrs"
)

// moduleTree groups items by module instance, to write them as nested objects.
type moduleTree[T any] struct {
	items    map[addrs.ModuleInstance][]T
	children map[addrs.ModuleInstance][]addrs.ModuleInstance
}

func newModuleTree[T any]() *moduleTree[T] {
	return &moduleTree[T]{make(map[addrs.ModuleInstance][]T), make(map[addrs.ModuleInstance][]addrs.ModuleInstance)}
}

func (t *moduleTree[T]) add(module addrs.ModuleInstance, item T) {
	t.declare(module)
	t.items[module] = append(t.items[module], item)
}

// declare adds a module instance and its ancestors to the tree.
func (t *moduleTree[T]) declare(module addrs.ModuleInstance) {
	if _, known := t.items[module]; known {
		return
	}
	t.items[module] = nil
	if module.IsRoot() {
		return
	}
	parent, _ := module.Parent()
	t.declare(parent)
	t.children[parent] = append(t.children[parent], module)
}

// write writes the tree, starting at the root.
func (t *moduleTree[T]) write(s *stream, item func(T)) {
	for _, list := range t.children {
		slices.Sort(list)
	}
	t.writeModule(s, addrs.RootInstance, item)
}

func (t *moduleTree[T]) writeModule(s *stream, module addrs.ModuleInstance, item func(T)) {
	s.object(func() {
		if len(t.items[module]) > 0 {
			s.name("resources")
			s.list(func() {
				for _, i := range t.items[module] {
					item(i)
				}
			})
		}
		if !module.IsRoot() {
			s.field("address", string(module))
		}
		if len(t.children[module]) > 0 {
			s.name("child_modules")
			s.list(func() {
				for _, child := range t.children[module] {
					t.writeModule(s, child, item)
				}
			})
		}
	})
}
