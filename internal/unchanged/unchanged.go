// Package unchanged finds resource blocks that need neither validation nor a plan of their own.
//
// The result of planning a block is a function of its inputs: its text, what it refers to, directly or
// through values, its objects in the state, and the circumstances: the providers, and everything in the
// configuration except the text of resource blocks and of the expressions of variables, locals and
// outputs. The hash of these inputs is the block's sum. If a plan finds nothing to do for a block and
// warns of nothing in it, its sum is remembered. A later plan leaves out the blocks with remembered sums,
// provided that it also leaves out all resources that they refer to. Values of these blocks are then
// their stored objects. In the same way, a validation leaves out the blocks that were valid before; their
// sums don't include objects. A provider configuration has a sum, too; its provider is not started if it
// was valid before and nothing else needs it.
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
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/lazyblock"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// sum is the hash of the inputs of a block.
type sum [16]byte

// Blocks knows the sums of earlier runs. It implements engine.Unchanged.
type Blocks struct {
	// Circumstances are the inputs of all blocks other than the configuration's text: for example the
	// workspace, and the packages of providers.
	Circumstances []byte
	// Variables are the values of the root module's variables that are set, encoded in any form.
	Variables map[string][]byte
	// Steady reports whether the plans and validations of a plugin depend only on their requests and the
	// circumstances. Blocks of other plugins are not left out. It may be nil.
	Steady func(addrs.Provider) bool
	// Source returns the text of a file of the configuration.
	Source func(name string) []byte
	// Planned returns the change of an instance in the plan that has recorded the known blocks. It may be
	// nil; then plans don't list these instances.
	Planned func(addrs.AbsInstance) *plans.InstanceChange
	// Warnings returns the warnings of the run so far. Blocks with warnings are not recorded. It may be nil.
	Warnings func() tfdiags.Diagnostics

	known, found map[sum]bool
	files        map[string][]byte // sums of files without the texts that belong to other sums
	last         *search
	unsure       bool // whether nothing was recorded of the last graph
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
func (b *Blocks) Changed() bool { return !b.unsure && !maps.Equal(b.known, b.found) }

// Encode returns the recorded sums.
func (b *Blocks) Encode() []byte {
	out := make([]byte, 0, len(header)+len(b.found)*len(sum{}))
	out = append(out, header...)
	for _, s := range slices.SortedFunc(maps.Keys(b.found), func(x, y sum) int { return bytes.Compare(x[:], y[:]) }) {
		out = append(out, s[:]...)
	}
	return out
}

// Change implements engine.Unchanged.
func (b *Blocks) Change(addr addrs.AbsInstance) *plans.InstanceChange {
	if b.Planned == nil {
		return nil
	}
	return b.Planned(addr)
}

// Find implements engine.Unchanged.
func (b *Blocks) Find(g *graph.Graph, stored *states.State, free func(*reads.Resource) bool) engine.Known {
	s := &search{Blocks: b, g: g, stored: stored, free: free, blocks: make([]result, len(g.Resources)),
		values: map[*reads.Value]result{}, modules: map[*reads.Module]result{},
		providers: map[*reads.Provider]result{}}
	s.circumstances = s.hashCircumstances()
	s.hashOwn()
	b.last = s
	out := engine.Known{Blocks: make([]bool, len(g.Resources)), Providers: map[*reads.Provider]bool{}}
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
func (b *Blocks) Record(same func(*reads.Resource) bool) {
	if b.found == nil {
		b.found = map[sum]bool{}
	}
	warned, ok := b.warned()
	if b.unsure = !ok; b.unsure {
		return
	}
	for i, r := range b.last.g.Resources {
		if at := b.last.blocks[i]; at.clear && (at.kept || same(r)) && !warned[r.Addr] {
			b.found[at.sum] = true
		}
	}
	for p := range b.last.providers {
		if at := b.last.configuration(p); at.clear {
			b.found[at.sum] = true
		}
	}
}

// warned returns the blocks with warnings. Failed checks are not those of a block: each run evaluates them.
// ok is false if a warning may come from something else that could be left out.
func (b *Blocks) warned() (out map[addrs.ConfigResource]bool, ok bool) {
	if b.Warnings == nil {
		return nil, true
	}
	out = map[addrs.ConfigResource]bool{}
	for _, d := range b.Warnings() {
		if _, check := d.Extra.(tfdiags.CheckRule); check {
			continue
		}
		if of, ok := addrs.ParseConfigResourceText(d.Address); ok {
			out[of] = true
			continue
		}
		addr, err := addrs.ParseInstanceText(d.Address)
		if err != nil {
			return nil, false
		}
		out[addr.Config()] = true
	}
	return out, true
}

// hashCircumstances hashes what all sums depend on.
func (s *search) hashCircumstances() sum {
	h := newHash(string(s.Circumstances))
	var holes map[string][]hole
	if s.files == nil {
		s.files = map[string][]byte{}
	}
	root := s.g.Root.Config.Module.Dir
	var add func(c *configs.Config)
	add = func(c *configs.Config) {
		h.text(c.Path.String())
		for _, name := range c.Module.Files {
			if s.files[name] == nil {
				if holes == nil {
					holes = s.holes()
				}
				s.files[name] = s.hashFile(name, holes[name])
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

// hole is a part of a file that belongs to the sum of a block or a value.
type hole struct {
	start, end int
	filler     string // what the rest of the file has instead
}

// holes finds the blocks of managed resources, and the expressions of values, in all files.
func (s *search) holes() map[string][]hole {
	out := map[string][]hole{}
	for _, r := range s.g.Resources {
		if c := r.Config; c != nil && r.Addr.Resource.Mode == addrs.Managed {
			if at, ok := s.rangeOf(c); ok {
				out[at.Filename] = append(out[at.Filename], hole{at.Start.Byte, at.End.Byte, "\n"})
			}
		}
	}
	for _, v := range s.g.Values {
		if at, ok := s.rangeOfValue(v); ok {
			filler := "0"
			if v.Kind == reads.Local {
				filler = "\n"
			}
			out[at.Filename] = append(out[at.Filename], hole{at.Start.Byte, at.End.Byte, filler})
		}
	}
	for _, of := range out {
		slices.SortFunc(of, func(x, y hole) int { return cmp.Compare(x.start, y.start) })
	}
	return out
}

// hashFile hashes a file without the given parts. Comments and empty lines don't count.
func (s *search) hashFile(name string, without []hole) []byte {
	src := s.Source(name)
	rest, at := make([]byte, 0, 1024), 0
	for _, part := range without {
		if part.start >= at { // a file that several calls share has the same parts several times
			rest = append(append(rest, src[at:part.start]...), part.filler...)
			at = part.end
		}
	}
	rest = append(rest, src[at:]...)
	h := newHash("file")
	if strings.HasSuffix(name, ".json") {
		h.bytes(rest)
		return h.Sum(nil)
	}
	tokens, _ := hclsyntax.LexConfig(rest, name, hcl.InitialPos) // what can't be read is a token, too
	for _, token := range tokens {
		if token.Type != hclsyntax.TokenComment && token.Type != hclsyntax.TokenNewline {
			h.number(int64(token.Type))
			h.bytes(token.Bytes)
		}
	}
	return h.Sum(nil)
}

// rangeOf returns where a resource block is. ok is false if its text is unknown, or not in the native
// syntax.
func (s *search) rangeOf(c *configs.Resource) (at hcl.Range, ok bool) {
	end, ok := lazyblock.End(c.Config)
	if !ok {
		return at, false
	}
	return s.valid(hcl.RangeBetween(c.Range, end), c.Range.Filename == end.Filename)
}

// rangeOfValue returns where a local is, or the expression of a variable or output.
func (s *search) rangeOfValue(v *reads.Value) (at hcl.Range, ok bool) {
	if v.Expr == nil {
		return at, false
	}
	if v.Kind == reads.Local {
		local := v.Module.Config.Module.Locals[v.Name]
		_, ok := local.Expr.(hclsyntax.Expression)
		return s.valid(local.Range, ok)
	}
	expr, ok := v.Expr.Expression.(hclsyntax.Expression)
	if !ok {
		return at, false
	}
	return s.valid(expr.Range(), true)
}

func (s *search) valid(at hcl.Range, ok bool) (hcl.Range, bool) {
	return at, ok && at.Start.Byte >= 0 && at.Start.Byte < at.End.Byte && at.End.Byte <= len(s.Source(at.Filename))
}

// textAt returns the text at a valid range.
func (s *search) textAt(at hcl.Range) []byte { return s.Source(at.Filename)[at.Start.Byte:at.End.Byte] }

// hasher hashes texts so that different sequences have different sums.
type hasher struct {
	hash.Hash
	next []byte // memory for what is hashed next
}

func newHash(kind string) *hasher {
	h := &hasher{Hash: sha256.New()}
	h.text(kind)
	return h
}

func (h *hasher) number(n int64) {
	h.next = binary.LittleEndian.AppendUint64(h.next[:0], uint64(n))
	h.Write(h.next)
}

func (h *hasher) text(s string) {
	h.number(int64(len(s)))
	h.next = append(h.next[:0], s...)
	h.Write(h.next)
}

func (h *hasher) bytes(b []byte) {
	h.number(int64(len(b)))
	h.Write(b)
}

func (h *hasher) flags(flags ...bool) {
	h.next = h.next[:0]
	for _, f := range flags {
		n := byte(0)
		if f {
			n = 1
		}
		h.next = append(h.next, n)
	}
	h.Write(h.next)
}

func (h *hasher) sum() sum { return sum(h.Sum(h.next[:0])[:len(sum{})]) }
