package query

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Imports collects the blocks that import the objects of a query. Add may be called concurrently.
type Imports struct {
	mu     sync.Mutex
	byList map[string][]importBlocks
}

// importBlocks are the blocks of one object.
type importBlocks struct {
	object objectKey
	text   string
}

// objectKey is the same for the same object, whichever list block finds it. Another provider
// configuration can have another object with the same identity.
type objectKey struct {
	typ, provider, identity string
}

// Add adds an object that was found with Run.Generate.
func (i *Imports) Add(o *Object) {
	key := objectKey{typ: o.List.Type, provider: o.Provider, identity: o.Identity.GoString()}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byList == nil {
		i.byList = make(map[string][]importBlocks)
	}
	i.byList[o.List.Addr] = append(i.byList[o.List.Addr], importBlocks{key, o.Resource + "\n" + o.Import + "\n"})
}

// Text returns the blocks of all objects, sorted by list block, or "" if there are no objects. An
// object can be imported only once, so of an object that was found repeatedly it returns the first
// blocks; repeated counts the other ones.
func (i *Imports) Text() (blocks string, repeated int) {
	seen := make(map[objectKey]bool)
	var out strings.Builder
	for _, list := range slices.Sorted(maps.Keys(i.byList)) {
		for _, found := range i.byList[list] {
			if seen[found.object] {
				repeated++
				continue
			}
			seen[found.object] = true
			out.WriteString(found.text)
		}
	}
	if blocks = strings.TrimSpace(out.String()); blocks != "" {
		blocks += "\n"
	}
	return blocks, repeated
}
