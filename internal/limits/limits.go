// Package limits bounds how much is read from files and servers, so that input of any size can't
// exhaust the memory.
package limits

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
)

// State is the maximum size of a state snapshot in bytes. It is about ten times the size of the
// largest snapshots in practice. It prevents files that aren't snapshots from filling the memory.
const State = 1 << 30

// ReadAll reads r to its end and returns the content. If the content is larger than limit bytes, it
// returns an error. what describes the input in the error.
func ReadAll(r io.Reader, limit int64, what string) ([]byte, error) {
	var buf bytes.Buffer
	if file, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := file.Stat(); err == nil && info.Size() <= limit {
			// Without this, the buffer would grow step by step, and its content would be copied
			// several times.
			buf.Grow(int(info.Size()) + bytes.MinRead)
		}
	}
	if _, err := buf.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	}
	if int64(buf.Len()) > limit {
		return nil, TooLarge(what, limit)
	}
	return buf.Bytes(), nil
}

// TooLarge returns the error for input that exceeds a limit in bytes. what describes the input.
func TooLarge(what string, limit int64) error {
	if limit >= 1<<20 && limit%(1<<20) == 0 {
		return fmt.Errorf("%s is larger than %d MiB", what, limit>>20)
	}
	return fmt.Errorf("%s is larger than %d bytes", what, limit)
}
