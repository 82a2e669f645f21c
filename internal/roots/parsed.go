package roots

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tofu/internal/configs"
)

// Parsed lets a parser forget the directories of root modules that are finished. It is safe for
// concurrent use.
type Parsed struct {
	parser *configs.Parser

	mu    sync.Mutex
	users map[string]int // root modules that need a directory, by its path
}

// Parsed returns the directories that p has parsed for some of the root modules. p forgets those of
// all others.
func (e *Estate) Parsed(p *configs.Parser, needed []*Root) *Parsed {
	out := &Parsed{parser: p, users: make(map[string]int)}
	for _, r := range e.Roots {
		for _, dir := range r.directories() {
			out.users[dir] += 0
		}
	}
	for _, r := range needed {
		for _, dir := range r.directories() {
			out.users[dir]++
		}
	}
	for dir, n := range out.users {
		if n == 0 {
			p.Forget(dir)
		}
	}
	return out
}

// Finished forgets the directories of a root module that no other root module needs.
func (p *Parsed) Finished(r *Root) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, dir := range r.directories() {
		p.users[dir]--
		if p.users[dir] == 0 {
			p.parser.Forget(dir)
		}
	}
}

// mostKept is how much source text of root modules stays decoded after an estate is loaded, in
// bytes. Decoded files take about fifteen times as much memory as their text.
const mostKept = 4 << 20

// keeper decides which root modules stay decoded until a run works on them. The others are decoded
// again then, so that a large estate is never in memory as a whole. It is safe for concurrent use.
type keeper struct{ size atomic.Int64 }

// add counts the text of a root module that was read or, if there is too much, lets the parser forget
// the module. Only the root module's own directory and those below it count, because other root
// modules rarely use these. A root module with errors stays, because showing them needs its text.
func (k *keeper) add(p *configs.Parser, r *Root) {
	if r.shared || r.Err != nil {
		return
	}
	var own []string
	size := 0
	for _, dir := range r.directories() {
		if dir == r.Dir || strings.HasPrefix(dir, r.Dir+string(filepath.Separator)) {
			own = append(own, dir)
			size += p.Size(dir)
		}
	}
	if k.size.Add(int64(size)) <= mostKept {
		return
	}
	k.size.Add(-int64(size))
	for _, dir := range own {
		p.Forget(dir)
	}
}

// directories returns the directories of all modules of the root module, without duplicates.
func (r *Root) directories() []string {
	dirs := append([]string{r.Dir}, r.modules...)
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
