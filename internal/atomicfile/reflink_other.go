//go:build !linux

package atomicfile

import (
	"errors"
	"os"
)

func reflink(dst, src *os.File) error { return errors.ErrUnsupported }
