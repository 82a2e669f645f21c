package statefile

import (
	"bytes"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/checks"
	"tofu/internal/states"
)

// Equal reports whether two states have the same encoding, apart from the last configurations of providers;
// SameProviders compares those. It compares the contents of an object only if the states do not share it.
func Equal(a, b *states.State) bool {
	names := a.OutputNames()
	if !slices.Equal(names, b.OutputNames()) {
		return false
	}
	for _, name := range names {
		if !SameOutput(a.Output(name), b.Output(name)) {
			return false
		}
	}
	var c comparer
	count := 0
	for x := range a.Resources() {
		count++
		y := b.Resource(x.Addr)
		if x == y {
			continue
		}
		if y == nil || x.Provider != y.Provider || !maps.EqualFunc(x.Instances, y.Instances, c.instances) {
			return false
		}
	}
	for range b.Resources() {
		count--
	}
	return count == 0 && SameChecks(a, b)
}

// SameOutput reports whether two outputs have the same encoding. Either may be nil.
func SameOutput(x, y *states.Output) bool {
	if x == nil || y == nil {
		return x == y
	}
	return x.Sensitive == y.Sensitive && x.Deprecated == y.Deprecated && sameValue(x.Value, y.Value)
}

// SameObject reports whether two objects have the same encoding. Either may be nil.
func SameObject(a, b *states.Object) bool { return new(comparer).objects(a, b) }

func samePath(p, q cty.Path) bool { return states.ComparePaths(p, q) == 0 && p.Equals(q) }

func sameValue(x, y cty.Value) bool {
	x, _ = x.UnmarkDeep()
	y, _ = y.UnmarkDeep()
	return x.RawEquals(y)
}

// SameChecks reports whether two states have the same check results.
func SameChecks(a, b *states.State) bool {
	var x, y *checks.Results
	if a != nil {
		x = a.Checks
	}
	if b != nil {
		y = b.Checks
	}
	return x == y || slices.EqualFunc(x.Sorted(), y.Sorted(), func(p, q *checks.Block) bool {
		return p.Kind == q.Kind && p.Config == q.Config && p.Status == q.Status &&
			maps.EqualFunc(p.Objects, q.Objects, func(m, n *checks.Object) bool {
				return m.Status == n.Status && slices.Equal(m.Messages, n.Messages)
			})
	})
}

// A comparer compares objects and reuses its buffers for each comparison.
type comparer struct{ left, right []byte }

func (c *comparer) instances(x, y *states.Instance) bool {
	return x.ProviderKey == y.ProviderKey &&
		c.objects(x.Current, y.Current) &&
		maps.EqualFunc(x.Deposed, y.Deposed, c.objects)
}

func (c *comparer) objects(x, y *states.Object) bool {
	if x == y {
		return true
	}
	if x == nil || y == nil {
		return false
	}
	return x.Status == y.Status && x.SchemaVersion == y.SchemaVersion &&
		x.CreateBeforeDestroy == y.CreateBeforeDestroy && x.SkipDestroy == y.SkipDestroy &&
		x.IdentityVersion == y.IdentityVersion &&
		bytes.Equal(x.Private, y.Private) &&
		x.Dependencies.Equal(y.Dependencies) &&
		slices.Equal(x.DependencyInstances, y.DependencyInstances) &&
		slices.EqualFunc(x.SensitivePaths, y.SensitivePaths, samePath) &&
		maps.Equal(x.Flatmap, y.Flatmap) &&
		c.json(x.Identity, y.Identity) && c.json(x.Attrs, y.Attrs)
}

// json reports whether two valid JSON documents are equal except for whitespace.
func (c *comparer) json(x, y []byte) bool {
	if bytes.Equal(x, y) {
		return true
	}
	c.left = appendJSON(c.left[:0], x, 0, false)
	c.right = appendJSON(c.right[:0], y, 0, false)
	return bytes.Equal(c.left, c.right)
}

// SameJSON reports whether two valid JSON documents are equal except for whitespace.
func SameJSON(a, b []byte) bool { return new(comparer).json(a, b) }
