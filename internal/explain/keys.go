package explain

import (
	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
)

// aliasRead holds the keys of the instances that a reference reads through an alias, such as a local
// that is a[*].id, while the alias is followed. Then of is not nil.
type aliasRead struct {
	of   *reads.Resource
	keys []addrs.InstanceKey
}

// keysOf returns the keys of the instances that a reference selects. of is what has the instances.
// It returns false if the keys are not known.
func (s scope) keysOf(ref lang.InstanceRef, of reads.Keys) ([]addrs.InstanceKey, bool) {
	if s.keys == nil {
		return nil, false
	}
	list, known := s.keys(reads.Keyed{Refs: lang.Instances{ref}, Of: of})
	var out []addrs.InstanceKey
	for _, read := range list {
		out = append(out, read.Key)
	}
	return out, known
}

// aliasKeys returns the keys of the instances that a reference to an alias reads, or false if they are
// not known.
func (t *tracer) aliasKeys(
	refs *lang.Refs, ref *addrs.Reference, v *reads.Value, in scope,
) (keys []addrs.InstanceKey, known bool) {
	if one, ok := refs.Element(ref); ok {
		keys, known = in.keysOf(one, v.Alias.Of.Keys())
	}
	if !known {
		keys, known = t.read((reads.IndexedRead{Of: v.Alias.Of, Via: v}).Name())
	}
	return keys, known
}

// read returns the keys of the instances that the block reads by computed indexes of a resource or an
// alias. It returns false if that is not known.
func (t *tracer) read(of addrs.Resource) (keys []addrs.InstanceKey, known bool) {
	for _, read := range t.reads {
		if read.Resource != of {
			continue
		}
		known = true
		if read.Key != addrs.NoKey {
			keys = append(keys, read.Key)
		}
	}
	return keys, known
}

// withKeys returns the instances of a resource with the given keys, or the whole resource if there are
// none.
func withKeys(of addrs.Target, keys []addrs.InstanceKey) []addrs.Target {
	if len(keys) == 0 {
		return []addrs.Target{of}
	}
	out := make([]addrs.Target, len(keys))
	for i, key := range keys {
		out[i] = of
		out[i].Key, out[i].HasKey = key, true
	}
	return out
}

// keyIn returns the key of a changed instance, or NoKey if the target is a whole resource.
func keyIn(targets []addrs.Target, changed addrs.InstanceKey) addrs.InstanceKey {
	if !targets[0].HasKey {
		return addrs.NoKey
	}
	return changed
}
