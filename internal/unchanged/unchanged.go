// Package unchanged finds resource blocks that need neither validation nor a plan of their own.
//
// The result of planning a block is a function of its inputs: its text, what it refers to, directly or
// through values, its objects in the state, and the circumstances: everything in the configuration
// except the text of resource blocks, the variables, the providers. The hash of these inputs is the
// block's sum. If a plan finds nothing to do for a block and reports no warning, its sum is remembered.
// A later plan leaves out the blocks with remembered sums, provided that it also leaves out all
// resources that they refer to. Values of these blocks are then their stored objects. In the same way,
// a validation leaves out the blocks that were valid before; their sums don't include objects. A provider
// configuration has a sum, too; its provider is not started if it was valid before and nothing else needs
// it.
//
// Whatever is not proven is planned as usual. A block has no sum if it reads data sources, ephemeral
// values or files, calls functions of providers or functions whose results differ between calls, has
// conditions, provisioners or triggers, selects single instances of other blocks by computed keys, or
// refers to a block without a sum. The sums need not be secret or current: wrong ones match nothing.
package unchanged

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/states"
)

// sum is the hash of the inputs of a block.
type sum [16]byte

// Blocks knows the sums of earlier runs. It implements engine.Unchanged.
type Blocks struct {
	// Circumstances are the inputs of all blocks other than the configuration's text: for example the
	// values of variables, the workspace, and the packages of providers.
	Circumstances []byte
	// Steady reports whether the plans and validations of a plugin depend only on their requests and the
	// circumstances. Blocks of other plugins are not left out. It may be nil.
	Steady func(addrs.Provider) bool
	// Source returns the text of a file of the configuration.
	Source func(name string) []byte

	known, found map[sum]bool
	files        map[string][]byte // sums of files without the text of resource blocks
	last         *search
}

// header is the first line of the encoded sums.
const header = "tofu unchanged blocks 1\n"

// Load adds encoded sums.
func (b *Blocks) Load(text []byte) error {
	rest, ok := bytes.CutPrefix(text, []byte(header))
	if !ok || len(rest)%len(sum{}) != 0 {
		return errors.New("it is not a list of unchanged blocks")
	}
	b.known = make(map[sum]bool, len(rest)/len(sum{}))
	for one := range slices.Chunk(rest, len(sum{})) {
		b.known[sum(one)] = true
	}
	return nil
}

// Changed reports whether the recorded sums differ from the loaded ones.
func (b *Blocks) Changed() bool { return !maps.Equal(b.known, b.found) }

// Encode returns the recorded sums.
func (b *Blocks) Encode() []byte {
	out := make([]byte, 0, len(header)+len(b.found)*len(sum{}))
	out = append(out, header...)
	for _, s := range slices.SortedFunc(maps.Keys(b.found), func(x, y sum) int { return bytes.Compare(x[:], y[:]) }) {
		out = append(out, s[:]...)
	}
	return out
}

// Find implements engine.Unchanged.
func (b *Blocks) Find(g *graph.Graph, stored *states.State, free func(*graph.Resource) bool) engine.Known {
	s := &search{Blocks: b, g: g, stored: stored, free: free, blocks: make([]result, len(g.Resources)),
		values: map[*graph.Value]result{}, modules: map[*graph.Module]result{},
		providers: map[*graph.Provider]result{}}
	s.circumstances = s.hashCircumstances()
	b.last = s
	out := engine.Known{Blocks: make([]bool, len(g.Resources)), Providers: map[*graph.Provider]bool{}}
	for i, r := range g.Resources {
		out.Blocks[i] = s.resource(r).kept
	}
	for p := range s.providers {
		if at := s.configuration(p); at.kept {
			out.Providers[p] = true
		}
	}
	return out
}

// Record remembers the sums of the blocks that the last graph has found to be the same.
func (b *Blocks) Record(same func(*graph.Resource) bool) {
	if b.found == nil {
		b.found = map[sum]bool{}
	}
	for i, r := range b.last.g.Resources {
		if at := b.last.blocks[i]; at.clear && (at.kept || same(r)) {
			b.found[at.sum] = true
		}
	}
	for p := range b.last.providers {
		if at := b.last.configuration(p); at.clear {
			b.found[at.sum] = true
		}
	}
}

// hashCircumstances hashes what all sums depend on.
func (s *search) hashCircumstances() sum {
	h := newHash(string(s.Circumstances))
	blocks := map[string][]*configs.Resource{}
	if s.files == nil {
		s.files = map[string][]byte{}
	}
	root := s.g.Root.Config.Module.Dir
	var add func(c *configs.Config)
	add = func(c *configs.Config) {
		h.text(c.Path.String())
		for _, name := range c.Module.Files {
			if s.files[name] == nil {
				if len(blocks) == 0 {
					s.blocksByFile(blocks)
				}
				s.files[name] = s.hashFile(name, blocks[name])
			}
			relative, err := filepath.Rel(root, name)
			if err != nil {
				relative = name
			}
			h.text(relative)
			h.text(string(s.files[name]))
		}
		for _, name := range slices.Sorted(maps.Keys(c.Children)) {
			add(c.Children[name])
		}
	}
	add(s.g.Root.Config)
	return h.sum()
}

// blocksByFile collects the blocks of managed resources whose text belongs only to their own sums.
func (s *search) blocksByFile(out map[string][]*configs.Resource) {
	seen := map[*configs.Resource]bool{}
	for _, r := range s.g.Resources {
		if c := r.Config; c != nil && !seen[c] && r.Addr.Resource.Mode == addrs.Managed {
			seen[c] = true
			if _, ok := c.Config.(*hclsyntax.Body); ok {
				out[c.Range.Filename] = append(out[c.Range.Filename], c)
			}
		}
	}
	for _, of := range out {
		slices.SortFunc(of, func(x, y *configs.Resource) int { return cmp.Compare(x.Range.Start.Byte, y.Range.Start.Byte) })
	}
}

// hashFile hashes the text of a file without the given blocks.
func (s *search) hashFile(name string, without []*configs.Resource) []byte {
	h, src, at := sha256.New(), s.Source(name), 0
	for _, c := range without {
		text, start := s.textOf(c)
		if text == nil || start < at {
			continue
		}
		h.Write(src[at:start])
		h.Write([]byte{0}) // where a block was; no file contains this byte
		at = start + len(text)
	}
	h.Write(src[at:])
	return h.Sum(nil)
}

// textOf returns the text of a block, and where it starts in its file. It returns nil if the text is
// unknown.
func (s *search) textOf(c *configs.Resource) (text []byte, start int) {
	body, ok := c.Config.(*hclsyntax.Body)
	src := s.Source(c.Range.Filename)
	if !ok || body.EndRange.Filename != c.Range.Filename {
		return nil, 0
	}
	start, end := c.Range.Start.Byte, body.EndRange.End.Byte
	if start < 0 || end <= start || end > len(src) {
		return nil, 0
	}
	return src[start:end], start
}

// hasher hashes texts so that different sequences have different sums.
type hasher struct{ hash.Hash }

func newHash(kind string) hasher {
	h := hasher{sha256.New()}
	h.text(kind)
	return h
}

func (h hasher) number(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

func (h hasher) text(s string) { h.bytes([]byte(s)) }

func (h hasher) bytes(b []byte) {
	h.number(int64(len(b)))
	h.Write(b)
}

func (h hasher) flags(flags ...bool) {
	for _, f := range flags {
		n := byte(0)
		if f {
			n = 1
		}
		h.Write([]byte{n})
	}
}

func (h hasher) sum() sum { return sum(h.Sum(nil)[:len(sum{})]) }
