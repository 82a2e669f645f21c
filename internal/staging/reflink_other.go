//go:build !linux

package staging

import (
	"errors"
	"os"
)

func reflink(dst, src *os.File) error { return errors.ErrUnsupported }
