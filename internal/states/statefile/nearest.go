package statefile

import (
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// OpenTofu orders deletions only by the dependencies that an object lists, so a snapshot lists
// indirect ones, too. The nearest ones are in a separate list at its end, by resource. Other programs
// ignore that list, and drop it when they write the file. If the objects of a resource have different
// dependencies, they list only the nearest ones.

const nearestDependencies = "nearest_dependencies"

// nearestV4 holds the nearest dependencies of the objects of one resource.
type nearestV4 struct {
	Module, Resource string
	Dependencies     []byte
}

// sharedDependencies returns the dependencies of all objects of a resource, or nil if they differ.
// Objects without dependencies don't count.
func sharedDependencies(r *states.Resource) *states.Dependencies {
	var shared *states.Dependencies
	for _, inst := range r.Instances {
		for o := range inst.Objects() {
			switch {
			case o.Dependencies == nil || o.Dependencies == shared:
			case shared == nil:
				shared = o.Dependencies
			case !o.Dependencies.Equal(shared):
				return nil
			}
		}
	}
	return shared
}

// writeNearest writes the nearest dependencies of a resource whose objects list indirect ones.
func writeNearest(w *writer, addr addrs.AbsResource, nearest *states.Dependencies) {
	w.item()
	w.open('{')
	w.optional("module", string(addr.Module))
	w.string("resource", addr.Resource.String())
	w.key("dependencies")
	w.addresses(nearest)
	w.close('}')
}

func (r *reader) nearestOfResource() bool {
	var in nearestV4
	ok := r.members(nearestDependencies, func(name []byte) bool {
		switch string(name) {
		case "module":
			return r.text("module", &in.Module)
		case "resource":
			return r.text("resource", &in.Resource)
		case "dependencies":
			return r.raw(&in.Dependencies)
		}
		return r.Skip()
	})
	r.nearest = append(r.nearest, in)
	return ok
}

// setNearest removes the indirect dependencies of objects. If the list of an object lacks one of the
// nearest ones, something else has changed it, and it counts as it is.
func (r *reader) setNearest() error {
	for _, in := range r.nearest {
		module, err := r.decoder.module(in.Module)
		if err != nil {
			return err
		}
		of, ok := addrs.ParseConfigResourceText(in.Resource)
		if !ok {
			return fmt.Errorf("the state has the invalid address %q in %q", in.Resource, nearestDependencies)
		}
		nearest, err := r.decoder.dependencies(in.Dependencies)
		if err != nil {
			return err
		}
		res := r.file.State.Resource(of.Resource.InInstance(module))
		if res == nil || nearest == nil {
			continue
		}
		var all *states.Dependencies // the last list of an object that contains the nearest ones
		for _, inst := range res.Instances {
			for o := range inst.Objects() {
				if o.Dependencies != all && o.Dependencies.Contains(nearest) {
					all = o.Dependencies
				}
				if o.Dependencies == all {
					o.Dependencies = nearest // nothing else has the object yet
				}
			}
		}
	}
	return nil
}
