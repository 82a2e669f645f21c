package roots

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tofu/internal/configs"
)

// Parsed makes a parser forget the directories that only finished root modules use. It is safe for
// concurrent use.
type Parsed struct {
	parser *configs.Parser

	mu    sync.Mutex
	users map[string]int // number of unfinished root modules that use a directory, by path
}

// Parsed returns a Parsed for the root modules in needed. It makes p forget the directories that
// none of these root modules use.
func (e *Estate) Parsed(p *configs.Parser, needed []*Root) *Parsed {
	out := &Parsed{parser: p, users: make(map[string]int)}
	for _, r := range e.Roots {
		for _, dir := range r.Directories() {
			out.users[dir] += 0
		}
	}
	for _, r := range needed {
		for _, dir := range r.Directories() {
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

// Finished forgets the directories of a root module, except those that unfinished root modules use.
func (p *Parsed) Finished(r *Root) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, dir := range r.Directories() {
		p.users[dir]--
		if p.users[dir] == 0 {
			p.parser.Forget(dir)
		}
	}
}

// mostKept is the maximum size of source text, in bytes, whose parsed form stays in memory after an
// estate is loaded. Parsed files take about fifteen times as much memory as their text.
const mostKept = 4 << 20

// keeper decides which root modules stay parsed until a run processes them. The others are parsed
// again when they are processed, so a large estate is never in memory as a whole. It is safe for
// concurrent use.
type keeper struct{ size atomic.Int64 }

// add counts the text of a root module that was read. If the total is too large, it makes the
// parser forget the root module. Only the root module's own directory and directories below it are
// counted and forgotten, because other root modules rarely use these. A root module with errors
// stays, because showing the errors needs its text. So does a root module that shares its directory
// with others.
func (k *keeper) add(p *configs.Parser, r *Root) {
	if r.shared || r.Err != nil {
		return
	}
	var own []string
	size := 0
	for _, dir := range r.Directories() {
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

// Directories returns the directories of all modules of the root module, without duplicates.
func (r *Root) Directories() []string {
	dirs := append([]string{r.Dir}, r.modules...)
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
