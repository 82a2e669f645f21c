package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"tofu/internal/tfdiags"
)

// Listen answers the clients of a Unix socket until ctx ends, and until their requests have ended. Only
// the user can connect. A socket that a server has left behind is replaced.
func (s *Server) Listen(ctx context.Context, path string) error {
	listener, err := listen(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	closeAtEnd := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer closeAtEnd()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accepting a connection: %w", err)
		}
		clients.Go(func() { _ = s.Serve(ctx, conn, false) }) // the client notices the error, too
	}
}

// listen returns a listener at a path. The socket appears there when only the user has rights to it.
func listen(path string) (net.Listener, error) {
	failed := func(err error) error {
		return tfdiags.Errorf("Can't listen on the socket", "%s: %s. Choose another path.", path, err)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, failed(errors.New("there is a file, which is not a socket"))
		}
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
			return nil, failed(errors.New("another server listens there"))
		}
		if err := os.Remove(path); err != nil {
			return nil, failed(err)
		}
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".tofu-")
	if err != nil {
		return nil, failed(err)
	}
	defer os.RemoveAll(private)
	first := filepath.Join(private, "s")
	listener, err := net.Listen("unix", first)
	if err != nil {
		return nil, failed(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(first, 0o600), os.Rename(first, path)); err != nil {
		_ = listener.Close()
		return nil, failed(err)
	}
	return listener, nil
}
