package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lineReader passes on the lines that are messages. It answers the others with an error; the library
// would end the connection.
type lineReader struct {
	io.Closer
	in     *bufio.Reader
	refuse *lineWriter
	rest   []byte // of the present line
}

// Read implements io.Reader.
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) == 0 {
			if err != nil {
				return 0, err
			}
			continue
		}
		if _, bad := jsonrpc.DecodeMessage(line); bad == nil {
			r.rest = append(line, '\n')
			break
		}
		if err := r.refuse.problem(line); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// lineWriter writes one message at a time.
type lineWriter struct {
	mu  sync.Mutex
	out io.WriteCloser
}

// Write implements io.Writer for whole lines.
func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(line)
}

// Close implements io.Closer.
func (w *lineWriter) Close() error { return w.out.Close() }

func (w *lineWriter) problem(line []byte) error {
	code, text := -32600, "The line is not a message of JSON-RPC 2.0."
	if !json.Valid(line) {
		code, text = -32700, "The line is not JSON."
	}
	_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, text)
	return err
}
