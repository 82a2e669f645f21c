package statefile

import (
	"encoding/json"
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
// entries, these instances are part of the object. The list also has the dependencies by resource
// that an object does not list, because they close a cycle; see [states.Listed].

const dependencyInstances = "dependency_instances"

// dependencyInstancesV4 holds the instances on which one object depends, and the resources on which
// it depends but that it does not list.
type dependencyInstancesV4 struct {
	Object    string          `json:"object"`
	Deposed   string          `json:"deposed"`
	Instances []string        `json:"instances"`
	Unlisted  json.RawMessage `json:"unlisted"`
}

// writeDependencyInstances writes the instances on which the objects of resources depend. It writes
// nothing if there are none.
func writeDependencyInstances(w *writer, resources []*states.Resource, listed *states.Listed) {
	open := false
	write := func(addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object) {
		if obj == nil {
			return
		}
		var unlisted *states.Dependencies
		if list := listed.Acyclic(addr.Config(), obj.Dependencies); list != obj.Dependencies {
			unlisted = obj.Dependencies.Without(list)
		}
		if len(obj.DependencyInstances) == 0 && unlisted == nil {
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
		if len(obj.DependencyInstances) > 0 {
			writeInstanceList(w, "instances", obj.DependencyInstances)
		}
		if unlisted != nil {
			w.key("unlisted")
			w.addresses(unlisted)
		}
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

// addDependencyInstances sets the instances on which objects depend, and adds the resources that they
// don't list. It ignores objects that are not in the state, because another program may have removed
// them.
func (r *reader) addDependencyInstances() error {
	p := instanceParser{}
	type parts struct{ listed, unlisted *states.Dependencies }
	wholes := map[parts]*states.Dependencies{}
	for _, in := range r.instances {
		addr, err := p.parse(in.Object)
		if err != nil {
			return err
		}
		instances, err := p.parseAll(in.Instances)
		if err != nil {
			return err
		}
		unlisted, err := r.decoder.dependencies(in.Unlisted)
		if err != nil {
			return err
		}
		obj := r.file.State.Object(addr, addrs.DeposedKey(in.Deposed))
		if obj == nil {
			continue
		}
		obj.DependencyInstances = instances
		if unlisted != nil {
			key := parts{obj.Dependencies, unlisted}
			if wholes[key] == nil {
				wholes[key] = key.listed.Union(unlisted)
			}
			obj.Dependencies = wholes[key]
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
