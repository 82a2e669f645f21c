package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tofu/internal/atomicfile"
)

const temporarySuffix = ".tmp"

// replace writes content to the file at path. It writes a temporary file and renames it, so that the
// file is replaced completely or not at all. If lock is set and the system can keep locks on a
// renamed file, it returns the new file open and locked. If the file can't be replaced (its
// directory isn't writable, or it is a mount point, a device or a pipe), replace overwrites it in
// place, and a crash may leave a part of the new snapshot. No change is lost, because the journal
// is kept until the whole snapshot is written.
//
// The file keeps its mode and owner. If it is a copy of another file, original describes that file,
// and only users who can read that file can read the copy. Otherwise original is nil.
func replace(path string, content io.ReadSeeker, original fs.FileInfo, lock bool) (*os.File, error) {
	target, err := resolve(path)
	if err != nil {
		return nil, err
	}
	before, err := os.Stat(target)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err == nil && before.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case err == nil && !before.Mode().IsRegular():
		return nil, overwrite(target, content) // a rename would replace a device or pipe with a regular file
	}
	look := looks(before, original)
	f, err := createTemporary(target, look.initial())
	if errors.Is(err, fs.ErrPermission) && before != nil {
		return nil, overwrite(target, content)
	}
	if err != nil {
		return nil, err
	}
	keep := lock && renamesLockedFiles
	err = fill(f, content, look, keep)
	if err == nil && !keep {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), target)
		if err != nil && before != nil && atomicfile.IsMountPoint(err) {
			f.Close()
			os.Remove(f.Name())
			return nil, overwrite(target, content)
		}
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	atomicfile.SyncDir(filepath.Dir(target))
	if !keep {
		return nil, nil
	}
	return f, nil
}

// overwrite writes content to a file in place.
func overwrite(path string, content io.ReadSeeker) error {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return atomicfile.Overwrite(path, data)
}

// resolve follows symbolic links as atomicfile.Resolve does. It returns an error if a link leads to a
// directory that doesn't exist, such as one on a disk that isn't mounted.
func resolve(path string) (string, error) {
	target, err := atomicfile.Resolve(path)
	if err != nil {
		return "", err
	}
	for dir := filepath.Dir(target); !exists(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); target == path && err != nil {
			continue // not a link, so the directory can be created
		}
		if missing, err := atomicfile.Resolve(dir); err == nil {
			return "", fmt.Errorf("%s leads through a symbolic link to the directory %s, which doesn't exist: create it, "+
				"or remove the link", path, missing)
		}
	}
	return target, nil
}

// appearance holds the mode of a file, and the file to copy the owner from. If owner is nil, the
// file gets the mode and owner of any new file.
type appearance struct {
	mode  fs.FileMode
	owner fs.FileInfo
}

// looks returns the appearance of a new file. The parameter before describes the file that it
// replaces, and original the file that it copies. Both may be nil.
func looks(before, original fs.FileInfo) appearance {
	switch {
	case before == nil && original == nil:
		return appearance{}
	case before == nil:
		return appearance{original.Mode().Perm(), original}
	case original == nil:
		return appearance{before.Mode().Perm(), before}
	}
	return appearance{before.Mode().Perm() & original.Mode().Perm(), before}
}

// initial returns the mode of the file until its content is written.
func (a appearance) initial() fs.FileMode {
	if a.owner == nil {
		return 0o666
	}
	return 0o600
}

// fill writes and syncs the temporary file, sets its mode and owner, and locks it.
func fill(f *os.File, content io.Reader, look appearance, lock bool) error {
	if lock {
		if err := lockState(f); err != nil {
			return err
		}
	}
	if look.owner != nil {
		if err := f.Chmod(look.mode); err != nil {
			return err
		}
		atomicfile.KeepOwner(f, look.owner)
	}
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	return f.Sync()
}

// createTemporary creates a file in the same directory as target. The umask applies to its mode.
func createTemporary(target string, mode fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(target)
	for i := range 10_000 {
		name := fmt.Sprintf("%s.%s.%d-%d%s", dir, base, os.Getpid(), i, temporarySuffix)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s.%s.*%s: too many temporary files; delete them", dir, base, temporarySuffix)
}

// probe returns an error if replace wouldn't work.
func probe(path string) error {
	target, err := resolve(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && !info.Mode().IsRegular():
		return probeOpen(target)
	}
	var f *os.File
	made, terr := createIn(filepath.Dir(target), func() (err error) {
		f, err = createTemporary(target, 0o666)
		return err
	})
	defer made.remove()
	if terr != nil {
		if err == nil && probeOpen(target) == nil {
			return nil
		}
		return terr
	}
	f.Close()
	return os.Remove(f.Name())
}

func probeOpen(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// folders are directories that were created for a file, outermost last. They are removed if the
// file isn't needed after all.
type folders []string

// createIn creates a directory and calls create, which creates a file in it. It returns the
// directories that it created. It tries again if the directory disappears in between, because the
// process that created it has removed it.
func createIn(dir string, create func() error) (folders, error) {
	for try := 0; ; try++ {
		var made folders
		for d := filepath.Clean(dir); !exists(d) && d != filepath.Dir(d); d = filepath.Dir(d) {
			made = append(made, d)
		}
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = create()
		}
		if !errors.Is(err, fs.ErrNotExist) || try == maxTries {
			return made, err
		}
	}
}

// maxTries is much larger than the number of times that a directory is likely to be removed in a
// row.
const maxTries = 1000

// remove removes the directories that are still empty.
func (f folders) remove() {
	for _, dir := range f {
		if os.Remove(dir) != nil {
			return
		}
	}
}
