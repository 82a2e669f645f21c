// Package transfer copies a large file from a server to a local file, in several attempts if
// necessary.
//
// Invariants: an attempt continues where the previous one ended if the source supports that.
// Otherwise it starts again with an empty file. When an attempt returns nil, the whole file has
// been written.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrInterrupted means that the content ended early, and that another attempt may succeed.
var ErrInterrupted = errors.New("the transfer was interrupted")

// Part is the content of the remote file from position Start to its end.
type Part struct {
	Body  io.ReadCloser
	Start int64 // position of the first byte: the requested position, or 0
	Size  int64 // size of the whole file in bytes; negative if unknown
}

// File is a file that is being transferred.
type File struct {
	// Open requests the content from a position to the end. If the source doesn't support that, it
	// requests the whole content.
	Open func(ctx context.Context, from int64) (*Part, error)
	// Dst receives the content. It must be empty before the first attempt.
	Dst *os.File
	// Limit is the maximum size in bytes.
	Limit int64
	// Progress receives the number of bytes written so far and the total number (0 if unknown). The
	// number of bytes written decreases when an attempt starts from the beginning. Progress may be
	// nil.
	Progress func(done, total int64)

	written int64
}

// Written returns the number of bytes that Dst contains.
func (f *File) Written() int64 { return f.written }

// Attempt requests the rest of the file and writes it. If ctx is canceled, it returns the cause of
// the cancellation.
func (f *File) Attempt(ctx context.Context) error {
	part, err := f.Open(ctx, f.written)
	if err != nil {
		return err
	}
	defer part.Body.Close()
	if part.Size > f.Limit {
		return fmt.Errorf("the file has %d bytes, more than the limit of %d", part.Size, f.Limit)
	}
	f.written = part.Start
	if err := f.Dst.Truncate(f.written); err != nil {
		return err
	}
	if _, err := f.Dst.Seek(f.written, io.SeekStart); err != nil {
		return err
	}
	return f.copy(ctx, part)
}

func (f *File) copy(ctx context.Context, part *Part) error {
	buf := make([]byte, 1<<17)
	for {
		n, err := part.Body.Read(buf)
		if n > 0 {
			if err := f.write(buf[:n], part.Size); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
		case err == io.EOF && (part.Size < 0 || f.written == part.Size):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case part.Size >= 0:
			return fmt.Errorf("%w after %d of %d bytes: %w", ErrInterrupted, f.written, part.Size, err)
		default:
			return fmt.Errorf("%w after %d bytes: %w", ErrInterrupted, f.written, err)
		}
	}
}

func (f *File) write(data []byte, size int64) error {
	f.written += int64(len(data))
	switch {
	case f.written > f.Limit:
		return fmt.Errorf("the file has more than the limit of %d bytes", f.Limit)
	case size >= 0 && f.written > size:
		return fmt.Errorf("the server announced %d bytes but sent more", size)
	}
	if _, err := f.Dst.Write(data); err != nil {
		return err
	}
	if f.Progress != nil {
		f.Progress(f.written, max(size, 0))
	}
	return nil
}
