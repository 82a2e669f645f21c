package checks

import (
	"maps"
	"slices"
	"strings"
)

// Status is the result of a condition, of an object or of a whole block. Larger values are worse.
type Status uint8

const (
	Pass    Status = iota + 1
	Unknown        // the condition cannot be decided, or has not been evaluated yet
	Fail
	Error // the condition could not be evaluated
)

// String returns the name of the status in state files and JSON output.
func (s Status) String() string {
	return [...]string{"unknown", "pass", "unknown", "fail", "error"}[s]
}

// ParseStatus parses the name of a status in a state file. It returns Unknown for all other words.
func ParseStatus(word string) Status {
	for s := Pass; s <= Error; s++ {
		if s.String() == word {
			return s
		}
	}
	return Unknown
}

// Kind is the kind of a checked block, named as in state files.
type Kind string

const (
	KindResource Kind = "resource"
	KindOutput   Kind = "output"
	KindCheck    Kind = "check"
	KindVariable Kind = "var"
)

// Results holds the results of one run, by block. The zero value is empty and ready to use.
type Results struct{ blocks map[string]*Block }

// Block is one checked block of the configuration.
type Block struct {
	Kind    Kind
	Config  string // address without instance keys
	Status  Status // Unknown if an earlier error prevented evaluation
	Objects map[string]*Object
}

// Object is one instance of a checked block.
type Object struct {
	Addr     string // absolute address
	Status   Status
	Messages []string // error messages of the conditions that failed
}

// Declare returns the results of a block. It adds the block if necessary, so that the block is
// listed even if it has no objects.
func (r *Results) Declare(kind Kind, config string) *Block {
	key := string(kind) + " " + config
	b := r.blocks[key]
	if b == nil {
		if r.blocks == nil {
			r.blocks = make(map[string]*Block)
		}
		b = &Block{Kind: kind, Config: config, Status: Unknown, Objects: make(map[string]*Object)}
		r.blocks[key] = b
	}
	return b
}

// Block returns the results of one block, or nil if there are none.
func (r *Results) Block(kind Kind, config string) *Block {
	if r == nil {
		return nil
	}
	return r.blocks[string(kind)+" "+config]
}

// Object returns the result of one object, or nil if the object has none.
func (r *Results) Object(kind Kind, config, object string) *Object {
	if r == nil || r.blocks[string(kind)+" "+config] == nil {
		return nil
	}
	return r.blocks[string(kind)+" "+config].Objects[object]
}

// Set records the result of an object and updates the block's status.
func (b *Block) Set(addr string, status Status, messages []string) {
	b.Objects[addr] = &Object{Addr: addr, Status: status, Messages: messages}
	b.Summarize()
}

// Summarize sets the block's status to the worst status of its objects, or to Pass if it has none.
func (b *Block) Summarize() {
	b.Status = Pass
	for _, o := range b.Objects {
		b.Status = max(b.Status, o.Status)
	}
}

// Sorted returns the blocks sorted by kind and address.
func (r *Results) Sorted() []*Block {
	if r == nil {
		return nil
	}
	keys := slices.Sorted(maps.Keys(r.blocks))
	out := make([]*Block, len(keys))
	for i, k := range keys {
		out[i] = r.blocks[k]
	}
	return out
}

// SortedObjects returns the block's objects sorted by address.
func (b *Block) SortedObjects() []*Object {
	return slices.SortedFunc(maps.Values(b.Objects), func(x, y *Object) int { return strings.Compare(x.Addr, y.Addr) })
}
