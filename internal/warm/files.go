package warm

import (
	"bytes"
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
	"tofu/internal/roots"
)

// files remembers which files a parser has read, so that it can be found out which have changed. It is
// safe for concurrent use.
type files struct {
	workDir string // names are relative to it

	mu     sync.Mutex
	read   map[string]seenFile // by name
	listed map[string]listing  // by directory
}

// listing has what counts of a directory: its configuration files, and its directories that are not hidden, in
// which there may be root modules.
type listing struct{ files, dirs []string }

// seenFile is a file as it was read.
type seenFile struct {
	text  []byte
	given bool // whether the text was given, instead of read from disk
	stamp atomicfile.Stamp
	at    time.Time // when it was read
}

// view is the file system of one parser: the files on disk with the given texts instead of some of
// them. The texts don't change.
type view struct {
	*files
	texts map[string][]byte // by absolute name
}

func (f *files) abs(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(f.workDir, name)
}

// ReadFile implements configs.FS.
func (v *view) ReadFile(name string) ([]byte, error) {
	seen, err := v.load(name)
	if err == nil && roots.IsSource(name) {
		v.mu.Lock()
		v.read[name] = seen
		v.mu.Unlock()
	}
	return seen.text, err
}

func (v *view) load(name string) (seenFile, error) {
	if text, ok := v.texts[v.abs(name)]; ok {
		return seenFile{text: text, given: true}, nil
	}
	seen := seenFile{at: time.Now()}
	if info, err := os.Stat(name); err == nil {
		seen.stamp = atomicfile.StampOf(info)
	}
	var err error
	seen.text, err = configs.OS{}.ReadFile(name)
	return seen, err
}

// ReadDir implements configs.FS. Given texts of files that don't exist are entries, too.
func (v *view) ReadDir(dir string) ([]fs.DirEntry, error) {
	entries, err := configs.OS{}.ReadDir(dir)
	at := v.abs(dir)
	for name := range v.texts {
		exists := func(e fs.DirEntry) bool { return e.Name() == filepath.Base(name) }
		if filepath.Dir(name) == at && !slices.ContainsFunc(entries, exists) {
			entries, err = append(entries, givenEntry(filepath.Base(name))), nil
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	v.mu.Lock()
	defer v.mu.Unlock()
	v.listed[filepath.Clean(dir)] = listingOf(entries)
	return entries, err
}

func listingOf(entries []fs.DirEntry) (out listing) {
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir() && !strings.HasPrefix(name, "."):
			out.dirs = append(out.dirs, name)
		case roots.IsSource(name):
			out.files = append(out.files, name)
		}
	}
	return out
}

// givenEntry is the directory entry of a text without a file.
type givenEntry string

func (e givenEntry) Name() string               { return string(e) }
func (e givenEntry) IsDir() bool                { return false }
func (e givenEntry) Type() fs.FileMode          { return 0 }
func (e givenEntry) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// stale returns the directories whose files are no longer as they were read, and forgets that they
// were read. more reports whether there are other directories than before in one of them.
func (v *view) stale() (out map[string]bool, more bool) {
	v.mu.Lock()
	read, listed := maps.Clone(v.read), maps.Clone(v.listed)
	v.mu.Unlock()
	out = map[string]bool{}
	for dir, was := range listed {
		entries, _ := v.ReadDir(dir)
		now := listingOf(entries)
		out[dir] = !slices.Equal(was.files, now.files)
		more = more || !slices.Equal(was.dirs, now.dirs)
	}
	maps.DeleteFunc(out, func(_ string, stale bool) bool { return !stale })
	for name, seen := range read {
		if dir := filepath.Dir(name); !out[dir] && v.changed(name, seen) {
			out[dir] = true
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.listed, func(dir string, _ listing) bool { return out[dir] })
	maps.DeleteFunc(v.read, func(name string, _ seenFile) bool { return out[filepath.Dir(name)] })
	return out, more
}

// changed reports whether the content of a file differs from what was read.
func (v *view) changed(name string, seen seenFile) bool {
	if _, given := v.texts[v.abs(name)]; !given && !seen.given {
		info, err := os.Stat(name)
		if err != nil {
			return true
		}
		if atomicfile.StampOf(info) == seen.stamp && seen.stamp.Settled(seen.at) {
			return false
		}
	}
	now, err := v.load(name)
	if err != nil || !bytes.Equal(now.text, seen.text) {
		return true
	}
	now.text = seen.text // the parser has this one
	v.mu.Lock()
	v.read[name] = now
	v.mu.Unlock()
	return false
}
