package statefile

import (
	"encoding/json"
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
	Module       string          `json:"module"`
	Resource     string          `json:"resource"`
	Dependencies json.RawMessage `json:"dependencies"`
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

// writeNearest writes the nearest dependencies of resources whose objects list indirect ones. It
// writes nothing if there are none.
func (e *Encoder) writeNearest(w *writer, resources []*states.Resource) {
	open := false
	for _, r := range resources {
		shared := sharedDependencies(r)
		if e.indirect[shared] == nil {
			continue
		}
		if !open {
			w.key(nearestDependencies)
			w.open('[')
			open = true
		}
		w.item()
		w.open('{')
		w.optional("module", string(r.Addr.Module))
		w.string("resource", r.Addr.Resource.String())
		w.key("dependencies")
		w.open('[')
		for dep := range shared.All() {
			w.item()
			w.text(dep.String())
		}
		w.close(']')
		w.close('}')
	}
	if open {
		w.close(']')
	}
}

// setNearest removes the indirect dependencies of objects. If the list of an object lacks one of the
// nearest ones, something else has changed it, and it counts as it is.
func (r *reader) setNearest() error {
	subsets := map[[2]*states.Dependencies]bool{}
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
		for _, inst := range res.Instances {
			for o := range inst.Objects() {
				pair := [2]*states.Dependencies{nearest, o.Dependencies}
				subset, known := subsets[pair]
				if !known {
					subset = nearest.Union(o.Dependencies).Len() == o.Dependencies.Len()
					subsets[pair] = subset
				}
				if subset {
					o.Dependencies = nearest // nothing else has the object yet
				}
			}
		}
	}
	return nil
}
