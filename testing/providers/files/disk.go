package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"
)

// disk is the root directory of the provider. Its methods take slash-separated paths relative to
// the root directory, which must have been checked with checkPath.
type disk struct{ root string }

// content is the text and the mode of a file.
type content struct {
	text string
	mode string // such as "0644"
}

func (c content) sha256() string {
	sum := sha256.Sum256([]byte(c.text))
	return hex.EncodeToString(sum[:])
}

// checkPath returns an error unless a path is inside the root directory and in its shortest form.
func checkPath(p string) error {
	switch {
	case p == "":
		return errors.New("the path is empty")
	case !filepath.IsLocal(filepath.FromSlash(p)):
		return fmt.Errorf("the path %q leads out of the root folder; give a path relative to it", p)
	case filepath.ToSlash(filepath.Clean(p)) != p:
		return fmt.Errorf("the path %q can be written shorter: %q", p, filepath.ToSlash(filepath.Clean(p)))
	}
	return nil
}

// parseMode parses an octal file mode.
func parseMode(mode string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(mode, 8, 32)
	if err != nil || n > 0o777 || len(mode) != 4 {
		return 0, fmt.Errorf("%q is not a file mode; write four octal digits, like 0644", mode)
	}
	return fs.FileMode(n), nil
}

func (d disk) path(p string) string { return filepath.Join(d.root, filepath.FromSlash(p)) }

// read returns the content of a file. The error wraps fs.ErrNotExist if the file does not exist.
func (d disk) read(p string) (content, error) {
	info, err := os.Stat(d.path(p))
	if err != nil {
		return content{}, err
	}
	if !info.Mode().IsRegular() {
		return content{}, fmt.Errorf("%s is not a file", p)
	}
	data, err := os.ReadFile(d.path(p))
	if err != nil {
		return content{}, err
	}
	if !utf8.Valid(data) {
		return content{}, fmt.Errorf("%s is not text in UTF-8", p)
	}
	return content{text: string(data), mode: fmt.Sprintf("%04o", info.Mode().Perm())}, nil
}

// create writes a new file. It replaces an existing file only if overwrite is set.
func (d disk) create(p string, c content, overwrite bool) error {
	if !overwrite {
		f, err := os.OpenFile(d.path(p), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s already exists; import it, or set overwrite = true", p)
		}
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return d.write(p, c)
}

// write replaces a file atomically.
func (d disk) write(p string, c content) error {
	mode, err := parseMode(c.mode)
	if err != nil {
		return err
	}
	to := d.path(p)
	f, err := os.CreateTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(c.text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// remove deletes a file. A missing file is not an error.
func (d disk) remove(p string) error {
	if err := os.Remove(d.path(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// mkdir creates a directory. The parent directory must exist.
func (d disk) mkdir(p, mode string) error {
	m, err := parseMode(mode)
	if err != nil {
		return err
	}
	if err := os.Mkdir(d.path(p), m); err != nil {
		return err
	}
	return os.Chmod(d.path(p), m) // sets the mode regardless of the umask
}

// folderMode returns the mode of a directory. The error wraps fs.ErrNotExist if the directory does
// not exist.
func (d disk) folderMode(p string) (string, error) {
	info, err := os.Stat(d.path(p))
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", p)
	}
	return fmt.Sprintf("%04o", info.Mode().Perm()), nil
}

// rmdir deletes a directory, with its contents if force is set.
func (d disk) rmdir(p string, force bool) error {
	if force {
		return os.RemoveAll(d.path(p))
	}
	return d.remove(p)
}
