package roots

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/memo"
	"tofu/internal/session"
	"tofu/internal/version"
)

// Cache keeps what was read of the root modules of an estate, for a later load: in a file, or in memory (see
// Again). That load reads only what has changed, with the same result as without a cache: it compares the
// contents of all files that a root module was read from, what roots.tofu.hcl says about it, and the environment.
// A root module with errors, or with what can't be compared, is read again each time. A damaged file, or one of
// another version, counts as empty. A nil Cache is empty.
type Cache struct {
	path  string
	known map[string]*cached // by key
	sums  *sums

	mu      sync.Mutex
	next    map[string]*cached
	taken   int
	missed  bool // a root module was read
	environ string
	vars    map[string]string // the environment
	places  places
}

// cached holds what was read of a root module, and names the files it was read from.
type cached struct {
	Given string   `json:"given"` // hash of what is not in files
	From  []string `json:"from"`  // the files and directories
	Sum   string   `json:"sum"`   // hash of their contents

	State     *storedPlace       `json:"state"`
	Reads     []cachedRead       `json:"reads,omitempty"`
	Outputs   []string           `json:"outputs,omitempty"`
	Sensitive []string           `json:"sensitive,omitempty"`
	Variables []string           `json:"variables,omitempty"`
	Modules   []string           `json:"modules,omitempty"`
	Calls     Calls              `json:"calls"`
	HasOwn    bool               `json:"has_own,omitempty"`
	Used      map[string]Outputs `json:"used,omitempty"`
	Paths     []string           `json:"paths,omitempty"`
}

type cachedRead struct {
	User    string       `json:"user"`
	Range   hcl.Range    `json:"range"`
	Outputs Outputs      `json:"outputs"`
	State   *storedPlace `json:"state"`
}

// OpenCache returns the cache for some directories. It is in a file below dir, whose name depends on the
// directories and the working directory. environ is the environment, in the form of os.Environ.
func OpenCache(dir string, dirs, environ []string) *Cache {
	c := NewCache(environ)
	c.path = filepath.Join(dir, hashOf(Absolute("."), dirs)+".json")
	var content cacheFile
	if text, err := atomicfile.Read(c.path); err == nil {
		content.decode(text)
	}
	c.known, c.sums, c.places.same = content.Roots, newSums(content.Files), content.Environ == c.environ
	return c
}

// NewCache returns an empty cache in memory.
func NewCache(environ []string) *Cache {
	c := &Cache{next: make(map[string]*cached), environ: hashOf(slices.Sorted(slices.Values(environ))),
		vars: make(map[string]string), sums: newSums(nil)}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		c.vars[name] = value
	}
	return c
}

// Again returns a cache for another load in the same process, with what c has after a load. texts are those that
// the parser reads instead of some files, by absolute path.
func (c *Cache) Again(texts map[string][]byte) *Cache {
	out := &Cache{known: c.next, next: make(map[string]*cached), environ: c.environ, vars: c.vars, sums: newSums(c.sums.now)}
	out.places.same, out.sums.texts = true, texts
	return out
}

func hashOf(values ...any) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", values)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// cacheFile is the content of the file, after a line with its hash.
type cacheFile struct {
	Environ string             `json:"environ"` // hash of the environment
	Roots   map[string]*cached `json:"roots"`
	Files   map[string]stamp   `json:"files"`
}

// cacheHead returns the first line of a file with the given rest.
func cacheHead(rest []byte) string {
	sum := sha256.Sum256(rest)
	return fmt.Sprintf("1 %s %s\n", strings.ReplaceAll(version.Build(), "\n", " "), hex.EncodeToString(sum[:]))
}

func (f *cacheFile) decode(text []byte) {
	_, rest, _ := strings.Cut(string(text), "\n")
	if !strings.HasPrefix(string(text), cacheHead([]byte(rest))) || json.Unmarshal([]byte(rest), f) != nil {
		*f = cacheFile{}
	}
}

// Save writes the file, unless nothing has changed. It keeps only the root modules that were loaded since OpenCache.
func (c *Cache) Save() error {
	if c == nil || !c.missed && !c.sums.changed && c.places.same && len(c.next) == len(c.known) {
		return nil
	}
	rest, err := json.Marshal(cacheFile{c.environ, c.next, c.sums.now})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.path), 0o700)
	}
	if err == nil { // only for the user, because settings of backends may be secrets
		err = atomicfile.Write(c.path, append([]byte(cacheHead(rest)), rest...), 0o600)
	}
	return err
}

// Taken returns how many root modules were taken from the cache.
func (c *Cache) Taken() int { return c.taken }

// read reads a root module, or takes it from the cache.
func (c *Cache) read(s *session.Session, r *Root, read func()) {
	if c == nil {
		read()
		return
	}
	key := r.Dir + "\x00" + r.Name
	if found := c.known[key]; found != nil && c.matches(s, r, found) && c.restore(s, r, found) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.next[key] = found
		c.taken++
		return
	}
	var files []string
	s.FileRead = func(path string) { files = append(files, r.below(path)...) }
	read()
	s.FileRead = nil
	one := c.store(s, r, files)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.missed = c.missed || one != nil
	if one != nil {
		c.next[key] = one
	}
}

// below returns the path of a file, or those of a directory and all directories below it.
func (r *Root) below(path string) (dirs []string) {
	_ = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		r.opaque = r.opaque || at != path && (err != nil || e.Type()&fs.ModeSymlink != 0)
		if at == path || err == nil && e.IsDir() {
			dirs = append(dirs, at)
		}
		return nil
	})
	return dirs
}

// matches reports whether everything is as when a root module was read.
func (c *Cache) matches(s *session.Session, r *Root, found *cached) bool {
	if _, err := r.Inputs(unknown); err != nil || c.given(s, r, found.Variables) != found.Given {
		return false
	}
	sum, ok := c.sums.of(found.From)
	return ok && sum.hash == found.Sum
}

// restore sets what reading sets. It returns false if the environment doesn't allow that.
func (c *Cache) restore(s *session.Session, r *Root, found *cached) bool {
	reads := make([]Read, len(found.Reads))
	for i, f := range found.Reads {
		id, err := c.places.identify(s, f.State)
		if err != nil {
			return false
		}
		f.State.ID = id
		reads[i] = Read{Kind: RemoteState, User: f.User, Range: f.Range, Outputs: f.Outputs, State: id}
	}
	id, err := c.places.identify(s, found.State)
	if err != nil {
		return false
	}
	found.State.ID = id
	r.State, r.Reads, r.Outputs, r.sensitive, r.modules = id, reads, found.Outputs, found.Sensitive, found.Modules
	r.calls, r.hasOwn, r.used, r.paths = found.Calls, found.HasOwn, found.Used, append([]string{}, found.Paths...)
	r.variables = slices.Clone(found.Variables)
	return true
}

// store returns what was read, or nil if it can't be cached. files are the files that functions have read.
func (c *Cache) store(s *session.Session, r *Root, files []string) *cached {
	if r.Err != nil || r.opaque || len(r.Moves) > 0 {
		return nil
	}
	r.paths = r.constantPaths(&c.sums.read)
	out := &cached{Given: c.given(s, r, r.variables), State: r.place.stored(r.State), Outputs: r.Outputs, Sensitive: r.sensitive,
		Variables: r.variables, Modules: r.modules, Calls: r.calls, HasOwn: r.hasOwn, Used: r.used, Paths: r.paths}
	if out.State == nil {
		return nil
	}
	for _, read := range r.Reads {
		one := cachedRead{read.User, read.Range, read.Outputs, read.place.stored(read.State)}
		if one.State == nil {
			return nil
		}
		out.Reads = append(out.Reads, one)
	}
	out.From = slices.Concat(r.Directories(), r.calls.Dirs, files, r.Module().Preset.VarFiles,
		s.DataFiles(), []string{filepath.Join(r.Dir, configs.DefaultTestDirectory)})
	slices.Sort(out.From)
	out.From = slices.Compact(out.From)
	sum, ok := c.sums.of(out.From)
	if !ok || sum.recent {
		return nil
	}
	out.Sum = sum.hash
	return out
}

// given returns a hash of what a root module is read with beside files.
func (c *Cache) given(s *session.Session, r *Root, variables []string) string {
	h := sha256.New()
	preset := r.Module().Preset
	fmt.Fprintf(h, "%q %q %q %t %t", preset.Workspace, preset.VarFiles, s.DataDir, r.IsDeclared(), r.shared)
	fmt.Fprintf(h, " %q %q %q", c.vars["TF_WORKSPACE"], c.vars["TF_DATA_DIR"], c.vars["HOME"])
	if r.Declared != nil {
		fmt.Fprintf(h, " %t", r.Declared.BackendRange.Empty())
	}
	printSorted(h, preset.Backend, func(text string) string { return text })
	printSorted(h, preset.Variables, func(v configs.Given) string {
		return fmt.Sprintf("%#v %q %#v %v", v.Val, v.Text, v.Unknown, v.Undeclared)
	})
	for _, name := range slices.Sorted(slices.Values(variables)) {
		value, is := c.vars["TF_VAR_"+name]
		fmt.Fprintf(h, " %q %t %q", name, is, value)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func printSorted[T any](h io.Writer, m map[string]T, text func(T) string) {
	fmt.Fprint(h, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(h, " %q %q", name, text(m[name]))
	}
}

// constantPaths returns the paths of the files that expressions in the modules of a root module read. read keeps
// the results by directory.
func (r *Root) constantPaths(read *memo.Map[string, []string]) []string {
	if r.paths != nil {
		return r.paths
	}
	out := []string{}
	for i, dir := range append([]string{r.Dir}, r.modules...) {
		key := dir
		if i == 0 {
			key += "\x00root"
		}
		files, _ := read.Do(key, func() ([]string, error) { return filesRead(dir, i == 0), nil })
		out = append(out, files...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
