package lsp

import (
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tofu/internal/configs"
)

// index holds the names in all files of the open root modules. It is immutable.
type index struct {
	files    map[string]*parsed
	bySymbol map[symbol][]occurrence // definitions first, then by file and position
	called   map[calledKey]string
	local    map[string]bool // directories of the user, not downloaded modules
}

// calledKey identifies a module call, or a data source that reads the outputs of another root module,
// in a directory.
type calledKey struct{ dir, name string }

// newIndex returns the index of root modules, and of those that read the outputs of others: remote has
// the directories that the data sources of a root module read, by name. read returns the parsed file at a
// path, or nil; entries returns the paths of the files in a directory.
func newIndex(roots []*view, remote map[string]map[string]string, read func(string) *parsed,
	entries func(dir string) []string) *index {
	x := &index{files: map[string]*parsed{}, bySymbol: map[symbol][]occurrence{}, called: map[calledKey]string{},
		local: map[string]bool{}}
	for _, v := range roots {
		x.addRoot(v, read, entries)
	}
	for reader, sources := range remote {
		dirs := []string{reader}
		for name, dir := range sources {
			x.called[calledKey{reader, remoteCall(name)}] = dir
			dirs = append(dirs, dir)
		}
		for _, dir := range dirs {
			x.local[dir] = true
			for _, name := range entries(dir) {
				if configs.IsConfigFile(name) {
					x.addFile(name, read)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		for _, o := range x.files[name].occurrences {
			if s, ok := x.resolve(o); ok {
				x.bySymbol[s] = append(x.bySymbol[s], o)
			}
		}
	}
	for _, list := range x.bySymbol {
		sort.SliceStable(list, func(i, j int) bool { return list[i].role == definition && list[j].role != definition })
	}
	return x
}

func (x *index) addRoot(v *view, read func(string) *parsed, entries func(dir string) []string) {
	if v.config == nil {
		return
	}
	for m := range v.config.AllModules() {
		if m.Module == nil {
			continue
		}
		dir := v.abs(m.Module.Dir)
		x.local[dir] = x.local[dir] || m.Local()
		for name, child := range m.Children {
			if child.Module != nil {
				x.called[calledKey{dir, name}] = v.abs(child.Module.Dir)
			}
		}
		for _, name := range m.Module.Files {
			x.addFile(v.abs(name), read)
		}
	}
	for _, dir := range []string{v.root, filepath.Join(v.root, configs.DefaultTestDirectory)} {
		for _, name := range entries(dir) {
			if strings.HasSuffix(name, ".tfvars") && dir == v.root || isTestFile(name) {
				x.addFile(name, read)
			}
		}
	}
}

func (x *index) addFile(name string, read func(string) *parsed) {
	if x.files[name] == nil {
		if p := read(name); p != nil {
			x.files[name] = p
		}
	}
}

// resolve returns the symbol that an occurrence names, which may be in another directory.
func (x *index) resolve(o occurrence) (symbol, bool) {
	if o.call == "" {
		return o.symbol, true
	}
	dir, ok := x.called[calledKey{o.dir, o.call}]
	return symbol{dir, o.of}, ok
}

// at returns the narrowest occurrence at an offset in a file.
func (x *index) at(path string, offset int) (found occurrence, s symbol, ok bool) {
	p := x.files[path]
	if p == nil {
		return found, s, false
	}
	end := sort.Search(len(p.occurrences), func(i int) bool { return p.occurrences[i].span.Start.Byte > offset })
	for _, o := range p.occurrences[:end] {
		if offset > o.span.End.Byte || ok && o.span.End.Byte-o.span.Start.Byte >= found.span.End.Byte-found.span.Start.Byte {
			continue
		}
		if of, known := x.resolve(o); known {
			found, s, ok = o, of, true
		}
	}
	return found, s, ok
}

// definition returns the place where a symbol is defined.
func (x *index) definition(s symbol) (occurrence, bool) {
	list := x.bySymbol[s]
	if len(list) == 0 || list[0].role != definition {
		return occurrence{}, false
	}
	return list[0], true
}
