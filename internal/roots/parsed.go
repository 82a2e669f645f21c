package roots

import (
	"slices"
	"sync"

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

// directories returns the directories of all modules of the root module, without duplicates.
func (r *Root) directories() []string {
	dirs := append([]string{r.Dir}, r.modules...)
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
