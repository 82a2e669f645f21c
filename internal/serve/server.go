package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/exp/jsonrpc2"

	"tofu/internal/warm"
	"tofu/internal/warm/frames"
)

// Protocol is the version of the protocol.
const Protocol = 1

// Server answers the requests of clients.
type Server struct {
	core    *warm.Core
	workDir string
	options warm.Options // of all root modules; those of a client are added

	methods map[string]method

	mu     sync.Mutex
	owners map[string]*client // who has given a text, by absolute name
}

// New returns a server. Paths in requests are relative to workDir.
func New(core *warm.Core, workDir string, options warm.Options) *Server {
	return &Server{core: core, workDir: workDir, options: options, methods: methods(),
		owners: map[string]*client{}}
}

// client is a connection.
type client struct {
	*Server
	conn    *jsonrpc2.Connection
	ctx     context.Context // ends with the connection
	end     context.CancelFunc
	running sync.WaitGroup

	watching bool
}

// Serve answers one client and returns when it has gone and its requests have ended. The connection is
// closed when ctx ends. If finishes is set, requests in progress go on after the end of the input;
// otherwise they end as after an interrupt.
func (s *Server) Serve(ctx context.Context, rwc io.ReadWriteCloser, finishes bool) error {
	c := &client{Server: s}
	c.ctx, c.end = context.WithCancel(ctx)
	defer c.end()
	messages := frames.New(frames.Lines, rwc, rwc)
	conn, err := messages.Dial(c.ctx, rwc, c, "cancel", func(conn *jsonrpc2.Connection) { c.conn = conn })
	if err != nil {
		return err
	}
	closeAtEnd := context.AfterFunc(c.ctx, func() { _ = rwc.Close() })
	defer closeAtEnd()
	gone := make(chan error, 1)
	go func() { gone <- conn.Wait() }()
	select {
	case err = <-gone:
	case <-c.ctx.Done(): // a read of standard input can't be ended
	}
	if !finishes {
		c.end()
	}
	c.running.Wait()
	s.forget(c)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || ctx.Err() != nil {
		return nil
	}
	return err
}

// forget takes back the texts of a client.
func (s *Server) forget(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, owner := range s.owners {
		if owner == c {
			delete(s.owners, name)
			s.core.DropText(name)
		}
	}
}

// errCanceled is the answer to a canceled request.
var errCanceled = jsonrpc2.NewError(-32800, "the request was canceled")

// failed is the code of a request that can't be answered. The message says why.
const failed = 1

// Handle implements jsonrpc2.Handler. Methods that change what others see run at once, the others at
// the same time.
func (c *client) Handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	method, known := c.methods[req.Method]
	if !known {
		if !req.IsCall() {
			return nil, nil // a notification of a newer protocol
		}
		return nil, jsonrpc2.NewError(-32601, "there is no method "+req.Method)
	}
	answer := func() (any, error) {
		return frames.Answer(failed, func() (any, error) { return method.call(ctx, c, req) })
	}
	if method.now || !req.IsCall() {
		result, err := answer()
		if !req.IsCall() {
			return nil, nil
		}
		return result, err
	}
	c.running.Go(func() {
		result, err := answer()
		if ctx.Err() != nil && err != nil {
			err = errCanceled
		}
		_ = c.conn.Respond(req.ID, result, err) // the client may have gone
	})
	return nil, jsonrpc2.ErrAsyncResponse
}

// params decodes the parameters of a request. Unknown ones are errors.
func params(req *jsonrpc2.Request, into any) error {
	if len(req.Params) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(req.Params))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return jsonrpc2.NewError(-32602, "the parameters of "+req.Method+" are not valid: "+err.Error())
	}
	return nil
}

// notify sends a notification. It doesn't matter if the client has gone.
func (c *client) notify(method string, params any) { _ = c.conn.Notify(c.ctx, method, params) }

// watchEvery is the time between two looks at the files.
const watchEvery = 300 * time.Millisecond

// watch notifies the client when files change.
func (c *client) watch(ctx context.Context) {
	last := c.core.Revision()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
		if now := c.core.Revision(); now != last {
			last = now
			c.notify("changed", map[string]int{"revision": now})
		}
	}
}

// own makes the client the owner of the text of a file, which need not exist.
func (s *Server) own(c *client, path string) (name string, err error) {
	if path == "" {
		return "", jsonrpc2.NewError(-32602, "the path of the text is missing: send the path of a file")
	}
	name = path
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.workDir, name)
	}
	name = filepath.Clean(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := s.owners[name]
	if owner != nil && owner != c {
		return "", jsonrpc2.NewError(2, "another client has given a text of "+path)
	}
	if info, err := os.Stat(name); owner == nil && err == nil && info.IsDir() {
		return "", jsonrpc2.NewError(-32602, path+" is a directory: send the path of a file")
	}
	s.owners[name] = c
	return name, nil
}
