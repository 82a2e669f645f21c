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

// matchingFiles returns the paths of the files that match a pattern. It follows symbolic links.
// However, ** does not descend into a directory that is its own ancestor, because a link to a
// parent would yield endless paths.
func matchingFiles(pattern string) ([]string, error) {
	if !strings.Contains(pattern, "**") {
		return doublestar.FilepathGlob(pattern, doublestar.WithFilesOnly())
	}
	base, rest := doublestar.SplitPattern(filepath.ToSlash(filepath.Clean(pattern)))
	tree := &acyclicTree{StatFS: os.DirFS(base).(fs.StatFS), base: base, repeats: namedSegments(rest),
		dirs: make(map[string]fs.FileInfo)}
	matches, err := doublestar.Glob(tree, rest, doublestar.WithFilesOnly())
	if tree.err != nil {
		err = tree.err // Glob ignores this error as it does for an unreadable directory
	}
	for i := range matches {
		matches[i] = filepath.FromSlash(path.Join(base, matches[i]))
	}
	return matches, err
}

// fixedPart returns the directory above all files that match a pattern.
func fixedPart(pattern string) string {
	base, _ := doublestar.SplitPattern(filepath.ToSlash(filepath.Clean(pattern)))
	return filepath.FromSlash(base)
}

// namedSegments returns the number of directory segments in a pattern other than **. The last
// segment matches files, unless it is **.
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

// acyclicTree is a file system in which a directory appears empty if its path repeats more than the
// allowed number of directories.
type acyclicTree struct {
	fs.StatFS
	base    string
	repeats int                    // maximum number of repeated directories in a path; see repeated
	dirs    map[string]fs.FileInfo // results of Stat by path; nil if it failed
	entries int                    // number of directory entries read so far
	err     error
}

// ReadDir implements fs.ReadDirFS.
func (t *acyclicTree) ReadDir(name string) ([]fs.DirEntry, error) {
	if t.err != nil || t.repeated(name) > t.repeats {
		return nil, nil
	}
	entries, err := fs.ReadDir(t.StatFS, name)
	t.entries += len(entries)
	if t.entries > maxElements {
		t.err = fmt.Errorf(
			"the search would read more than %d files and directories below %s; use a pattern that matches fewer "+
				"directories", maxElements, t.base)
		return nil, t.err
	}
	return entries, err
}

// repeated returns the number of directories in a path, including name itself, that also occur
// earlier in the path. A symbolic link to a parent directory repeats it.
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

// segmentEnds returns the end offsets of a path's segments.
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

// dir returns the FileInfo of a directory, or nil if it can't be read.
func (t *acyclicTree) dir(name string) fs.FileInfo {
	info, known := t.dirs[name]
	if !known {
		info, _ = t.Stat(name)
		t.dirs[name] = info
	}
	return info
}
