package funcs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// matchingFiles returns the paths of the files that match a pattern. Symbolic links are followed, but ** enters no directory
// below itself: links to parents would multiply the paths without end.
func matchingFiles(pattern string) ([]string, error) {
	if !strings.Contains(pattern, "**") {
		return doublestar.FilepathGlob(pattern, doublestar.WithFilesOnly())
	}
	base, rest := doublestar.SplitPattern(filepath.ToSlash(filepath.Clean(pattern)))
	tree := &acyclicTree{StatFS: os.DirFS(base).(fs.StatFS), base: base, repeats: namedSegments(rest), dirs: make(map[string]fs.FileInfo)}
	matches, err := doublestar.Glob(tree, rest, doublestar.WithFilesOnly())
	if tree.err != nil {
		err = tree.err // Glob takes it for a directory that can't be read
	}
	for i := range matches {
		matches[i] = filepath.FromSlash(path.Join(base, matches[i]))
	}
	return matches, err
}

// namedSegments returns how many directories the segments of a pattern other than ** can lead through. The last segment
// matches files, unless it is **.
func namedSegments(pattern string) int {
	segments := strings.Split(pattern, "/")
	count := 0
	for _, s := range segments[:len(segments)-1] {
		if s != "**" {
			count++
		}
	}
	return count
}

// acyclicTree is a file system without the content of directories that lie below themselves.
type acyclicTree struct {
	fs.StatFS
	base    string
	repeats int                    // how many directories of a path may be repeated nevertheless
	dirs    map[string]fs.FileInfo // by path; nil for what is no directory
	entries int                    // how many were read
	err     error
}

// ReadDir implements fs.ReadDirFS.
func (t *acyclicTree) ReadDir(name string) ([]fs.DirEntry, error) {
	if t.err != nil || t.repeated(name) > t.repeats {
		return nil, nil
	}
	entries, err := fs.ReadDir(t.StatFS, name)
	if t.entries += len(entries); t.entries > maxElements {
		t.err = fmt.Errorf("more than %d names lie below %s; use a pattern that goes through fewer directories", maxElements, t.base)
		return nil, t.err
	}
	return entries, err
}

// repeated counts the directories on the way to a path, itself included, that came before on that way.
func (t *acyclicTree) repeated(name string) int {
	way := []fs.FileInfo{t.dir(".")}
	count := 0
	for i, end := range segmentEnds(name) {
		here := t.dir(name[:end])
		for _, above := range way[:i+1] {
			if os.SameFile(above, here) {
				count++
				break
			}
		}
		way = append(way, here)
	}
	return count
}

// segmentEnds returns where the segments of a path end.
func segmentEnds(name string) []int {
	if name == "." {
		return nil
	}
	var ends []int
	for i, c := range []byte(name) {
		if c == '/' {
			ends = append(ends, i)
		}
	}
	return append(ends, len(name))
}

// dir returns the description of a directory.
func (t *acyclicTree) dir(name string) fs.FileInfo {
	info, known := t.dirs[name]
	if !known {
		info, _ = t.Stat(name)
		t.dirs[name] = info
	}
	return info
}
