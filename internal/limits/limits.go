// Package limits bounds what is read from files and servers, and what expressions may be and
// compute, so that no input can exhaust the memory or the stack.
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

// These are the limits of expressions, of documents that they decode, and of their values. They are
// far beyond normal use.
const (
	// Depth is the maximum nesting of documents, templates and references, and the maximum number
	// of successive operators. Parsers and evaluators recurse for each level, and the program ends
	// when the stack is full. It is also the limit of encoding/json. A bracket or block in the
	// configuration language counts as ten levels, since it needs up to 25 kB of the 1 GB stack.
	Depth = 10_000
	// Size is the maximum size of a text, a file or a value when written out, in bytes.
	Size = 1 << 28
	// Digits is the maximum number of digits of a number. The cost of parsing and formatting it is
	// quadratic in its length.
	Digits = 100_000
)

// ReadAll reads r to its end and returns the content. If the content is larger than limit bytes, it
// returns an error. what describes the input in the error.
func ReadAll(r io.Reader, limit int64, what string) ([]byte, error) {
	size := int64(0)
	if file, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := file.Stat(); err == nil && info.Size() <= limit {
			// Without this, the buffer would grow step by step, and its content would be copied
			// several times.
			size = info.Size()
		}
	}
	content := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if n, err := content.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	} else if n > limit {
		return nil, TooLarge(what, limit)
	}
	return content.Bytes(), nil
}

// TooLarge returns the error for input that exceeds a limit in bytes. what describes the input.
func TooLarge(what string, limit int64) error {
	if limit >= 1<<20 && limit%(1<<20) == 0 {
		return fmt.Errorf("%s is larger than %d MiB", what, limit>>20)
	}
	return fmt.Errorf("%s is larger than %d bytes", what, limit)
}
