package staging

import (
	"errors"
	"io"
	"os"
)

// CopyFile makes a new file with the content of another one, and its permissions. Where the file system can, the two share their blocks
// until one is written to; with link they may be one file with two names, which suits what nobody writes to.
func CopyFile(from, to string, link bool) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	create := func() (*os.File, error) {
		return os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	}
	dst, err := create()
	if err != nil {
		return err
	}
	if reflink(dst, src) == nil {
		return dst.Close()
	}
	if link {
		if err := errors.Join(dst.Close(), os.Remove(to)); err != nil {
			return err
		}
		if os.Link(from, to) == nil {
			return nil
		}
		if dst, err = create(); err != nil {
			return err
		}
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
