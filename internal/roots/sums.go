package roots

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/memo"
)

// sums computes hashes of files and directories. It is safe for concurrent use.
type sums struct {
	began time.Time
	known map[string]stamp  // from earlier
	texts map[string][]byte // that count instead of some files, by absolute path
	read  memo.Map[string, []string]
	found memo.Map[string, sum]

	mu      sync.Mutex
	now     map[string]stamp
	changed bool // whether now has what known has not
}

// sum is the hash of what is at a path.
type sum struct {
	hash   string
	recent bool // it changed so recently that it may be newer than what was parsed
}

// stamp is the hash of a file that has not changed as long as the rest is the same.
type stamp struct {
	Size   int64  `json:"s"`
	Mod    int64  `json:"m"` // time of modification, in ns since 1970
	Number string `json:"n"` // see atomicfile.Number
	Hash   string `json:"h"`
}

// doubt is the time in which a file may have changed twice without another time of modification.
const doubt = 2 * time.Second

func newSums(known map[string]stamp) *sums {
	return &sums{began: time.Now().Add(-doubt), known: known, now: make(map[string]stamp)}
}

// of returns the hash of several files and directories. It returns false if one of them can't be compared.
func (s *sums) of(paths []string) (all sum, ok bool) {
	h := sha256.New()
	for _, path := range paths {
		one, err := s.found.Do(path, func() (sum, error) { return s.at(path) })
		if err != nil {
			return sum{}, false
		}
		fmt.Fprintf(h, "%q %s\n", path, one.hash)
		all.recent = all.recent || one.recent
	}
	all.hash = hex.EncodeToString(h.Sum(nil)[:16])
	return all, true
}

func (s *sums) recent(info fs.FileInfo) bool { return !info.ModTime().Before(s.began) }

// at returns the hash of a file, or of the names in a directory and the files in it that are configuration.
// The hash of a given text covers the file, too, because functions read that.
func (s *sums) at(path string) (sum, error) {
	out, err := s.onDisk(path)
	if len(s.texts) == 0 || err != nil {
		return out, err
	}
	path = Absolute(path)
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		if name == path || filepath.Dir(name) == path && IsSource(name) {
			out.hash = hashOf(out.hash, name, string(s.texts[name]))
		}
	}
	return out, nil
}

func (s *sums) onDisk(path string) (sum, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sum{hash: "none"}, nil
	case err != nil:
		return sum{}, err
	case !info.IsDir():
		return s.file(path, info)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return sum{}, err
	}
	h, out := sha256.New(), sum{recent: s.recent(info)}
	for _, e := range entries {
		name := e.Name()
		if !IsSource(name) {
			fmt.Fprintf(h, "%q %s\n", name, e.Type())
			continue
		}
		one, err := s.at(filepath.Join(path, name))
		if err != nil {
			return sum{}, err
		}
		fmt.Fprintf(h, "%q %s %s\n", name, e.Type(), one.hash)
		out.recent = out.recent || one.recent
	}
	out.hash = hex.EncodeToString(h.Sum(nil)[:16])
	return out, nil
}

func (s *sums) file(path string, info fs.FileInfo) (sum, error) {
	now := stamp{Size: info.Size(), Mod: info.ModTime().UnixNano(), Number: atomicfile.Number(info)}
	known := s.known[path]
	now.Hash = known.Hash
	if known.Hash == "" || now != known {
		text, err := atomicfile.Read(path)
		if err != nil {
			return sum{}, err
		}
		h := sha256.Sum256(text)
		now.Hash = hex.EncodeToString(h[:16])
	}
	if s.recent(info) {
		return sum{hash: now.Hash, recent: true}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now[path], s.changed = now, s.changed || now != known
	return sum{hash: now.Hash}, nil
}

// IsSource reports whether a file is one from which configuration is read: a file of blocks, or of variables.
func IsSource(name string) bool {
	if name == depsfile.FileName {
		return false
	}
	for _, end := range []string{".hcl", ".tfvars", ".tfvars.json"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return configs.IsConfigFile(name)
}
