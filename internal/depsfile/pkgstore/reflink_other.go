//go:build !linux

package pkgstore

import (
	"errors"
	"os"
)

func reflink(dst, src *os.File) error { return errors.ErrUnsupported }
