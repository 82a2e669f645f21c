package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/exp/jsonrpc2"
)

// maxMessage is the maximum length of a message in bytes.
const maxMessage = 64 << 20

// lines is a framer with one message per line. A line that is no message is answered with an error, and
// reading goes on. A frame is for one connection.
type lines struct {
	mu  sync.Mutex // held while a message is written
	out io.Writer
}

// Reader implements jsonrpc2.Framer.
func (l *lines) Reader(r io.Reader) jsonrpc2.Reader {
	return &lineReader{l, bufio.NewReaderSize(r, 1<<16)}
}

// Writer implements jsonrpc2.Framer.
func (l *lines) Writer(w io.Writer) jsonrpc2.Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = w
	return lineWriter{l}
}

type lineWriter struct{ *lines }

// Write implements jsonrpc2.Writer.
func (w lineWriter) Write(_ context.Context, msg jsonrpc2.Message) (int64, error) {
	data, err := jsonrpc2.EncodeMessage(msg)
	if err != nil {
		return 0, fmt.Errorf("encoding a message: %w", err)
	}
	n, err := w.line(data)
	return int64(n), err
}

func (l *lines) line(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil {
		return 0, io.ErrClosedPipe
	}
	return l.out.Write(append(data, '\n'))
}

type lineReader struct {
	*lines
	in *bufio.Reader
}

// errTooLong is the error of a line that is longer than maxMessage.
var errTooLong = errors.New("the message is longer than 64 MiB")

// Read implements jsonrpc2.Reader. The error is that of the connection.
func (r *lineReader) Read(context.Context) (jsonrpc2.Message, int64, error) {
	for {
		text, err := r.next()
		if err != nil && err != errTooLong {
			return nil, 0, err
		}
		if err == nil {
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			msg, bad := decode(text)
			if bad == nil {
				return msg, int64(len(text)), nil
			}
			err = bad
		}
		if err := r.refuse(text, err); err != nil {
			return nil, 0, err
		}
	}
}

// next returns the next line. It skips the rest of a line that is too long.
func (r *lineReader) next() (text []byte, err error) {
	for long := false; ; {
		part, err := r.in.ReadSlice('\n')
		if !long {
			text = append(text, part...)
		}
		if len(text) > maxMessage {
			long, text = true, text[:0]
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

func decode(text []byte) (jsonrpc2.Message, error) {
	if text[0] == '[' {
		return nil, errors.New("batches are not supported: send one message a line")
	}
	return jsonrpc2.DecodeMessage(text)
}

// refuse answers a line that is no message. The answer has the ID of the line if that can be found.
func (r *lineReader) refuse(text []byte, why error) error {
	about := struct {
		ID json.RawMessage `json:"id"`
	}{}
	code := -32600 // not a valid request
	if json.Unmarshal(text, &about) != nil && !json.Valid(text) {
		code = -32700 // not JSON
	}
	if !validID(about.ID) {
		about.ID = json.RawMessage("null")
	}
	reply, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": about.ID,
		"error": map[string]any{"code": code, "message": why.Error()}})
	if err != nil {
		return err
	}
	_, err = r.line(reply)
	return err
}

func validID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}
