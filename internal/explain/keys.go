package explain

import (
	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// aliasRead holds the keys of the instances that a reference reads through an alias, such as a local
// that is a[*].id, while the alias is followed. Then of is not nil.
type aliasRead struct {
	of   *reads.Resource
	keys []addrs.InstanceKey
}

// aliasKeys returns the keys of the instances that a reference to an alias reads, or false if they are
// not known.
func (t *tracer) aliasKeys(
	refs *lang.Refs, ref *addrs.Reference, v *reads.Value, in reads.Scope,
) (keys []addrs.InstanceKey, known bool) {
	if one, ok := refs.Element(ref); ok {
		keys, known = in.Selected(reads.KeyedRead{Of: v.Alias.Of, Refs: lang.Instances{one}})
	}
	if !known {
		keys, known = plans.KeysRead(t.reads, reads.KeyedRead{Of: v.Alias.Of, Via: v}.Name())
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
