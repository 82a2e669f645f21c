package statefile

import (
	"fmt"
	"runtime"

	"tofu/internal/addrs"
	"tofu/internal/parallel"
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

// nearestSet is a [nearestV4] whose parts are decoded.
type nearestSet struct {
	of   addrs.AbsResource
	deps *states.Dependencies
	err  error
}

// setNearest removes the indirect dependencies of objects. If the list of an object lacks one of the
// nearest ones, something else has changed it, and it counts as it is.
func (r *reader) setNearest() error {
	sets := make([]nearestSet, len(r.nearest))
	parts := runtime.GOMAXPROCS(0)
	parallel.Each(parts, parts, func(i int) {
		d := newDecoder()
		for j := len(sets) * i / parts; j < len(sets)*(i+1)/parts; j++ {
			sets[j] = d.nearest(r.nearest[j])
		}
	})
	for _, nearest := range sets {
		if nearest.err != nil {
			return nearest.err
		}
		res := r.file.State.Resource(nearest.of)
		if res == nil || nearest.deps == nil {
			continue
		}
		var all *states.Dependencies // the last list of an object that contains the nearest ones
		for _, inst := range res.Instances {
			for o := range inst.Objects() {
				if o.Dependencies != all && o.Dependencies.Contains(nearest.deps) {
					all = o.Dependencies
				}
				if o.Dependencies == all {
					o.Dependencies = nearest.deps // nothing else has the object yet
				}
			}
		}
	}
	return nil
}

func (d *decoder) nearest(in nearestV4) (out nearestSet) {
	module, err := d.module(in.Module)
	if err != nil {
		return nearestSet{err: err}
	}
	of, ok := addrs.ParseConfigResourceText(in.Resource)
	if !ok {
		return nearestSet{err: fmt.Errorf("the state has the invalid address %q in %q", in.Resource, nearestDependencies)}
	}
	out.of = of.Resource.InInstance(module)
	out.deps, out.err = d.dependencies(in.Dependencies)
	return out
}
