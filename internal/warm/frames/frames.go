// Package frames reads and writes the messages of JSON-RPC 2.0 on a stream, for servers that must outlive
// bad ones.
//
//	conn := frames.New(frames.Lines, os.Stdin, os.Stdout)
//	rpc, err := conn.Dial(ctx, os.Stdin, handler, "cancel",
//		func(c *jsonrpc2.Connection) { server.conn = c })
//
// Invariants: what is no message is answered with an error, and reading goes on with the next one; the
// error of a read is that of the stream. No more than MaxMessage bytes of a message are kept in memory. One
// message is written at a time.
package frames

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/exp/jsonrpc2"

	"tofu/internal/tfdiags"
)

// MaxMessage is the maximum length of a message in bytes.
const MaxMessage = 64 << 20

// Style says how messages are separated.
type Style uint8

const (
	Lines   Style = iota // one message a line
	Headers              // a header with the length before each message, as editors send them
)

// Conn is a stream of messages.
type Conn struct {
	style Style
	in    *bufio.Reader

	mu  sync.Mutex // held while a message is written
	out io.Writer
}

// New returns the stream of messages that are read from in and written to out.
func New(style Style, in io.Reader, out io.Writer) *Conn {
	return &Conn{style: style, in: bufio.NewReaderSize(in, 1<<16), out: out}
}

// Send writes a message.
func (c *Conn) Send(body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.style == Headers {
		_, err = fmt.Fprintf(c.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	} else {
		_, err = c.out.Write(append(body, '\n'))
	}
	return err
}

// Next reads the next message that decode accepts, and refuses those before it.
func (c *Conn) Next(decode func([]byte) error) error {
	for {
		text, err := c.next()
		if _, bad := errors.AsType[refused](err); err != nil && !bad {
			return err
		}
		if err == nil && c.style == Lines {
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
		}
		if err == nil && bytes.HasPrefix(text, []byte("[")) {
			err = refused("batches are not supported: send single messages")
		}
		if err == nil {
			err = decode(text)
		}
		if err == nil {
			return nil
		}
		if err := c.refuse(text, err); err != nil {
			return err
		}
	}
}

// refused says why the text of a message was not read.
type refused string

func (r refused) Error() string { return string(r) }

const errTooLong = refused("the message is longer than 64 MiB")

func (c *Conn) next() ([]byte, error) {
	if c.style == Lines {
		return c.line(MaxMessage)
	}
	length := int64(-1)
	for {
		line, err := c.line(1 << 12)
		if err == errTooLong {
			continue // what is left of a broken message
		}
		if err != nil {
			return nil, err
		}
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		switch {
		case name == "" && length >= 0:
			return c.body(length)
		case strings.EqualFold(strings.TrimSpace(name), "Content-Length"):
			length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil || length < 0 {
				return nil, refused("the length of the message is not a number")
			}
		}
	}
}

func (c *Conn) body(length int64) ([]byte, error) {
	if length > MaxMessage {
		if _, err := io.CopyN(io.Discard, c.in, length); err != nil {
			return nil, err
		}
		return nil, errTooLong
	}
	text := make([]byte, length)
	_, err := io.ReadFull(c.in, text)
	return text, err
}

// line returns the next line. It skips the rest of a line that is too long.
func (c *Conn) line(limit int) (text []byte, err error) {
	for long := false; ; {
		part, err := c.in.ReadSlice('\n')
		if !long {
			text = append(text, part...)
		}
		if len(text) > limit {
			long, text = true, nil
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(text) > 0: // the last line may lack its end
			return text, nil
		case err == nil && long:
			return nil, errTooLong
		default:
			return text, err
		}
	}
}

// refuse answers a text that is no message. The answer has the ID of the text if that can be found. An
// answer to nothing gets no answer.
func (c *Conn) refuse(text []byte, why error) error {
	var about struct {
		ID            json.RawMessage `json:"id"`
		Result, Error json.RawMessage
	}
	code := -32600 // not a valid request
	if json.Unmarshal(text, &about) != nil && !json.Valid(text) {
		code = -32700 // not JSON
	}
	if about.Result != nil || about.Error != nil {
		return nil
	}
	if !validID(about.ID) {
		about.ID = json.RawMessage("null")
	}
	reply, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": about.ID,
		"error": map[string]any{"code": code, "message": why.Error()}})
	if err != nil {
		return err
	}
	return c.Send(reply)
}

func validID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// Dial lets a handler answer the messages. The notification cancel ends the request with the id that it has.
// bound receives the connection before the first message. closer is closed with the connection.
func (c *Conn) Dial(ctx context.Context, closer io.Closer, handler jsonrpc2.Handler, cancel string,
	bound func(*jsonrpc2.Connection),
) (*jsonrpc2.Connection, error) {
	return jsonrpc2.Dial(ctx, dialer{closer}, binder(func(conn *jsonrpc2.Connection) jsonrpc2.ConnectionOptions {
		bound(conn)
		return jsonrpc2.ConnectionOptions{Framer: framer{c}, Preempter: canceler{cancel, conn}, Handler: handler}
	}))
}

// canceler handles notifications that cancel requests: they must not wait for others.
type canceler struct {
	method string
	conn   *jsonrpc2.Connection
}

// Preempt implements jsonrpc2.Preempter.
func (c canceler) Preempt(_ context.Context, req *jsonrpc2.Request) (any, error) {
	if req.Method != c.method || req.IsCall() {
		return nil, jsonrpc2.ErrNotHandled
	}
	var params struct {
		ID json.RawMessage `json:"id"`
	}
	var number int64
	var text string
	switch {
	case json.Unmarshal(req.Params, &params) != nil:
	case json.Unmarshal(params.ID, &number) == nil:
		c.conn.Cancel(jsonrpc2.Int64ID(number))
	case json.Unmarshal(params.ID, &text) == nil:
		c.conn.Cancel(jsonrpc2.StringID(text))
	}
	return nil, nil
}

// Answer calls f, which answers a request. A panic in f is an error. code is that of all errors which have none yet.
func Answer(code int64, f func() (any, error)) (result any, err error) {
	defer func() {
		if crash := recover(); crash != nil {
			c := tfdiags.CrashOf(crash)
			err = tfdiags.Errorf("The request crashed", "This is a bug of the program; other requests go on: %v\n\n%s",
				c.Problem, c.Stack)
		}
		if err != nil && !HasCode(err) {
			err = jsonrpc2.NewError(code, message(err))
		}
	}()
	return f()
}

// HasCode reports whether an error is one of the library, which has a code.
func HasCode(err error) bool {
	return strings.HasPrefix(fmt.Sprintf("%T", err), "*jsonrpc2.") // the type has no public name
}

// message returns an error as a text without line breaks between its parts.
func message(err error) string {
	if d := tfdiags.FromError(err); len(d) > 0 && d[0].Detail != "" {
		return d[0].Summary + ": " + d[0].Detail
	}
	return err.Error()
}

type binder func(*jsonrpc2.Connection) jsonrpc2.ConnectionOptions

// Bind implements jsonrpc2.Binder.
func (b binder) Bind(_ context.Context, conn *jsonrpc2.Connection) (jsonrpc2.ConnectionOptions, error) {
	return b(conn), nil
}

// dialer is the connection as the library needs it. The framer reads and writes.
type dialer struct{ io.Closer }

// Dial implements jsonrpc2.Dialer.
func (d dialer) Dial(context.Context) (io.ReadWriteCloser, error) { return d, nil }

// Read implements io.Reader.
func (dialer) Read([]byte) (int, error) { return 0, io.EOF }

// Write implements io.Writer.
func (dialer) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

type framer struct{ *Conn }

// Reader implements jsonrpc2.Framer.
func (f framer) Reader(io.Reader) jsonrpc2.Reader { return f }

// Writer implements jsonrpc2.Framer.
func (f framer) Writer(io.Writer) jsonrpc2.Writer { return f }

// Read implements jsonrpc2.Reader.
func (f framer) Read(context.Context) (msg jsonrpc2.Message, n int64, err error) {
	err = f.Next(func(text []byte) (err error) {
		n = int64(len(text))
		msg, err = jsonrpc2.DecodeMessage(text)
		return err
	})
	return msg, n, err
}

// Write implements jsonrpc2.Writer.
func (f framer) Write(_ context.Context, msg jsonrpc2.Message) (int64, error) {
	data, err := jsonrpc2.EncodeMessage(msg)
	if err != nil {
		return 0, fmt.Errorf("encoding a message: %w", err)
	}
	return int64(len(data)), f.Send(data)
}
