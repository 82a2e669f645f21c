package checks

import (
	"maps"
	"slices"
	"strings"
)

// Status is the outcome of a condition, an object or a whole block; a larger one outweighs a smaller one.
type Status uint8

const (
	Pass    Status = iota + 1
	Unknown        // not decided (yet)
	Fail
	Error // the condition itself could not be evaluated
)

// String is the status's name in state files and JSON output.
func (s Status) String() string {
	return [...]string{"unknown", "pass", "unknown", "fail", "error"}[s]
}

// ParseStatus reads a status as state files write it; an unknown word is Unknown.
func ParseStatus(word string) Status {
	for s := Pass; s <= Error; s++ {
		if s.String() == word {
			return s
		}
	}
	return Unknown
}

// Kind is what a checked block is, named as in state files.
type Kind string

const (
	KindResource Kind = "resource"
	KindOutput   Kind = "output"
	KindCheck    Kind = "check"
	KindVariable Kind = "var"
)

// Results are the outcomes of one run, by block. The zero value is empty.
type Results struct{ blocks map[string]*Block }

// Block is one checked block of the configuration.
type Block struct {
	Kind    Kind
	Config  string // address without instance keys
	Status  Status // Unknown when no object was looked at because of an earlier problem
	Objects map[string]*Object
}

// Object is one instance of a checked block.
type Object struct {
	Addr     string // absolute address
	Status   Status
	Messages []string // of failed conditions
}

// Declare records a block, so that it is listed even when it turns out to have no objects, and gives it.
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

// Object gives the outcome of one object; nil for none.
func (r *Results) Object(kind Kind, config, object string) *Object {
	if r == nil || r.blocks[string(kind)+" "+config] == nil {
		return nil
	}
	return r.blocks[string(kind)+" "+config].Objects[object]
}

// Set records an object's outcome and brings the block's status up to date.
func (b *Block) Set(addr string, status Status, messages []string) {
	b.Objects[addr] = &Object{Addr: addr, Status: status, Messages: messages}
	b.Summarise()
}

// Summarise makes the block's status the worst of its objects'; without objects it is Pass.
func (b *Block) Summarise() {
	b.Status = Pass
	for _, o := range b.Objects {
		b.Status = max(b.Status, o.Status)
	}
}

// Sorted lists the blocks by kind and address.
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

// SortedObjects lists a block's objects by address.
func (b *Block) SortedObjects() []*Object {
	return slices.SortedFunc(maps.Values(b.Objects), func(x, y *Object) int { return strings.Compare(x.Addr, y.Addr) })
}
