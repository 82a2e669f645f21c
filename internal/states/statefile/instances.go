package statefile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// The instances on which objects depend are in a separate list at the end of a snapshot. Other
// programs that read version 4 ignore the list, and drop it when they write the file. In journal
// entries, these instances are part of the object.

const dependencyInstances = "dependency_instances"

// dependencyInstancesV4 holds the instances on which one object depends.
type dependencyInstancesV4 struct {
	Object    string   `json:"object"`
	Deposed   string   `json:"deposed"`
	Instances []string `json:"instances"`
}

// writeDependencyInstances writes the instances on which the objects of resources depend. It writes
// nothing if there are none.
func writeDependencyInstances(w *writer, resources []*states.Resource) {
	open := false
	write := func(addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object) {
		if obj == nil || len(obj.DependencyInstances) == 0 {
			return
		}
		if !open {
			w.key(dependencyInstances)
			w.open('[')
			open = true
		}
		w.item()
		w.open('{')
		w.string("object", addr.String())
		w.optional("deposed", string(deposed))
		writeInstanceList(w, "instances", obj.DependencyInstances)
		w.close('}')
	}
	for _, r := range resources {
		for _, key := range r.SortedKeys() {
			inst := r.Instances[key]
			write(r.Addr.Instance(key), addrs.NotDeposed, inst.Current)
			for _, deposed := range slices.Sorted(maps.Keys(inst.Deposed)) {
				write(r.Addr.Instance(key), deposed, inst.Deposed[deposed])
			}
		}
	}
	if open {
		w.close(']')
	}
}

func writeInstanceList(w *writer, name string, list []addrs.AbsInstance) {
	w.key(name)
	w.open('[')
	for _, addr := range list {
		w.item()
		w.text(addr.String())
	}
	w.close(']')
}

// addDependencyInstances sets the instances on which objects depend. It ignores objects that are
// not in the state, because another program may have removed them.
func addDependencyInstances(s *states.State, list []dependencyInstancesV4) error {
	p := instanceParser{}
	for _, in := range list {
		addr, err := p.parse(in.Object)
		if err != nil {
			return err
		}
		instances, err := p.parseAll(in.Instances)
		if err != nil {
			return err
		}
		if obj := s.Object(addr, addrs.DeposedKey(in.Deposed)); obj != nil {
			obj.DependencyInstances = instances
		}
	}
	return nil
}

// instanceParser parses addresses of instances. It parses the address of each resource only once.
type instanceParser map[string]addrs.AbsResource

func (p instanceParser) parseAll(texts []string) ([]addrs.AbsInstance, error) {
	out := make([]addrs.AbsInstance, len(texts))
	for i, text := range texts {
		var err error
		out[i], err = p.parse(text)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p instanceParser) parse(text string) (addrs.AbsInstance, error) {
	base, key, plain := cutKey(text)
	if plain {
		if r, known := p[base]; known {
			return r.Instance(key), nil
		}
	}
	addr, err := addrs.ParseInstanceText(text)
	if err != nil {
		return addr, fmt.Errorf("the state has the invalid address %q in %q", text, dependencyInstances)
	}
	if plain && addr.Key == key {
		p[base] = addr.Abs()
	}
	return addr, nil
}

// cutKey splits an address into the address of the resource and the instance key. It returns false
// for keys that have escapes or are invalid.
func cutKey(text string) (base string, key addrs.InstanceKey, ok bool) {
	inner, keyed := strings.CutSuffix(text, "]")
	switch {
	case !keyed:
		return text, addrs.NoKey, true
	case strings.ContainsAny(text, `\$%`):
		return "", addrs.NoKey, false
	}
	if quoted, isString := strings.CutSuffix(inner, `"`); isString {
		i := strings.LastIndex(quoted, `["`)
		if i < 0 {
			return "", addrs.NoKey, false
		}
		return quoted[:i], addrs.StringKey(quoted[i+2:]), true
	}
	i := strings.LastIndexByte(inner, '[')
	if i < 0 {
		return "", addrs.NoKey, false
	}
	n, err := strconv.Atoi(inner[i+1:])
	return inner[:i], addrs.IntKey(n), err == nil && n >= 0
}
