package lsp

import (
	"path/filepath"
	"slices"

	"tofu/internal/configs"
	"tofu/internal/roots"
	"tofu/internal/tfdiags"
)

// estate knows which root modules use which directories. It is immutable.
type estate struct {
	users map[string][]string // root modules by the directory of a module that they use, both absolute
	// remote has, by root module, the root modules whose outputs its data sources read, by their names.
	remote map[string]map[string]string
}

// newEstate searches the directories that the editor has open.
func newEstate(folders []string, fsys configs.FS) *estate {
	e := &estate{users: map[string][]string{}}
	parser := configs.NewParser(fsys)
	found, _, err := roots.Modules(folders, parser)
	if err != nil && found == nil {
		return e
	}
	calls := map[string]roots.Calls{}
	callers := &roots.Callers{}
	for i := range found {
		d := &found[i]
		c := roots.CallsOf(parser, d.Dir)
		calls[filepath.Clean(d.Dir)] = c
		callers.Add(d, c)
	}
	for i := range found {
		d := &found[i]
		module, err := parser.Module(d.Dir, tfdiags.Drop)
		own := module != nil && roots.HasOwn(module, filepath.Join(d.Dir, ".terraform"))
		if !d.Configured || !callers.IsRoot(d, own, err != nil) {
			continue
		}
		seen := map[string]bool{}
		for queue := []string{filepath.Clean(d.Dir)}; len(queue) > 0; queue = queue[1:] {
			dir := queue[0]
			if seen[dir] {
				continue
			}
			seen[dir] = true
			e.users[dir] = append(e.users[dir], filepath.Clean(d.Dir))
			for _, called := range calls[dir].Dirs {
				queue = append(queue, filepath.Clean(called))
			}
		}
	}
	for _, list := range e.users {
		slices.Sort(list)
	}
	return e
}

// maxRoots is the number of root modules that are planned for one module that they share.
const maxRoots = 3

// of returns the root modules that use a directory, but not more than maxRoots. The directory itself
// counts as one if no root module is known to use it.
func (e *estate) of(dir string) []string {
	list := e.users[dir]
	if len(list) == 0 {
		return []string{dir}
	}
	return list[:min(len(list), maxRoots)]
}
